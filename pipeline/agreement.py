"""How far people agree who judged the same row without seeing the row's verdict or each other: counted, not assumed.

Only standing blind answers are held against each other, each bound to the row hash it judged; what was said after the
verdict was shown, in a launchpad that shows it, or under a name that nobody checked, never enters. Percent agreement
and Cohen's kappa (Cohen 1960) compare the first and second reader of a row; Krippendorff's alpha (nominal; Krippendorff
2011, "Computing Krippendorff's Alpha-Reliability") takes any number of readers and rows that some of them left out.
Shares and coefficients are single divisions of whole numbers, so that any writing of these rules gives the same digits.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pipeline.events import QUESTIONS, SIGNALS, Event, Question
from pipeline.evidence import Json, canonical

Pair = tuple[str, str]

MEASURED: tuple[Question, ...] = tuple(q for q in QUESTIONS if q in (*SIGNALS, "kind", "needs"))
"""Questions that are answered before the verdict is shown. Of the others people only judge a proposal."""

DRAWS = 1000
"""Resamples behind an interval: enough for two digits of a 95 % percentile interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """How far the readers of one question agree.

    n: rows with two blind answers. agreed: of these, the same answer. kappa and alpha: None where undefined, which is
    where all answers are one and the same class (or there is none). interval: 95 %, of kappa; None where kappa is, or
    where most resamples leave it undefined. prevalence: share of each answer among all that were counted, to be read
    beside kappa, which is low under skew. confusion: (first reader's, second reader's, rows), sorted. readers: people
    who gave a counted answer.
    """

    question: Question
    n: int
    agreed: int
    kappa: float | None
    interval: Interval | None
    alpha: float | None
    prevalence: Mapping[str, float]
    confusion: tuple[tuple[str, str, int], ...]
    readers: int

    @property
    def percent(self) -> float | None:
        return 100 * self.agreed / self.n if self.n else None

    def to_json(self) -> dict[str, Json]:
        return {
            "n": self.n,
            "agreed": self.agreed,
            "percent": self.percent,
            "kappa": self.kappa,
            "kappa_low": self.interval.low if self.interval else None,
            "kappa_high": self.interval.high if self.interval else None,
            "alpha": self.alpha,
            "prevalence": dict(self.prevalence),
            "confusion": [list(cell) for cell in self.confusion],
            "readers": self.readers,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """Every measured question's agreement; `rows`: pool rows that two people answered blind, in whole or in part."""

    rows: int
    of: int
    questions: tuple[Agreement, ...]

    @property
    def measured(self) -> bool:
        return self.rows > 0

    def to_json(self) -> dict[str, Json]:
        """What a release holds; "measured" false where nobody read a row after another."""
        told = {one.question: one.to_json() for one in self.questions} if self.measured else {}
        return {"measured": self.measured, "rows": self.rows, "of": self.of, "draws": DRAWS, "questions": told}


def counts(event: Event) -> bool:
    """Whether an answer says what a person saw for themselves."""
    return event.kind == "answer" and event.phase == "blind" and event.mode is None and event.identity is None


def measure(rows: Mapping[str, str], events: Iterable[Event], seed: str) -> Measurement:
    """Agreement about `rows` (paper: its present row hash), from the events that count, in fold order.

    The first reader of a row is who answered anything of it blind first. A later blind answer of a person replaces
    their earlier one. `seed` is the edition's.
    """
    answers: dict[str, dict[str, dict[str, str]]] = {}
    for event in events:
        if event.question in MEASURED and counts(event) and rows.get(event.paper) == event.row_hash:
            said = answers.setdefault(event.paper, {}).setdefault(event.who, {})
            said[event.question or ""] = canonical(event.value)
    found = []
    for question in MEASURED:
        of_row = {
            paper: [said[question] for said in by_who.values() if question in said]
            for paper, by_who in sorted(answers.items())
        }
        people = {who for by_who in answers.values() for who, said in by_who.items() if question in said}
        found.append(_agreement(question, list(of_row.values()), len(people), f"{seed} agreement {question}"))
    twice = sum(
        any(sum(question in said for said in by_who.values()) > 1 for question in MEASURED)
        for by_who in answers.values()
    )
    return Measurement(rows=twice, of=len(rows), questions=tuple(found))


def _agreement(question: Question, units: Sequence[Sequence[str]], readers: int, seed: str) -> Agreement:
    pairs = [(unit[0], unit[1]) for unit in units if len(unit) > 1]
    counted = Counter(value for unit in units if len(unit) > 1 for value in unit)
    return Agreement(
        question=question,
        n=len(pairs),
        agreed=sum(a == b for a, b in pairs),
        kappa=kappa(pairs),
        interval=bootstrap(pairs, seed),
        alpha=alpha(units),
        prevalence={value: n / counted.total() for value, n in sorted(counted.items())},
        confusion=tuple((a, b, n) for (a, b), n in sorted(Counter(pairs).items())),
        readers=readers,
    )


def kappa(pairs: Sequence[Pair]) -> float | None:
    """Cohen's kappa of two readers' answers; None where chance alone would make them agree always."""
    return _kappa(Counter(pairs))


def _kappa(cells: Mapping[Pair, int]) -> float | None:
    n = sum(cells.values())
    first: Counter[str] = Counter()
    second: Counter[str] = Counter()
    agreed = 0
    for (a, b), count in cells.items():
        first[a] += count
        second[b] += count
        agreed += count * (a == b)
    by_chance = sum(count * second[value] for value, count in first.items())
    return None if by_chance == n * n else (n * agreed - by_chance) / (n * n - by_chance)


def bootstrap(pairs: Sequence[Pair], seed: str) -> Interval | None:
    """Percentile interval of kappa, 95 %, over rows drawn with replacement; the same for the same seed.

    Resamples where kappa is undefined are left out; None where they are more than half.
    """
    if kappa(pairs) is None:
        return None
    lot = random.Random(seed)  # only `random()` is used: its sequence is the same in every version of Python
    n = len(pairs)
    drawn = (_kappa(Counter(pairs[int(lot.random() * n)] for _ in range(n))) for _ in range(DRAWS))
    found = sorted(value for value in drawn if value is not None)
    if 2 * len(found) < DRAWS:
        return None
    cut = len(found) // 40
    return Interval(found[cut], found[-1 - cut])


def alpha(units: Iterable[Sequence[str]]) -> float | None:
    """Krippendorff's alpha for nominal answers. A unit holds one row's answers, whoever gave them; a unit with fewer
    than two cannot be paired and is left out. None where all that can be paired is one class."""
    agreed = Fraction()
    total: Counter[str] = Counter()
    for unit in units:
        if len(unit) > 1:
            seen = Counter(unit)
            total.update(seen)
            agreed += Fraction(sum(n * (n - 1) for n in seen.values()), len(unit) - 1)
    n = total.total()
    by_chance = sum(count * (count - 1) for count in total.values())
    if by_chance == n * (n - 1):
        return None
    # 1 - D_o / D_e, with D_o = n - agreed and D_e = (n(n-1) - by_chance) / (n-1)
    return float(1 - (n - agreed) * (n - 1) / (n * (n - 1) - by_chance))
