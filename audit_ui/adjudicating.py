"""The third person: both answers, reasons and opened receipts side by side, and one settling decision a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from audit_ui import corrections
from audit_ui.corrections import Refused
from audit_ui.deciding import _after, _decide, _event, _question
from audit_ui.site import Site, goes_to, text_of
from pipeline.accounts import Account
from pipeline.audit import overturns, support, verdict
from pipeline.deciding import ADJUDICATION, last_of
from pipeline.derivation import Derivation
from pipeline.events import CANNOT_TELL, SIGNALS, Event, Question, fold
from pipeline.evidence import Signal


def page(site: Site, request: Request, me: Account) -> Response:
    row = site.desk.pool.row(request.path_params["paper"])
    if row is None:
        return site.message(request, me, 404, "No row of the pool has that id.")
    if refusal := _not_third(site, me, row):
        return site.message(request, me, 403, refusal)
    return site.page(request, "adjudicate.html", me, **_values(site, row))


def _not_third(site: Site, me: Account, row: Derivation) -> str:
    if not me.adjudicates:
        return "Only adjudicators see what others answered."
    if me.name in site.desk.readers(row):
        return "You answered this row yourself; a third person adjudicates it."
    if (row.arxiv_id, me.name) in site.desk.assignments.conflicts():
        return "You declared a conflict of interest with this paper."
    return ""


def _values(site: Site, row: Derivation, notice: str = "", draft: dict[str, Any] | None = None) -> dict[str, Any]:
    desk = site.desk
    entries = desk.entries(row.arxiv_id)
    raw = [e.event for e in entries]
    open_ = desk.disputed(row, desk.places())
    work = {done.event: done for done in desk.deciding.all() if done.paper == row.arxiv_id}
    receipts = desk.receipts(row)
    return {
        "row": row,
        "shown": desk.shown(row),
        "questions": open_,
        "said": {q: _said(q, fold(entries), row.row_hash) for q in open_},
        "work": work,
        "receipts": receipts,
        "differing": [d for d in desk.pool.disagreements if d.arxiv_id == row.arxiv_id],
        "verdicts": {q: verdict(row, q) for q in open_},
        "after": {q: last.id if (last := last_of(ADJUDICATION, q, raw)) else "" for q in open_},
        "settled": [e for e in fold(entries) if e.kind == "adjudicate" and e.row_hash == row.row_hash],
        "notice": notice,
        "draft": draft or {},
    }


def _said(question: Question, events: Sequence[Event], row_hash: str) -> list[tuple[str, list[Event]]]:
    """Each reader's answers to one question, blind ones first."""
    found: dict[str, list[Event]] = {}
    for one in events:
        if one.kind == "answer" and one.question == question and one.row_hash == row_hash:
            found.setdefault(one.who, []).append(one)
    return sorted(found.items())


def decide(site: Site, request: Request, me: Account, form: FormData) -> Response:
    """Settle one question. Whoever cannot tell either drops the row, with that as its reason."""
    row, question = site.desk.pool.row(request.path_params["paper"]), _question(form)
    if row is None or question is None:
        return site.message(request, me, 404, "No row of the pool has that id.")
    if refusal := _not_third(site, me, row):
        return site.message(request, me, 403, refusal)
    try:
        _settle(site, me, row, question, form)
    except Refused as refused:
        values = _values(site, row, refused.shown["notice"], dict(form.multi_items()))
        return site.page(request, "adjudicate.html", me, refused.status, **values)
    return goes_to(request, f"/adjudicate/{row.arxiv_id}")


def _settle(site: Site, me: Account, row: Derivation, question: Question, form: FormData) -> None:
    if form.get("row_hash") != row.row_hash:
        raise Refused(409, "The row changed since this page was shown; its readers are asked again.")
    if question not in site.desk.disputed(row, site.desk.places()):
        raise Refused(409, "This question is settled, or its readers are not through. Nothing was written.")
    why = text_of(form, "why")
    if not why:
        raise Refused(422, "An adjudication needs a reason.")
    known = site.desk.pool.receipts
    evidence = [i for i in form.getlist("evidence") if isinstance(i, str) and i in row.inputs.citable]
    said = corrections.value(form, question, row, site.desk.pool, site.given.edition)
    settles, value = question, said
    if said == CANNOT_TELL:
        settles, value, why = "eligibility", False, f"the adjudicator cannot tell {question} either: {why}"
    elif question in SIGNALS and isinstance(said, bool) and overturns(row, question, said):
        cited = [known[i] for i in evidence if i in known]
        if not support(Signal(question), said, cited):
            raise Refused(422, "No receipt you cite supports that. Tick one that does; if none can, you cannot tell.")
    event = _event(
        {
            "kind": "adjudicate",
            "paper": row.arxiv_id,
            "who": me.name,
            "at": _after(site, row),
            "why": why,
            "evidence": evidence,
            "question": settles,
            "value": value,
            "row_hash": row.row_hash,
            "guide": site.given.guide.version,
        }
    )
    raw = [e.event for e in site.desk.entries(row.arxiv_id)]
    last = last_of(ADJUDICATION, settles, raw)
    shown = text_of(form, "after", 64) if settles == question else (last.id if last else "")
    _decide(site, event, settles, shown, form, ADJUDICATION)
