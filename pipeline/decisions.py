"""The file in which people decide: one JSON object a line, read into ledger events, and written as a form to fill in.

A line decides about one row:

    {"paper": "2501.00001", "row_hash": "<64 hex digits>", "who": "ada", "at": "2026-03-01T12:00:00Z",
     "answers": {"code_available": true, "claim": "stands", "hours": 3.5, …}, "why": "…", "evidence": ["<receipt id>"]}

`answers` may hold any of the eleven questions (values: `events.value_problem`); null is not answered. `why` and
`evidence` hold for all answers of the line, or are objects by question. `phase` is `revised` unless it says `blind`;
`guide` is the version of the labelling guide that was followed.
`shown` is what the row said when the form was written; it is for the reader and decides nothing. A line as the form
left it (no `who`, no answer) is skipped. A line with `kind` is any other event, as `events.Event` has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.audit import Standing
from pipeline.derivation import Derivation, judged
from pipeline.events import QUESTIONS, Event, LedgerError, Question, explain
from pipeline.evidence import Json, Outcome, Receipt, Signal, Status


class DecisionLine(BaseModel):
    """One line of the file, as written by hand; see the module's text."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    paper: Annotated[str, Field(min_length=1)]
    row_hash: str
    who: str
    at: str
    answers: dict[Question, Json]
    why: str | dict[Question, str] = ""
    evidence: list[str] | dict[Question, list[str]] = Field(default_factory=list)
    phase: Literal["blind", "revised"] = "revised"
    guide: int | None = None
    shown: Json = None

    def events(self) -> list[Event]:
        given = {q: self.answers[q] for q in QUESTIONS if self.answers.get(q) is not None}
        if not given and not self.who:
            return []
        if not given:
            raise ValueError("no question is answered")
        return [
            Event(
                kind="answer",
                paper=self.paper,
                row_hash=self.row_hash,
                who=self.who,
                at=self.at,
                phase=self.phase,
                guide=self.guide,
                question=question,
                value=value,
                why=self.why if isinstance(self.why, str) else self.why.get(question, ""),
                evidence=self.evidence if isinstance(self.evidence, list) else self.evidence.get(question, []),
            )
            for question, value in given.items()
        ]


def read_decisions(text: str, name: str) -> list[Event]:
    """The events of a decisions file, in its order; blank lines are skipped.

    Raises LedgerError naming every bad line as `name:line: reason`; then none of the file is to be taken.
    """
    events: list[Event] = []
    bad: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            events += _line(json.loads(line, object_pairs_hook=_once))
        except ValidationError as error:
            bad.append(f"{name}:{number}: {explain(error)}")
        except ValueError as error:
            bad.append(f"{name}:{number}: {error}")
        except RecursionError:
            bad.append(f"{name}:{number}: is nested too deeply")
    if bad:
        raise LedgerError("\n".join([*bad, f"{len(bad)} bad line(s); nothing was imported"]))
    return events


def _line(value: Json) -> Sequence[Event]:
    if not isinstance(value, dict):
        raise ValueError("a line must be one JSON object")
    if "kind" in value:
        return [Event.model_validate(value)]
    return DecisionLine.model_validate(value).events()


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object in which no key stands twice: the second would silently win."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(k for k, _ in pairs if sum(k == other for other, _ in pairs) > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return found


def export_todo(
    rows: Iterable[Derivation], standings: Mapping[str, Standing], receipts: Mapping[str, Receipt], guide: int
) -> str:
    """A form with one line for each row that is not decided: its present hash, its open questions as null, and what the
    row says. Rows where receipts contradict the classifier come first, then the cheapest, hours unknown last.

    `standings` by paper; a row without one has every question open. `guide`: the version of the labelling guide to
    follow, which decisions carry.
    """
    lines: list[str] = []
    for row in sorted(rows, key=_first):
        where = standings.get(row.arxiv_id)
        if where is not None and where.state == "decided":
            continue
        form: dict[str, Json] = {
            "paper": row.arxiv_id,
            "row_hash": row.row_hash,
            "who": "",
            "at": "",
            "answers": dict.fromkeys(QUESTIONS if where is None else where.open),
            "why": "",
            "evidence": [],
            "guide": guide,
            "shown": shown(row, receipts),
        }
        lines.append(json.dumps(form, ensure_ascii=False) + "\n")
    return "".join(lines)


def _first(row: Derivation) -> tuple[bool, float, str]:
    contradicted = any(one.status is Status.CONTRADICTED for one in row.labels)
    return not contradicted, float("inf") if row.hours is None else row.hours, row.arxiv_id


def shown(row: Derivation, receipts: Mapping[str, Receipt]) -> dict[str, Json]:
    """What the form shows beside the questions: what is judged, with the reason and the receipts of each label."""
    return judged(row.inputs, row.labels) | {
        "reasons": {str(one.signal): one.reason for one in row.labels},
        "receipts": {str(one.signal): list(one.receipts) for one in row.labels},
        "statuses": {str(one.signal): str(one.status) for one in row.labels},
        "living_repositories": living_repositories(row, receipts),
        "hours": row.hours,
        "tier": row.tier,
    }


def living_repositories(row: Derivation, receipts: Mapping[str, Receipt]) -> list[str]:
    """Repositories with code that the paper links, where the row says that there is no code: to be looked at first."""
    if row.label(Signal.CODE).value is not False:
        return []
    linked = (receipts[i] for i in row.inputs.linked if i in receipts)
    return list(
        dict.fromkeys(
            r.subject
            for r in linked
            if r.subject.startswith("github:") and r.outcome is Outcome.AVAILABLE and r.facts.get("code_files")
        )
    )
