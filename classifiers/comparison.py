"""Classifiers side by side: each against the gold labels, each against each other, and a model against itself.

Two readings of the same papers are held against one another question by question, without anybody's labels: how often
they say the same, and what each says where the other says something else. A reading that is left open is an answer of
its own here: two that leave the same thing open agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from classifiers.said import Cost, Said
from classifiers.scorecard import OPEN, Scorecard, Share
from classifiers.source_evaluation import HOURS_AGREE
from pipeline.evidence import Json, Signal

NOT_NEEDED = "not needed"
NOTHING = "nothing"
QUESTIONS = (*(str(s) for s in Signal), "own-code links", "paper kind", "target", "compute", "tier")
CATEGORIES = frozenset({*(str(s) for s in Signal), "own-code links", "paper kind", "tier"})
"""Questions whose answers are few enough for a table of confusion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One run of one classifier over the papers. `run` counts from 1; `said` by paper; `cost` of all papers."""

    classifier: str
    run: int
    said: Mapping[str, Said]
    card: Scorecard

    @property
    def name(self) -> str:
        return f"{self.classifier} (run {self.run})" if self.run > 1 else self.classifier

    @property
    def cost(self) -> Cost:
        return sum((one.cost for one in self.said.values()), Cost())


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Two readings on one question: how often they say the same; for few answers, (first's, second's, how often); the
    papers on which they differ, with both answers."""

    first: str
    second: str
    question: str
    agree: Share
    confusion: tuple[tuple[str, str, int], ...]
    differ: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """`between`: every two classifiers' first runs. `within`: every two runs of one classifier."""

    gold: str
    readings: tuple[Reading, ...]
    between: tuple[Agreement, ...]
    within: tuple[Agreement, ...]

    @property
    def first_runs(self) -> tuple[Reading, ...]:
        return tuple(one for one in self.readings if one.run == 1)

    def lines(self) -> list[str]:
        """The report for a terminal: who read and at what cost, shares against the labels, then each pair."""
        readers = self.first_runs
        out = [f"{len(readers)} classifiers on {len(readers[0].said)} gold papers of {self.gold}", ""]
        out += [f"{letter(n)}  {one.name}: {one.cost}" for n, one in enumerate(readers)]
        rows = [("measure", "against", *(letter(n) for n in range(len(readers))))]
        rows += [(measure, against, *map(str, shares)) for measure, against, shares in self.by_measure()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        out += ["", *("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)]
        for title, listed in (("Between classifiers", self.between), ("Runs of one classifier", self.within)):
            out += ["", title] if listed else []
            out += [f"- {one.first} / {one.second}, {one.question}: {one.agree}" for one in listed]
        return out

    def by_measure(self) -> Iterator[tuple[str, str, list[Share | str]]]:
        """Each measure and side of the gold labels, with every classifier's share of agreement."""
        cards = [{(t.measure.name, t.against): t.agree for t in one.card.tallies} for one in self.first_runs]
        for key in dict.fromkeys(key for card in cards for key in card):
            yield *key, [card.get(key, "-") for card in cards]

    def to_json(self) -> dict[str, Json]:
        return {
            "gold": self.gold,
            "classifiers": [
                {"name": one.name, "run": one.run, "cost": asdict(one.cost), "scorecard": one.card.to_json()}
                for one in self.readings
            ],
            "between": [_agreement(one) for one in self.between],
            "within": [_agreement(one) for one in self.within],
        }


def letter(n: int) -> str:
    return chr(ord("A") + n)


def compare(gold: str, readings: Sequence[Reading]) -> Comparison:
    """Hold all readings against one another. Raises ValueError for none, or for readings of different papers."""
    if not readings or any(set(one.said) != set(readings[0].said) for one in readings):
        raise ValueError("a comparison needs readings of the same papers")
    firsts = [one for one in readings if one.run == 1]
    pairs = list(combinations(firsts, 2))
    runs = [(a, b) for a, b in combinations(readings, 2) if a.classifier == b.classifier]
    return Comparison(
        gold=gold,
        readings=tuple(readings),
        between=tuple(one for a, b in pairs for one in agreements(a, b)),
        within=tuple(one for a, b in runs for one in agreements(a, b)),
    )


def agreements(first: Reading, second: Reading) -> tuple[Agreement, ...]:
    """Two readings on every question on which at least one paper can be compared, in the order of `QUESTIONS`."""
    found = []
    for question in QUESTIONS:
        answers = [
            (where, a, b)
            for paper in sorted(first.said)
            for where, a, b in _answers(question, paper, first.said[paper], second.said[paper])
        ]
        if not answers:
            continue
        same = [_same(question, a, b) for _, a, b in answers]
        counts = Counter((a, b) for _, a, b in answers) if question in CATEGORIES else Counter()
        found.append(
            Agreement(
                first=first.name,
                second=second.name,
                question=question,
                agree=Share(sum(same), len(same)),
                confusion=tuple((a, b, n) for (a, b), n in sorted(counts.items())),
                differ=tuple(answer for answer, agrees in zip(answers, same, strict=True) if not agrees),
            )
        )
    return tuple(found)


def _answers(question: str, paper: str, a: Said, b: Said) -> Iterator[tuple[str, str, str]]:
    """(paper, first's answer, second's): one a paper, but one a link for links."""
    if question == "own-code links":
        own = [{link.subject for link in one.links if link.shown == "own"} for one in (a, b)]
        for name in sorted({link.subject for one in (a, b) for link in one.links if link.shown != "hidden"}):
            yield f"{paper} {name}", *("yes" if name in mine else "no" for mine in own)
        return
    yield paper, _answer(question, a), _answer(question, b)


def _answer(question: str, said: Said) -> str:
    if question == "paper kind":
        return said.kind or NOTHING
    if question == "tier":
        return said.tier.value if said.tier else OPEN
    if question == "target":
        return said.targets[0].text if said.targets else NOTHING
    if question == "compute":
        return NOTHING if said.hours is None else f"{said.hours:.3g} h"
    signal = said.signals.get(Signal(question))
    if signal is None or (signal.needed and signal.value is None):
        return OPEN
    return NOT_NEEDED if not signal.needed else "yes" if signal.value else "no"


def _same(question: str, a: str, b: str) -> bool:
    """Whether two answers agree. Hours agree within a tenth, and targets are the same number however it is written."""
    if question == "compute" and NOTHING not in (a, b):
        one, two = (float(text.removesuffix(" h")) for text in (a, b))
        return abs(one - two) <= HOURS_AGREE * max(one, two)
    return a == b or (question == "target" and _number(a) == _number(b) is not None)


def _number(text: str) -> float | None:
    try:
        return float(text.strip().rstrip("%").strip())
    except ValueError:
        return None


def _agreement(one: Agreement) -> dict[str, Json]:
    return {
        "first": one.first,
        "second": one.second,
        "question": one.question,
        "agree": one.agree.to_json(),
        "confusion": [{"first": a, "second": b, "n": n} for a, b, n in one.confusion],
        "differ": [{"where": where, "first": a, "second": b} for where, a, b in one.differ],
    }
