"""One request, one decision: answers, undo, places, and a probe made again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from audit_ui import corrections, show
from audit_ui.corrections import Refused
from audit_ui.desk import Places
from audit_ui.flow import needs_reason, needs_receipts
from audit_ui.preview import preview
from audit_ui.reading_pages import panel
from audit_ui.site import Site, by_htmx, goes_to, text_of
from pipeline.accounts import Account
from pipeline.assignments import FIRST, SECOND, Taken
from pipeline.audit import support
from pipeline.deciding import ADJUDICATION, Conflict, last_of
from pipeline.derivation import Derivation
from pipeline.events import QUESTIONS, Event, Question, explain, fold, moment
from pipeline.evidence import Signal
from pipeline.record import stamp


def answer(site: Site, request: Request, me: Account, form: FormData) -> Response:
    row = site.desk.pool.row(request.path_params["paper"])
    if row is None:
        return site.message(request, me, 404, "No row of the pool has that id.")
    if not site.calibrated(me):
        return goes_to(request, "/calibrate")
    question = _question(form)
    if question is None:
        return site.message(request, me, 422, "No such question.")
    try:
        _answer(site, me, row, question, form)
    except Refused as refused:
        values = panel(site, me, row, question, draft=dict(form.multi_items()), **refused.shown)
        return _shown(site, request, me, row, values, refused.status)
    return _shown(site, request, me, row, panel(site, me, row), 200)


def _shown(site: Site, request: Request, me: Account, row: Derivation, values: dict[str, Any], status: int) -> Response:
    if by_htmx(request):
        return site.page(request, "panel.html", me, status, **values)
    if status == 200:
        return goes_to(request, f"/paper/{row.arxiv_id}")
    return site.page(request, "paper.html", me, status, shown=site.desk.shown(row), **values)


def _question(form: FormData) -> Question | None:
    return next((q for q in QUESTIONS if q == form.get("question")), None)


def _answer(site: Site, me: Account, row: Derivation, question: Question, form: FormData) -> None:
    if form.get("row_hash") != row.row_hash:
        raise Refused(409, "The row changed since this page was shown. Look again: this is what it says now.")
    reading = site.desk.reading(me.name, row, _enter(site, me, row))
    if not reading.may_answer(question):
        raise Refused(409, "This question is not open to you now.")
    value = corrections.value(form, question, row, site.desk.pool, site.given.edition)
    why = text_of(form, "why")
    evidence = [i for i in form.getlist("evidence") if isinstance(i, str) and i in row.inputs.citable]
    if needs_reason(reading, question, value):
        if not why:
            raise Refused(422, "This says other than the row. Say why, in a sentence.")
        if needs_receipts(question, value):
            known = site.desk.pool.receipts
            if not support(Signal(question), bool(value), [known[i] for i in evidence if i in known]):
                raise Refused(422, "No receipt you cite supports that. Tick one that does, or say you cannot tell.")
    event = _event(
        {
            "kind": "answer",
            "paper": row.arxiv_id,
            "who": me.name,
            "at": _after(site, row),
            "why": why,
            "evidence": evidence,
            "question": question,
            "phase": reading.phase,
            "value": value,
            "row_hash": row.row_hash,
            "guide": site.given.guide.version,
        }
    )
    _decide(site, event, question, text_of(form, "after", 64), form)


def _event(given: dict[str, Any]) -> Event:
    try:
        return Event.model_validate(given)
    except ValidationError as error:
        raise Refused(422, f"That is no answer: {explain(error)}.") from None


def _after(site: Site, row: Derivation) -> str:
    """Now, and after whatever is known of the paper: fold order is by time, and clocks of two sites may differ."""
    now = stamp(site.given.now())
    latest = max((moment(e.event.at) for e in site.desk.entries(row.arxiv_id)), default=None)
    return now if latest is None or moment(now) > latest else stamp(latest + timedelta(microseconds=1))


def _decide(site: Site, event: Event, question: str, after: str, form: FormData, line: str | None = None) -> None:
    opened = [i for i in text_of(form, "opened", 8000).split() if len(i) == 64][:100]
    spent = text_of(form, "active_ms", 12)
    active = min(int(spent), 4 * 3600 * 1000) if spent.isdecimal() else 0
    try:
        site.desk.deciding.decide(event, question, after, line=line, active_ms=active, opened=opened)
    except Conflict as conflict:
        raise Refused(
            409,
            "You answered this in another window after this page was shown. Nothing was overwritten.",
            conflict=conflict.last,
        ) from None
    finally:
        site.desk.fresh()


def _enter(site: Site, me: Account, row: Derivation) -> Places:
    """Be in one of the row's places: the first that is free, if none is one's own. Returns who is where then."""
    desk = site.desk
    places = desk.places()
    if (row.arxiv_id, me.name) in places.conflicts:
        raise Refused(409, "You declared a conflict of interest with this paper.")
    if not me.reads:
        raise Refused(403, "Adjudicators see what readers answered, so they read no rows themselves.")
    held = desk.place_of(me.name, row.arxiv_id, places)
    if held is None and me.adjudicates and desk.disputed(row, places):
        raise Refused(403, "This row waits for an adjudicator, who may be you; a reader of it cannot be one.")
    try:
        if held is not None and held.state == "taken":
            return places
        if held is not None:
            desk.assignments.take(desk.assigned(row), held.place, me.name, held.scope, site.given.now())
            return desk.places()
        scope = desk.scopes().get(row.arxiv_id, "")
        for number in (FIRST, SECOND):
            there = places.get((row.arxiv_id, number))
            if (there is None or not there.held) and (number == FIRST or scope):
                narrow = number == SECOND and scope == "target"
                desk.assignments.take(
                    desk.assigned(row), number, me.name, "target" if narrow else "full", site.given.now()
                )
                return desk.places()
    except Taken as taken:
        raise Refused(409, f"{taken}.") from None
    raise Refused(409, "Others are reading this row, and it needs no further reader.")


def undo(site: Site, request: Request, me: Account, form: FormData) -> Response:
    """Take back a decision of one's own: the one named. A new event, so that nothing is lost."""
    wanted = text_of(form, "event", 64)
    found = next((e.event for e in site.desk.all_entries() if e.event.id == wanted and e.event.who == me.name), None)
    row = None if found is None else site.desk.pool.row(found.paper)
    if found is None or found.question is None or row is None:
        return site.message(request, me, 404, "You made no such decision about a row of this pool.")
    raw = [e.event for e in site.desk.entries(found.paper)]
    line = found.who if found.kind == "answer" else ADJUDICATION
    try:
        if found.id not in {e.id for e in fold(site.desk.entries(found.paper))}:
            raise Refused(409, "That decision was taken back already.")
        last = last_of(line, found.question, raw)
        event = Event(kind="undo", paper=found.paper, who=me.name, at=_after(site, row), undoes=found.id)
        _decide(site, event, found.question, last.id if last else "", form, line)
    except Refused as refused:
        values = panel(site, me, row, found.question, **refused.shown)
        return _shown(site, request, me, row, values, refused.status)
    if found.kind != "answer":
        return goes_to(request, f"/adjudicate/{row.arxiv_id}")
    if not by_htmx(request) or text_of(form, "on", 64) != row.arxiv_id:
        return goes_to(request, f"/paper/{row.arxiv_id}?q={found.question}")
    return _shown(site, request, me, row, panel(site, me, row, found.question, notice="Taken back."), 200)


