"""Which rows are read twice, and which of these readings are still owed.

A drawn share of every stratum and every overturn go to a second reader, whole; rows of a split whose target nobody else
read get one for claim, target and bar. Who reads alone owes nothing, and a release then says that agreement was not
measured. Once two people read, nothing is frozen while a reading is owed. What was decided with the verdict in sight
makes nobody a reader, but settles what is owed: a second person did look.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline import compute
from pipeline.agreement import counts
from pipeline.audit import Audited
from pipeline.derivation import Derivation
from pipeline.editions import Edition
from pipeline.events import QUESTIONS, Event, Question

Scope = Literal["full", "target"]
TARGET_ONLY: tuple[Question, ...] = ("claim", "target", "bar")

LEAST_SHARE = 0.25
"""Agreement measured on less than a quarter of the rows says little about the rest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A pool row as assignment sees it; `stratum` is its tier and band."""

    paper: str
    row_hash: str
    stratum: tuple[str, str]

    @classmethod
    def of(cls, row: Derivation, edges: Sequence[float]) -> Row:
        stratum = (row.tier.value if row.tier else "undetermined", compute.band(row.hours, tuple(edges)) or "?")
        return cls(paper=row.arxiv_id, row_hash=row.row_hash, stratum=stratum)


def lot(papers: Iterable[str], seed: str) -> list[str]:
    return sorted(papers, key=lambda p: (hashlib.sha256(f"{seed} second reader {p}".encode()).digest(), p))


def drawn_twice(rows: Iterable[Row], share: float, seed: str) -> frozenset[str]:
    """The papers that get a second reader by lot: at least `share` of every stratum. A larger share draws those of a
    smaller one and others.

    Raises ValueError for a share below `LEAST_SHARE` or above 1.
    """
    if not LEAST_SHARE <= share <= 1:
        raise ValueError(f"a share of {share:g} is read twice; give one from {LEAST_SHARE} to 1")
    strata: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        strata[row.stratum].append(row.paper)
    return frozenset(
        paper for papers in strata.values() for paper in lot(papers, seed)[: math.ceil(share * len(papers))]
    )


def overturned_alone(row: Audited) -> bool:
    """Whether a reader's own answer changed the row: what an adjudicator settles, two have seen."""
    return any(row.standing.decisions[question].event.kind == "answer" for question in row.overturned)


def scopes(
    rows: Sequence[Audited], split: Collection[str], edition: Edition, share: float = LEAST_SHARE
) -> dict[str, Scope]:
    """What a second reader is asked about each row that has one; `split` holds the papers of both splits."""
    drawn = drawn_twice((Row.of(r.derivation, edition.band_edges_hours) for r in rows), share, edition.seed)
    found: dict[str, Scope] = {}
    for row in rows:
        if row.arxiv_id in drawn or overturned_alone(row):
            found[row.arxiv_id] = "full"
        elif row.arxiv_id in split:
            found[row.arxiv_id] = "target"
    return found


def owed(
    rows: Sequence[Audited],
    events: Iterable[Event],
    split: Collection[str],
    edition: Edition,
    people: Collection[str] = (),
) -> dict[str, Scope]:
    """Second readings that are still to be had, by paper. `events` are those that count, in fold order; `people` may
    read too, though the ledger does not hold anything of theirs yet."""
    hashes = {row.arxiv_id: row.derivation.row_hash for row in rows}
    said: defaultdict[str, defaultdict[str, dict[Question, Event]]] = defaultdict(lambda: defaultdict(dict))
    blind: set[str] = set()
    for event in events:
        if event.kind == "answer" and event.question and hashes.get(event.paper) == event.row_hash:
            said[event.paper][event.who][event.question] = event
            blind |= {event.who} if counts(event) else set()
    if not blind or len(blind | set(people)) < 2:
        return {}
    due = scopes(rows, split, edition)
    return {
        paper: scope
        for paper, scope in due.items()
        if sum(_read(answers, scope) for answers in said[paper].values()) < 2
    }


def _read(answers: Mapping[Question, Event], scope: Scope) -> bool:
    """Whether one person's answers are a reading. A row found not eligible needs no other answer."""
    out = answers.get("eligibility")
    if scope == "full" and out is not None and out.value is False:
        return True
    return set(answers) >= set(QUESTIONS if scope == "full" else TARGET_ONLY)
