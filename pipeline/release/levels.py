"""How far each label of a release was proven: its bytes have their hash, it was derived again, its receipts replayed.

The third level needs an evidence pack; a label whose evidence is not in one, or for which none was given, is "hash
only" there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.evidence import Signal
from pipeline.release.case import Case
from pipeline.release.extraction import CHECK as READ_AGAIN
from pipeline.release.folder import same
from pipeline.release.report import Report

Replayed = Literal["replayed", "hash only", "failed"]
_NAMES: Mapping[Signal, str] = {
    Signal.CODE: "code",
    Signal.DATA: "dataset",
    Signal.WEIGHTS: "weights",
    Signal.STANDARD: "standard",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """One label of a row. That it is here says that its bytes have their hash: nothing else is looked at."""

    split: str
    paper: str
    signal: str
    derived: bool
    replayed: Replayed

    @property
    def mark(self) -> str:
        return "h" + ("d" if self.derived else "!") + {"replayed": "r", "hash only": "-", "failed": "!"}[self.replayed]


def levels(case: Case, report: Report, came_back: Mapping[str, bool]) -> tuple[Level, ...]:
    """Every label of both splits. `came_back`: by receipt id, whether a replay gave it again; empty without one.

    A label that rests on no receipt rests on the paper's source, and is replayed where that was read again.
    """
    read = next((check for check in report.checks if check.name == READ_AGAIN), None)
    differ = {failure.where for failure in read.failures} if read is not None else set()
    audited = case.audited
    found = []
    for split in ("eval", "dev"):
        due = {row.custom_id: row.model_dump(mode="json") for row in case.made.rows.get(split, ())}
        for row in case.lines[split]:
            paper = str(row["custom_id"])
            for signal in Signal:
                held = audited[paper].label(signal).receipts if paper in audited else ()
                if held:
                    how = _replayed([came_back.get(id_) for id_ in held])
                elif read is None:
                    how = "hash only"
                else:
                    how = "failed" if paper in differ else "replayed"
                derived = paper in due and same(due[paper]["signals"][signal], row["signals"][signal])
                found.append(Level(split=split, paper=paper, signal=_NAMES[signal], derived=derived, replayed=how))
    return tuple(found)


def _replayed(came_back: Sequence[bool | None]) -> Replayed:
    if False in came_back:
        return "failed"
    return "hash only" if None in came_back else "replayed"


def told(found: Sequence[Level]) -> Iterator[str]:
    """The levels as text: one line for all, one for each row."""
    if not found:
        return
    derived = sum(level.derived for level in found)
    counts = {how: sum(level.replayed == how for level in found) for how in ("replayed", "hash only", "failed")}
    said = ", ".join(f"{n} {how}" for how, n in counts.items() if n or how == "replayed")
    yield f"labels {len(found)}: {len(found)} with their hash, {derived} derived again, {said}"
    yield "       h its bytes have their hash, d derived again from receipts, r replayed (- hash only), ! failed"
    rows = dict.fromkeys((level.split, level.paper) for level in found)
    for split, paper in rows:
        marks = [f"{level.signal} {level.mark}" for level in found if (level.split, level.paper) == (split, paper)]
        yield f"       {split:<4} {paper}  {'  '.join(marks)}"