def place(site: Site, request: Request, me: Account, form: FormData) -> Response:
    """Park a row, or declare a conflict of interest with its paper."""
    row = site.desk.pool.row(request.path_params["paper"])
    state = form.get("state")
    if row is None or state not in ("parked", "conflict"):
        return site.message(request, me, 404, "No row of the pool has that id.")
    desk = site.desk
    held = desk.place_of(me.name, row.arxiv_id, desk.places())
    try:
        if held is None:
            # Whoever only opened a row takes the place for a moment, so that the conflict is on record.
            _enter(site, me, row)
            held = desk.place_of(me.name, row.arxiv_id, desk.places())
        assert held is not None
        desk.assignments.change(
            desk.assigned(row), held.place, me.name, "parked" if state == "parked" else "conflict", site.given.now()
        )
    except (Refused, Taken) as error:
        return site.message(request, me, 409, str(error))
    return goes_to(request, "/next")


def preview_(site: Site, request: Request, me: Account, form: FormData) -> Response:
    """What the answer in the form would make of the row; shown only to those who have seen its verdict."""
    row, question = site.desk.pool.row(request.path_params["paper"]), _question(form)
    if row is None or question is None:
        return site.message(request, me, 404, "No row of the pool has that id.")
    reading = site.desk.reading(me.name, row)
    if not reading.revealed:
        return site.page(request, "preview.html", me, problem="after the blind answers", states=None)
    try:
        value = corrections.value(form, question, row, site.desk.pool, site.given.edition)
        event = _event(
            {
                "kind": "answer",
                "paper": row.arxiv_id,
                "who": me.name,
                "at": _after(site, row),
                "why": "preview",
                "question": question,
                "phase": "revised",
                "value": value,
                "row_hash": row.row_hash,
            }
        )
    except Refused as refused:
        return site.page(request, "preview.html", me, problem=refused.shown["notice"], states=None)
    # One's own answers alone: another reader's must not show through.
    own = list(reading.answers.values())
    states = preview(site.given, site.desk.pool, row, own, event)
    return site.page(request, "preview.html", me, problem="", states=states)


def recheck(site: Site, request: Request, me: Account, form: FormData) -> Response:
    """Make a receipt's call again, now, and show what differs. Changes nothing about the row."""
    row = site.desk.pool.row(request.path_params["paper"])
    receipt = site.desk.pool.receipts.get(text_of(form, "receipt", 64))
    if row is None or receipt is None or receipt.id not in row.inputs.citable:
        return site.message(request, me, 404, "This paper has no such receipt.")
    try:
        now = site.given.recheck(receipt)
    except Exception as fault:  # whatever a probe meets, the page goes on
        problem = f"could not be checked again: {type(fault).__name__}: {fault}"[:300]
        return site.page(request, "recheck.html", me, row=row, receipt=receipt, now=None, problem=problem, changes=[])
    changes = show.difference(receipt, now)
    return site.page(request, "recheck.html", me, row=row, receipt=receipt, now=now, problem="", changes=changes)
