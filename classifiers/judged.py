"""One comparison of what a classifier said with what a reader labelled, and the measures that comparisons belong to.

Shares, intervals, confusion and the list of disagreements are all counted from `Judged`. Rows of a measure: each reader
by itself, `both` where the two give the same label, `record` where a fetched repository decides, `either` where being
among any reader's labels is enough, and `readers` for the two held against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from classifiers.gold import GoldPaper, Labels

Against = Literal["record", "first", "second", "both", "either", "readers"]
FIRST_FEW = 3
"""Of how many proposals one must be among the readers'."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One comparison. `ours` None: left open, neither right nor wrong. Evidence is what each side points at."""

    measure: str
    against: Against
    paper: str
    theirs: str
    ours: str | None
    agrees: bool | None
    our_evidence: str = ""
    their_evidence: str = ""


Ratio = Literal["precision", "recall"]


@dataclass(frozen=True, slots=True)
class Measure:
    """What is compared, in a sentence. `ratios` of the answer "yes" that mean something; `categories`: whether answers
    are few enough for a table of confusion."""

    name: str
    about: str
    ratios: tuple[Ratio, ...] = ()
    categories: bool = True


_BOTH: tuple[Ratio, ...] = ("precision", "recall")
MEASURES = (
    Measure("code", "The code signal where the record decides: an own repository was fetched and judged.", _BOTH),
    Measure("weights", "The readers say what the paper claims, we what a stranger gets.", _BOTH),
    Measure("data", "The target's data can be had, is a standard benchmark, or none is needed.", _BOTH),
    Measure("standard", "All the target's data sets are standard benchmarks.", _BOTH),
    Measure("own-code links", "Links that the PDF shows, to places of the paper's own that may hold code.", _BOTH),
    Measure("links: unrendered", "Own links that the PDF does not show (unused macro, uncited entry) told apart."),
    Measure("links: commented", "Links on commented lines told apart."),
    Measure("links: foreign", "Links to other people's code, data and pages told apart."),
    Measure("paper kind", "Empirical, theoretical, position, survey, or no paper at all."),
    Measure(
        "compute statements",
        "A reader's statement is found if a quote of ours overlaps its lines and a device or a duration agrees.",
        ("recall",),
    ),
    Measure(
        "compute mentions", "What we take for a compute statement lies on the lines of a reader's.", ("precision",)
    ),
    Measure("target: first", "The first proposed value is among either reader's target or alternatives.", (), False),
    Measure("target: one of three", f"One of the first {FIRST_FEW} proposed values is.", (), False),
    Measure("tier: source alone", "The readers' tier by the source alone; ours reads receipts as well."),
    Measure("tier: with repository", "The first reader's tier with the repository known."),
)


def simple(
    gold: GoldPaper,
    measure: str,
    label: Callable[[Labels], str | None],
    note: str,
    ours: str | None,
    evidence: str,
) -> Iterator[Judged]:
    """One answer a paper: against each reader that gave a label, both where they agree, and one against the other."""
    given = [(labels, theirs) for labels in gold.readers if (theirs := label(labels)) is not None]
    for labels, theirs in given:
        yield judged(measure, labels.reader, gold, theirs, ours, evidence, labels.note(note))
    if len(given) == 2:
        (first, one), (second, two) = given
        if one == two:
            yield judged(measure, "both", gold, one, ours, evidence, f"{first.note(note)} | {second.note(note)}")
        yield judged(measure, "readers", gold, one, two, second.note(note), first.note(note))


def judged(
    measure: str,
    against: Against,
    gold: GoldPaper,
    theirs: str,
    ours: str | None,
    our_evidence: str,
    their_evidence: str,
) -> Judged:
    return Judged(
        measure=measure,
        against=against,
        paper=gold.name,
        theirs=theirs,
        ours=ours,
        agrees=None if ours is None else ours == theirs,
        our_evidence=our_evidence,
        their_evidence=their_evidence,
    )


def yes_no(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"
