"""The made rows before the first real one: a question, an answer, and at once what the guide says."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from audit_ui.site import Site, by_htmx, goes_to, text_of
from pipeline.accounts import Account
from pipeline.calibration import exercises
from pipeline.events import NEEDS


def page(site: Site, request: Request, me: Account) -> Response:
    return _page(site, request, me)


def _page(site: Site, request: Request, me: Account, status: int = 200) -> Response:
    said = {(a.exercise, a.question): a for a in site.calibrations.answers(me.name)}
    asked = [(row.id, one) for row in exercises() for one in row.ask]
    given = [(said[id_, one.question], one) for id_, one in asked if (id_, one.question) in said]
    found = site.calibrations.next(me.name)
    name = "calibrate_panel.html" if by_htmx(request) else "calibrate.html"
    return site.page(
        request,
        name,
        me,
        status,
        exercise=found[0] if found else None,
        asked=found[1] if found else None,
        number=next((n for n, row in enumerate(exercises(), 1) if found and row.id == found[0].id), len(exercises())),
        count=len(exercises()),
        given=given,
        right=sum(a.right for a, _ in given),
        needs_list=NEEDS,
    )


def answer(site: Site, request: Request, me: Account, form: FormData) -> Response:
    found = site.calibrations.next(me.name)
    if found is None:
        return goes_to(request, "/calibrate")
    row, asked = found
    said = text_of(form, "value", 40)
    words = {"yes": True, "no": False, "na": "not_needed"}
    value: object = words.get(said, said)
    if asked.question == "needs" and said != "cannot_tell":
        value = [] if said == "nothing" else sorted({n for n in form.getlist("need") if n in NEEDS})
    elif asked.question in ("claim", "target", "bar", "hours"):
        value = {"yes": "stands", "no": "wrong"}.get(said, said)
    if (text_of(form, "exercise", 64), form.get("question")) == (row.id, asked.question) and said:
        site.calibrations.answer(me.name, row, asked.question, value, site.given.now())
    return _page(site, request, me) if by_htmx(request) else goes_to(request, "/calibrate")
