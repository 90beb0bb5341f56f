"""What was asked of the product on two cores, beside what was measured. Said, never asserted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench.telling import Row

Found = Callable[[Sequence[Row]], float | None]


@dataclass(frozen=True)
class Goal:
    what: str
    unit: str
    limit: float
    measure: Found
    at_least: bool = False

    def met(self, rows: Sequence[Row]) -> bool | None:
        value = self.measure(rows)
        return None if value is None else value >= self.limit if self.at_least else value <= self.limit

    def words(self, rows: Sequence[Row]) -> tuple[str, str, str, str]:
        """(what, goal, measured, met)"""
        value, met = self.measure(rows), self.met(rows)
        bound = f"{'at least' if self.at_least else 'at most'} {self.limit:g} {self.unit}"
        said = "not measured" if value is None else f"{value:,.1f} {self.unit}"
        return self.what, bound, said, "" if met is None else "met" if met else "NOT met"

    def line(self, rows: Sequence[Row]) -> str:
        what, bound, said, met = self.words(rows)
        return f"{what}: {said} (goal {bound}){': ' + met if met else ''}"


def one(rows: Sequence[Row], field: str, bench: str, **wanted: object) -> float | None:
    """The first row's value, of those whose fields are the wanted ones, or begin with them where those are texts."""
    for row in rows:
        fits = all(
            str(row.get(key, "")).startswith(value) if isinstance(value, str) else row.get(key) == value
            for key, value in wanted.items()
        )
        if row.get("bench") == bench and fits and row.get(field) is not None:
            return float(row[field])
    return None


def growth(rows: Sequence[Row], field: str, papers: int, case: str = "cold") -> float | None:
    return one(rows, field, "growth", papers=papers, case=case)


def linear(rows: Sequence[Row]) -> float | None:
    """How many times longer a paper takes in an edition of ten thousand than in one of a thousand."""
    small, large = growth(rows, "seconds", 1_000), growth(rows, "seconds", 10_000)
    return None if small is None or large is None else (large / 10_000) / (small / 1_000)


GOALS = (
    Goal(
        "reader beside pandoc, median paper", "times faster", 10,
        lambda rows: one(rows, "to_ours_times", "reader", who="pandoc"), at_least=True,
    ),
    Goal("1,000 papers from recorded evidence", "s", 90, lambda rows: growth(rows, "seconds", 1_000, "from evidence")),
    Goal("10,000 papers, peak memory", "MB", 3_000, lambda rows: growth(rows, "peak_mb", 10_000)),
    Goal("10,000 papers, time a paper beside that of 1,000", "times", 1.2, linear),
    Goal("10,000 papers, nothing to do", "s", 10, lambda rows: growth(rows, "seconds", 10_000, "no-op")),
    Goal(
        "verify a release with this program", "s", 5,
        lambda rows: one(rows, "seconds", "verify", who="reclaim verify"),
    ),
    Goal(
        "the same by the file it carries", "s", 5,
        lambda rows: one(rows, "seconds", "verify", who="python verify.py"),
    ),
)  # fmt: skip
