"""The page's application: routes, the door, and the shield around both."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from audit_ui import adjudicating, calibrating, deciding, reading_pages
from audit_ui.given import Given
from audit_ui.security import COOKIE, DOOR, Shield, inside, new_door
from audit_ui.site import HERE, Site, done_by, goes_to, shown_to, text_of
from pipeline.accounts import SESSION, Account, Locked


def app(given: Given) -> Starlette:
    """The application for one edition in one store."""
    made = Starlette(
        routes=[
            Route("/login", login, methods=["GET"]),
            Route("/login", enter, methods=["POST"]),
            Route("/logout", done_by(leave), methods=["POST"]),
            Route("/", shown_to(reading_pages.queue)),
            Route("/next", shown_to(reading_pages.next_)),
            Route("/guide", shown_to(reading_pages.guide)),
            Route("/agreement", shown_to(reading_pages.agreement)),
            Route("/calibrate", shown_to(calibrating.page)),
            Route("/calibrate", done_by(calibrating.answer), methods=["POST"]),
            Route("/body/{sha256:str}/{paper:path}", shown_to(reading_pages.body)),
            Route("/preview/{paper:path}", done_by(deciding.preview_), methods=["POST"]),
            Route("/answer/{paper:path}", done_by(deciding.answer), methods=["POST"]),
            Route("/undo", done_by(deciding.undo), methods=["POST"]),
            Route("/place/{paper:path}", done_by(deciding.place), methods=["POST"]),
            Route("/recheck/{paper:path}", done_by(deciding.recheck), methods=["POST"]),
            Route("/paper/{paper:path}", shown_to(reading_pages.paper)),
            Route("/adjudicate/{paper:path}", shown_to(adjudicating.page)),
            Route("/adjudicate/{paper:path}", done_by(adjudicating.decide, "adjudicator", "admin"), methods=["POST"]),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        middleware=[Middleware(Shield, hosts=given.hosts, secure=given.secure)],
    )
    made.state.site = Site(given)
    return made


def login(request: Request) -> Response:
    return _door(request, "", 200)


def _door(request: Request, problem: str, status: int, next_: str | None = None) -> Response:
    """The login form, with a token of its own: a session begins only behind it."""
    site: Site = request.app.state.site
    door = new_door()
    text = site.text(
        "login.html",
        me=None,
        csrf=site.cookies.token(door),
        path="/login",
        problem=problem,
        next=inside(request.query_params.get("next", "/") if next_ is None else next_),
        empty=not site.desk.accounts.all(),
    )
    response = Response(text, status, media_type="text/html")
    site.cookies.set(response, DOOR, door, 3600)
    return response


async def enter(request: Request) -> Response:
    import anyio.to_thread

    async with request.form(max_files=0, max_fields=10) as form:
        given = {name: text_of(form, name, 1000) for name in ("name", "next", "csrf")}
        password = form.get("password")
    return await anyio.to_thread.run_sync(_enter, request, given, password if isinstance(password, str) else "")


def _enter(request: Request, form: dict[str, str], password: str) -> Response:
    site: Site = request.app.state.site
    if not site.cookies.holds(site.cookies.read(request, DOOR), form["csrf"]):
        return _door(request, "The form was too old. Please try again.", 403, form["next"])
    address = request.client.host if request.client else "?"
    try:
        session = site.desk.accounts.enter(form["name"], password, address, site.given.now())
    except Locked as locked:
        return _door(request, f"{str(locked).capitalize()}.", 429, form["next"])
    if session is None:
        return _door(request, "Name and password do not go together.", 403, form["next"])
    response = goes_to(request, inside(form["next"]))
    site.cookies.set(response, COOKIE, session, int(SESSION.total_seconds()))
    site.cookies.drop(response, DOOR)
    return response


def leave(site: Site, request: Request, me: Account, form: object) -> Response:
    session = site.cookies.read(request, COOKIE)
    if session is not None:
        site.desk.accounts.leave(session)
    response = goes_to(request, "/login")
    site.cookies.drop(response, COOKIE)
    return response
