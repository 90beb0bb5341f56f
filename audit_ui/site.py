"""What every page shares: who asks, templates, answers to htmx and to plain forms."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from audit_ui import flow, show
from audit_ui.desk import Desk
from audit_ui.given import Given
from audit_ui.security import COOKIE, Cookies
from pipeline.accounts import Account
from pipeline.calibration import Calibrations
from pipeline.database import again
from pipeline.files import StoreError

HERE = Path(__file__).parent
Page = Callable[["Site", Request, Account], Response]
Act = Callable[["Site", Request, Account, FormData], Response]


class Site:
    def __init__(self, given: Given) -> None:
        self.given, self.desk = given, Desk(given)
        self.cookies = Cookies(given.secret, given.secure)
        self.calibrations = Calibrations(given.store.engine)

    def text(self, name: str, **values: Any) -> str:
        """A template's text; everything in it is escaped."""
        template = _templates().get_template(name)
        return template.render(edition=self.given.edition.name, dagster=show.safe(self.given.dagster), **values)

    def page(self, request: Request, name: str, me: Account | None, status: int = 200, **values: Any) -> HTMLResponse:
        session = self.cookies.read(request, COOKIE)
        token = self.cookies.token(session) if session and me is not None else ""
        return HTMLResponse(self.text(name, me=me, csrf=token, path=request.url.path, **values), status)

    def visitor(self, request: Request) -> Account | None:
        session = self.cookies.read(request, COOKIE)
        return None if session is None else self.desk.accounts.who(session, self.given.now())

    def calibrated(self, me: Account) -> bool:
        return not self.given.calibrate or self.calibrations.next(me.name) is None

    def message(self, request: Request, me: Account | None, status: int, text: str) -> Response:
        return self.page(request, "message.html", me, status, text=text)


@functools.cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    made.globals.update(
        titles=flow.TITLES, short=flow.SHORT, value_words=show.value_words, said=show.said, proposed=show.proposed
    )
    made.filters["size"] = _size
    return made


def _size(count: int | None) -> str:
    if count is None:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}" if unit != "B" else f"{count} B"
        count = count / 1000  # type: ignore[assignment]
    return ""


def by_htmx(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"


def goes_to(request: Request, place: str) -> Response:
    """To another page: by a header where htmx asked, which would swap a redirect's page into the panel."""
    if by_htmx(request):
        return Response(status_code=204, headers={"HX-Redirect": place})
    return RedirectResponse(place, 303)


def shown_to(page: Page) -> Callable[[Request], Response]:
    """A page for those who have entered; others are sent to the door and back."""

    @functools.wraps(page)
    def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        me = site.visitor(request)
        if me is None:
            return goes_to(request, f"/login?next={request.url.path}")
        site.desk.fresh()
        return page(site, request, me)

    return _kept_up(again(endpoint))


def _kept_up(answer: Callable[..., Response]) -> Callable[..., Response]:
    """Where the store is in trouble, the person is told so, and that the page knows what was kept and what was not."""

    @functools.wraps(answer)
    def told(*given: Any) -> Response:
        try:
            return answer(*given)
        except StoreError as trouble:
            text = f"The store is in trouble: {trouble}. Load the page again then: it shows what was kept."
            return PlainTextResponse(text, 503)

    return told


def done_by(act: Act, *roles: str) -> Callable[[Request], Awaitable[Response]]:
    """A post of those who have entered, with the token of their own session and one of the roles, if any is named."""

    @functools.wraps(act)
    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        async with request.form(max_files=0, max_fields=200) as form:
            return await anyio.to_thread.run_sync(checked, site, request, form)

    @_kept_up
    def checked(site: Site, request: Request, form: FormData) -> Response:
        me = site.visitor(request)
        if me is None:
            return goes_to(request, "/login")
        if not site.cookies.holds(site.cookies.read(request, COOKIE), form.get("csrf")):
            return site.message(request, me, 403, "This form is not of your session. Go back and load it again.")
        if roles and me.role not in roles:
            return site.message(request, me, 403, f"Only {' and '.join(roles)} may do that.")
        site.desk.fresh()
        return act(site, request, me, form)

    return endpoint


def text_of(form: Mapping[str, Any], name: str, limit: int = 4000) -> str:
    """A field as text without control characters, cut at `limit`."""
    value = form.get(name)
    plain = value if isinstance(value, str) else ""
    return "".join(c if c.isprintable() else " " for c in plain).strip()[:limit]
