"""One person's reading of one row, as it follows from the ledger: what is answered, what comes next, what may be seen.

Signals, kind and needs are answered blind; once all of them are, the row's verdict is shown and stays shown. An answer
that overturns it must then be confirmed with a reason, or revised. Claim, target, bar, hours and eligibility come after
that, as proposals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.audit import overturns
from pipeline.deciding import last_of
from pipeline.derivation import Derivation
from pipeline.events import CANNOT_TELL, SIGNALS, Entry, Event, Question, fold
from pipeline.second_readings import TARGET_ONLY

BLIND: tuple[Question, ...] = (
    "code_available", "dataset_available", "weights_available", "dataset_is_standard", "kind", "needs",
)  # fmt: skip
PROPOSED: tuple[Question, ...] = ("claim", "target", "bar", "hours", "eligibility")

TITLES: Mapping[Question, str] = {
    "code_available": "Can a stranger get code that runs the target?",
    "dataset_available": "Can a stranger get everything of the target's data?",
    "weights_available": "Can a stranger get the weights of exactly this configuration?",
    "dataset_is_standard": "Is the data a listed benchmark with its usual splits?",
    "kind": "What kind of paper is it?",
    "needs": "What does the target need that not everyone has?",
    "claim": "Is this the central claim?",
    "target": "Is this the cheapest printed number that supports the claim?",
    "bar": "Is a rerun held against it rightly?",
    "hours": "Are these the hours of one faithful rerun?",
    "eligibility": "May this row enter the benchmark?",
}
SHORT: Mapping[Question, str] = {
    "code_available": "Code",
    "dataset_available": "Data",
    "weights_available": "Weights",
    "dataset_is_standard": "Standard",
    "kind": "Kind",
    "needs": "Needs",
    "claim": "Claim",
    "target": "Target",
    "bar": "Bar",
    "hours": "Hours",
    "eligibility": "Eligible",
}

Mark = Literal["open", "blind", "confirm", "answered", "unsure", "stale", "later", "settled"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """`answers`: standing answers by question; `blind`: the blind ones among all that were given; `earlier`: answers
    about an earlier state of the row. `last`: id of the last event of each question's line, "" for none."""

    who: str
    row: Derivation
    questions: tuple[Question, ...]
    answers: Mapping[Question, Event]
    blind: Mapping[Question, Event]
    earlier: Mapping[Question, Event]
    last: Mapping[Question, str]
    revealed: bool
    settled: Mapping[Question, Event]

    def to_confirm(self, question: Question) -> bool:
        """An overturn that was made blind and stands without a reason."""
        answer = self.answers.get(question)
        return (
            self.revealed
            and question in BLIND
            and answer is not None
            and answer.phase == "blind"
            and overturns(self.row, question, answer.value)
        )

    def mark(self, question: Question) -> Mark:
        if question in self.settled:
            return "settled"
        answer = self.answers.get(question)
        if answer is None:
            if question in PROPOSED and not self.sees_proposals:
                return "later"
            return "stale" if question in self.earlier else "open"
        if self.to_confirm(question):
            return "confirm"
        if answer.value == CANNOT_TELL:
            return "unsure"
        return "blind" if question in BLIND and not self.revealed else "answered"

    @property
    def sees_proposals(self) -> bool:
        return self.revealed or self.questions == TARGET_ONLY

    def may_answer(self, question: Question) -> bool:
        return question in self.questions and self.mark(question) not in ("later", "settled")

    @property
    def open(self) -> tuple[Question, ...]:
        """Questions that want something of this person, in order. A row found not eligible wants nothing else."""
        out = self.answers.get("eligibility")
        if out is not None and out.value is False and not any(self.to_confirm(q) for q in BLIND):
            return ()
        wanted = ("open", "stale", "confirm")
        return tuple(q for q in self.questions if self.mark(q) in wanted or (self.mark(q) == "later"))

    @property
    def done(self) -> bool:
        return not self.open

    @property
    def phase(self) -> Literal["blind", "revised"]:
        return "revised" if self.sees_proposals else "blind"


def reading(who: str, row: Derivation, entries: Sequence[Entry], questions: Sequence[Question]) -> Reading:
    """`entries`: everything in the ledger about this paper, in fold order."""
    raw = [e.event for e in entries]
    events = [e for e in fold(entries) if e.question is not None]
    mine = [e for e in events if e.kind == "answer" and e.who == who]
    present = [e for e in mine if e.row_hash == row.row_hash]
    answers = {e.question: e for e in present if e.question}
    return Reading(
        who=who,
        row=row,
        questions=tuple(questions),
        answers=answers,
        blind={e.question: e for e in present if e.question and e.phase == "blind"},
        earlier={e.question: e for e in mine if e.question and e.row_hash != row.row_hash},
        last={q: last.id if (last := last_of(who, q, raw)) else "" for q in questions},
        revealed=_revealed(who, row.row_hash, raw),
        settled={e.question: e for e in events if e.question and e.kind != "answer" and e.row_hash == row.row_hash},
    )


def _revealed(who: str, row_hash: str, raw: Iterable[Event]) -> bool:
    """Whether all blind questions ever stood answered at once: what was seen cannot be unseen, undo or not."""
    standing: dict[str, Question] = {}
    for one in raw:
        if one.who != who:
            continue
        if one.kind == "answer" and one.row_hash == row_hash and one.question in BLIND:
            standing[one.id] = one.question
        elif one.undoes in standing:
            del standing[one.undoes]
        if set(standing.values()) >= set(BLIND):
            return True
    return False


def next_question(of: Reading, asked: str | None) -> Question | None:
    """The question to show: the one asked for, else the first that wants something."""
    for question in of.questions:
        if question == asked:
            return question
    ready = [q for q in of.open if of.mark(q) != "later"]
    return ready[0] if ready else None


def needs_reason(of: Reading, question: Question, value: object) -> bool:
    """Blind answers need none; afterwards whoever says other than the row says why."""
    return of.phase == "revised" and overturns(of.row, question, value)


def needs_receipts(question: Question, value: object) -> bool:
    return question in SIGNALS and isinstance(value, bool)
