"""What is wrong with an answer on its face: everything in it that the paper's own words or the episode's receipts deny.

Each check is code over one answer and its paper; none trusts the classifier. The loop sends what is found back to the
model once; what the last answer still has stands by name among the row's problems and keeps it from being eligible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.answers import Answer, TargetWord
from pipeline.evidence import Receipt, Signal
from pipeline.paper import Paper, parse_number

Name = Literal[
    "missing quote",
    "quote not in paper",
    "unknown receipt",
    "target not printed",
    "value given away",
]


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong: its kind, the field of the answer it stands in, and why, in words a model can act on."""

    name: Name
    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.place}): {self.reason}"


def defects(answer: Answer, paper: Paper, receipts: Sequence[Receipt] = ()) -> tuple[Defect, ...]:
    """All defects of an answer, in a fixed order; empty for an answer that may stand.

    `paper` is what the classifier read, `receipts` all receipts of its episode, the link check's included. Pure and
    cheap enough for an output validator: show the model `str(defect)` of each, once, and accept its next answer
    whatever it holds. Extraction calls this again on the answer that stands, so nothing need be carried along.
    """
    return (*_quotes(answer, paper), *_cited(answer, receipts), *_printed(answer, paper))


def _quotes(answer: Answer, paper: Paper) -> Iterator[Defect]:
    quotes = {"claim_quote": answer.claim_quote, "training_quote": answer.training_quote}
    quotes |= {f"needs.{name}": text for name, text in answer.needs.model_dump().items()}
    quotes |= {f"datasets.{d.name}": d.quote for d in answer.datasets}
    quotes |= {f"compute.{i}": part.quote for i, part in enumerate(answer.compute)}
    if answer.paper_kind == "empirical" and not answer.claim_quote:
        yield Defect("missing quote", "claim_quote", "an empirical paper's claim needs the sentence that states it")
    for place, quote in quotes.items():
        if quote and paper.find(quote) is None:
            yield Defect("quote not in paper", place, f"the paper does not print, letter by letter, {quote[:80]!r}")


def _cited(answer: Answer, receipts: Sequence[Receipt]) -> Iterator[Defect]:
    cited = {s: answer.signals.word(s).receipts for s in Signal}
    known = {r.id for r in receipts} if any(cited.values()) else set()
    for signal, ids in cited.items():
        for one in ids:
            if one not in known:
                yield Defect("unknown receipt", f"signals.{signal.value}", f"this episode has no receipt {one[:80]}")


def _printed(answer: Answer, paper: Paper) -> Iterator[Defect]:
    for place, target in targets(answer):
        if fault := target_fault(target, paper):
            yield Defect("target not printed", place, fault)
        elif place == "target" and target.value and target.value in answer.agent_task:
            yield Defect("value given away", "agent_task", f"it states the target's value {target.value}")


def targets(answer: Answer) -> Iterator[tuple[str, TargetWord]]:
    """The target and its alternatives, each with the place it stands in."""
    if answer.target is not None:
        yield "target", answer.target
    for index, target in enumerate(answer.target_alternatives):
        yield f"target_alternatives.{index}", target


def target_fault(target: TargetWord, paper: Paper) -> str:
    """Why the paper does not print the target where it says, or ""."""
    number = parse_number(target.value)
    if number is None:
        return f"value {target.value!r} is not one number"
    if target.table is None:
        if not target.quote or paper.find(target.quote) is None:
            return "no cell, and the quote is not in the paper"
        shown = "".join(target.quote.split())
        return "" if "".join(target.value.split()) in shown else f"the quote does not print {target.value}"
    if target.row is None or target.column is None:
        return "a table without row and column"
    for table in paper.tables:
        if table.number == target.table and target.row < len(table.grid) and target.column < table.columns:
            cell = table.grid[target.row][target.column]
            if (
                cell is not None
                and cell.value is not None
                and abs(cell.value - number.value) <= 1e-9 * abs(number.value)
            ):
                return ""
    return f"table {target.table} does not print {target.value} in row {target.row}, column {target.column}"
