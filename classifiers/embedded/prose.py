"""What prose says of results: numbers that claim, abstract and conclusion repeat, and how prose rounds them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from classifiers.embedded.claim import Claim
from pipeline.paper import Number, Paper

_BASELINE_BEFORE = re.compile(
    r"\b(from|than|against|versus|vs\.?|compared (?:with|to)|over|for (?:the )?(?:baseline|plain)|only"
    r"|respectively from)\s*(?:the\s+)?(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
RANGE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s?%?\s?(?:–|-|--|to)\s?(\d+(?:\.\d+)?)\s?(%|×|x\b)")
AMOUNTS = frozenset(("k", "K", "M", "B", "G", "T", "GB", "MB", "h", "min", "hours", "minutes"))
"""Units that count things, sizes or times rather than results."""


@dataclass(frozen=True, slots=True)
class Stated:
    """Numbers the paper repeats in prose, with how much that says: the claim's own first, then abstract, then
    conclusion.
    """

    numbers: tuple[tuple[Number, float, str], ...] = field(default=())
    ranges: tuple[tuple[float, float, float], ...] = field(default=())

    def weight(self, value: float, unit: str, *, ratio: bool) -> tuple[str, float]:
        """`ratio`: the cell is a ratio or difference, which alone a number such as 8x can be."""
        for number, weight, place in self.numbers:
            if number.factor_x and not ratio:
                continue
            if same_printed(number, value) and not (unit in AMOUNTS and (number.percent or number.factor_x)):
                return f"the {place} prints {number.text}", weight
        return "", 0.0

    def within(self, value: float) -> tuple[str, float]:
        """Whether prose gives a range, such as 33–35%, that holds this percentage."""
        for low, high, weight in self.ranges:
            if low - 0.5 <= abs(value) <= high + 0.5:
                return f"the prose says {low:g} to {high:g}", weight
        return "", 0.0


@lru_cache(maxsize=1024)
def _precision(printed: str) -> tuple[int, int]:
    """(decimals, significant digits) of a printed number; (0, 0) of what is none."""
    match = re.search(r"[\d,]*\.?\d+", printed.strip("% x×"))
    digits = match[0] if match else ""
    decimals = len(digits.split(".")[1]) if "." in digits else 0
    return decimals, len(digits.replace(".", "").replace(",", "").lstrip("0"))


def same_printed(number: Number, value: float) -> bool:
    """Whether prose prints this value, rounded as prose rounds, in percent or as a share."""
    decimals, significant = _precision(number.text)
    if significant < 2 or (decimals == 0 and not (number.percent or number.factor_x) and number.value < 1000):
        return False
    scales = (1.0, 100.0) if number.percent else (1.0,)
    return any(abs(round(abs(value) * k, decimals) - abs(number.value)) < 0.5 * 10 ** -(decimals + 3) for k in scales)


def stated_numbers(paper: Paper, claim: Claim | None) -> Stated:
    """Results in prose: claim, rest of the abstract, contributions and conclusion."""
    found: list[tuple[Number, float, str]] = []
    if claim is not None:
        found += [(n, 6.0, "claim") for n in result_numbers(paper, claim.sentence)]
        for text in claim.support:
            found += [(n, 4.0, "abstract") for n in result_numbers(paper, text)]
    for sentence in paper.sentences():
        if sentence.place == "abstract" and (claim is None or sentence.text not in (claim.sentence, *claim.support)):
            found += [(n, 2.5, "abstract") for n in result_numbers(paper, sentence.text)]
        elif (
            re.search(r"\b(introduction|conclu|contribution)", sentence.section, re.IGNORECASE)
            and not sentence.appendix
        ):
            found += [(n, 1.5, "introduction or conclusion") for n in result_numbers(paper, sentence.text)]
    prose = [(claim.sentence, 5.0), *((text, 3.5) for text in claim.support)] if claim is not None else []
    ranges = [(float(m[1]), float(m[2]), weight) for text, weight in prose for m in RANGE.finditer(text)]
    return Stated(tuple(found), tuple(r for r in ranges if r[0] < r[1]))


def result_numbers(paper: Paper, sentence: str) -> list[Number]:
    """Numbers of a sentence that can be a result of the own work: not counts, not what it is compared with."""
    kept: list[Number] = []
    for number in paper.numbers_in(sentence):
        if number.unit in AMOUNTS or number.unit == "hour":
            continue
        digits = number.text.strip("% x×+-")
        whole = "." not in digits
        if whole and not (number.percent or number.factor_x) and (number.value < 1000 or number.value % 100 == 0):
            continue
        if whole and 1900 <= number.value <= 2100 and not number.percent:
            continue
        if _BASELINE_BEFORE.search(sentence[: number.start]):
            continue
        kept.append(number)
    return kept
