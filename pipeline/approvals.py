"""A decision as it is said in a launchpad: one row, one choice, under a name that nobody checked, the verdict in sight.

It becomes events like any other, absolute and bound to the row's hash, and never measures agreement.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import ValidationError

from pipeline.audit import audit, overturns, standing, unsupported, verdict
from pipeline.derivation import Derivation, Rules
from pipeline.events import CANNOT_TELL, QUESTIONS, SIGNALS, Event, LedgerError, Question, explain
from pipeline.evidence import Json, Receipt
from pipeline.record import stamp

Choice = Literal["approve", "overturn", "drop", "adjudicate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """What a person filled in; `value` as `spoken` reads it.

    approve: every question that is not decided and that they have not answered, as the row says it. overturn: one
    question otherwise, with a reason, and for a signal with receipts. drop: the row is not eligible, with a reason.
    adjudicate: one disputed question, by a person who did not answer it.
    """

    paper: str
    row_hash: str
    choice: Choice
    who: str
    question: Question | None = None
    value: str = ""
    why: str = ""
    evidence: Sequence[str] = field(default_factory=tuple)


def decide(
    said: Approval,
    row: Derivation,
    events: Sequence[Event],
    receipts: Mapping[str, Receipt],
    rules: Rules,
    at: datetime,
) -> list[Event]:
    """The events that an approval comes to. `events`: those that count of this paper, in fold order.

    Raises LedgerError naming the paper, what is wrong and what to do; then nothing is to be written.
    """
    paper, before = f"paper {said.paper}", standing(row.arxiv_id, row.row_hash, events)
    if said.row_hash != row.row_hash:
        raise LedgerError(f"{paper}: the row has changed since this link was made; open the pool's newest links")
    mine = {e.question for e in events if e.kind == "answer" and e.who == said.who and e.row_hash == row.row_hash}
    if said.choice == "approve":
        values = {q: verdict(row, q) for q in QUESTIONS if q not in mine and q not in before.decisions}
        unknown = [q for q, value in values.items() if value is None]
        if unknown:
            raise LedgerError(
                f"{paper}: nothing settles {', '.join(unknown)}; overturn with what you saw, then approve"
            )
        if not values:
            raise LedgerError(
                f"{paper}: nothing is left to approve; {_left(before.open) or 'every question is decided'}"
            )
        return [_event(said, row, at, question=q, value=value) for q, value in values.items()]
    if said.choice == "drop":
        if not said.why:
            raise LedgerError(f"{paper}: a drop needs a reason in `why`")
        return [_event(said, row, at, question="eligibility", value=False)]
    if said.question is None:
        raise LedgerError(f"{paper}: {said.choice} is about one question; name it, one of {', '.join(QUESTIONS)}")
    value = spoken(said.question, said.value)
    one = _event(said, row, at, question=said.question, value=value)
    if said.choice == "adjudicate":
        if before.open.get(said.question) != "disputed":
            raise LedgerError(f"{paper}: {said.question} is not disputed; {_left(before.open) or 'nothing is open'}")
        if said.question in mine:
            raise LedgerError(f"{paper}: {said.who} answered {said.question}; another person adjudicates")
    elif value == verdict(row, said.question) and said.question not in mine:
        raise LedgerError(f"{paper}: that is what the row says of {said.question}; approve it")
    elif overturns(row, said.question, value) and not said.why:
        raise LedgerError(f"{paper}: whoever overturns {said.question} says why in `why`")
    alone = [e for e in events if e.question != said.question]
    if said.question in SIGNALS and (wrong := unsupported(audit(row, [*alone, one], receipts, rules), receipts)):
        mending = [line for line in wrong if line.startswith(said.question)]
        if mending:
            raise LedgerError(f"{paper}: {mending[0]}")
    return [one]


def _left(open_: Mapping[Question, str]) -> str:
    return ", ".join(f"{question} is {state}" for question, state in open_.items())


def _event(said: Approval, row: Derivation, at: datetime, question: Question, value: Json) -> Event:
    settles = said.choice == "adjudicate"
    try:
        return Event(
            kind="adjudicate" if settles else "answer",
            phase=None if settles else "revised",
            paper=row.arxiv_id,
            row_hash=row.row_hash,
            who=said.who,
            at=stamp(at),
            question=question,
            value=value,
            why=said.why,
            evidence=list(said.evidence),
            mode="unblinded",
            identity="asserted",
        )
    except ValidationError as error:
        raise LedgerError(f"paper {said.paper}: {explain(error)}") from None


_WORDS: Mapping[str, Json] = {
    **dict.fromkeys(("yes", "true"), True),
    **dict.fromkeys(("no", "false"), False),
    **dict.fromkeys(("not applicable", "not needed", "not_needed"), "not_needed"),
    **dict.fromkeys(("cannot tell", "cannot_tell"), CANNOT_TELL),
}


def spoken(question: Question, text: str) -> Json:
    """An answer as people write it: yes, no, not applicable, cannot tell; needs by commas, or none; hours as a number;
    a claim, target or bar as JSON. Whether it answers the question is the event's own rule."""
    plain = " ".join(text.split())
    known = _WORDS.get(plain.casefold())
    if question == "needs" and known is None:
        return [] if plain.casefold() == "none" else sorted({part.strip() for part in plain.split(",")})
    if known is not None:
        return known
    if question in ("hours", "claim", "target", "bar"):
        try:
            return json.loads(plain)
        except (ValueError, RecursionError):
            return plain
    return plain


def burn_down(rows: Iterable[tuple[str, str]], events: Sequence[Event]) -> list[tuple[str, int]]:
    """How many of the rows (paper, present row hash) were not decided at the end of each day on which something was
    said that still counts."""
    pairs = list(rows)
    about: dict[str, list[Event]] = {}
    for event in events:
        about.setdefault(event.paper, []).append(event)
    days = sorted({event.at[:10] for event in events})
    return [
        (
            day,
            sum(
                standing(paper, hash_, [e for e in about.get(paper, ()) if e.at[:10] <= day]).state != "decided"
                for paper, hash_ in pairs
            ),
        )
        for day in days
    ]
