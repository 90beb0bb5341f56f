"""The match target: one pinned result that code can grade, found again at its anchor.

A target is data: number, unit, direction, bar. The published row shows it as strings; the gate uses this module, and
`pipeline.scoring` holds measured values against what it wrote. Prose values are problems, not targets.
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.paper import Paper, parse_number
from pipeline.row import BarKind

NEAR_ZERO = 0.05
"""Below this share of the unit's scale a relative tolerance means nothing (labelling guide, "Bar")."""

QUOTE_LIMIT = 300


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TargetAnchor(Strict):
    """Where the paper prints the value: a table cell, or a sentence.

    `table` is the number of the float as the paper prints it, with the cell's 0-based place in its grid; None for a
    value in running text. `quote` (at most 300 characters) holds the value; `source_sha256` is the hash of the bundle's
    source it was read from.
    """

    file: str
    line: int
    table: str | None = None
    row: int | None = None
    column: int | None = None
    quote: str = Field(max_length=QUOTE_LIMIT)
    source_sha256: str


class Bar(Strict):
    """How a measured value is held against the target.

    point_estimate: |x - reference| <= tolerance. direction: x strictly better than `reference`, the baseline's value.
    threshold: x reaches `reference`, in the metric's direction. magnitude: the difference or ratio x is within
    tolerance of `reference`. range: low <= x <= high. `tolerance` is absolute, in the metric's unit; `tolerance_source`
    says where it comes from.
    """

    kind: BarKind
    op: Literal["within", ">", "<", ">=", "<=", "between"]
    reference: float | None = None
    tolerance: float | None = None
    tolerance_source: Literal["authors", "default_relative", "absolute"] | None = None
    low: float | None = None
    high: float | None = None


class Target(Strict):
    config: str
    metric: str
    unit: str = ""
    direction: Literal["higher", "lower"] | None = None
    value: str
    number: float
    uncertainty: float | None = None
    n_seeds: int | None = None
    scope: str = ""
    split: str = ""
    aggregate: str = ""
    dataset: str = ""
    baseline: float | None = None
    bar: Bar
    anchor: TargetAnchor


def scale_of(value: str, unit: str, metric: str) -> float:
    """The size of a metric's unit: 100 where anything says percent, else 1."""
    return 100.0 if "%" in f"{value}{unit}{metric}" else 1.0


def make_bar(
    kind: BarKind,
    *,
    number: float,
    direction: Literal["higher", "lower"] | None,
    uncertainty: float | None,
    baseline: float | None,
    relative: float,
    low: float | None = None,
    high: float | None = None,
    scale: float = 1.0,
) -> Bar | None:
    """Derive operator and tolerance from the kind; None where the kind lacks what it needs (guide, "Bar").

    `relative` is the edition's default tolerance, `scale` the size of the metric's unit (1 for fractions, 100 for
    percent).
    """
    if kind == "range":
        if low is None or high is None or not low < high:
            return None
        return Bar(kind=kind, op="between", low=low, high=high)
    if kind == "direction":
        if baseline is None or direction is None:
            return None
        return Bar(kind=kind, op=">" if direction == "higher" else "<", reference=baseline)
    if kind == "threshold":
        if direction is None:
            return None
        return Bar(kind=kind, op=">=" if direction == "higher" else "<=", reference=number)
    if uncertainty:
        return Bar(kind=kind, op="within", reference=number, tolerance=uncertainty, tolerance_source="authors")
    if abs(number) < NEAR_ZERO * scale:
        # The relative tolerance of the smallest value that is not near zero: no jump at the border.
        tolerance = NEAR_ZERO * scale * relative
        return Bar(kind=kind, op="within", reference=number, tolerance=tolerance, tolerance_source="absolute")
    tolerance = abs(number) * relative
    return Bar(kind=kind, op="within", reference=number, tolerance=tolerance, tolerance_source="default_relative")


def problems(target: Target) -> list[str]:
    """Why code could not grade this target; empty when it can."""
    found: list[str] = []
    bar = target.bar
    printed = parse_number(target.value)
    if printed is None or not math.isclose(printed.value, target.number, rel_tol=1e-9, abs_tol=1e-12):
        found.append(f"value {target.value!r} is not the number {target.number!r}")
    needs: dict[str, tuple[object, ...]] = {
        "point_estimate": (bar.reference, bar.tolerance, bar.tolerance_source),
        "magnitude": (bar.reference, bar.tolerance, bar.tolerance_source),
        "direction": (bar.reference, target.baseline, target.direction),
        "threshold": (bar.reference, target.direction),
        "range": (bar.low, bar.high),
    }
    if any(part is None for part in needs[bar.kind]):
        found.append(f"a {bar.kind} bar lacks a part")
    ops = {
        "point_estimate": {"within"},
        "magnitude": {"within"},
        "direction": {">", "<"},
        "threshold": {">=", "<="},
        "range": {"between"},
    }
    if bar.op not in ops[bar.kind]:
        found.append(f"a {bar.kind} bar cannot use {bar.op!r}")
    if bar.kind in ("direction", "threshold") and (bar.op[0] == ">") != (target.direction == "higher"):
        found.append("operator and direction disagree")
    if bar.kind == "range" and bar.low is not None and bar.high is not None and not bar.low < bar.high:
        found.append("a range needs two ends in order")
    if bar.tolerance is not None and not bar.tolerance > 0:
        found.append("a tolerance must be positive")
    numbers = (target.number, bar.reference, bar.tolerance, bar.low, bar.high, target.baseline)
    if any(n is not None and not math.isfinite(n) for n in numbers):
        found.append("a number is not finite")
    if not quote_holds(target):
        found.append("the quote does not hold the value")
    return found


def quote_holds(target: Target) -> bool:
    """Whether the anchor's quote prints the target's value."""
    squeezed = "".join(target.anchor.quote.split())
    return "".join(target.value.split()) in squeezed


def at_anchor(target: Target, paper: Paper) -> bool:
    """Whether the paper still prints the value where the target says."""
    anchor = target.anchor
    if anchor.source_sha256 != paper.source_sha256:
        return False
    if anchor.table is None:
        return paper.find(anchor.quote) is not None
    for table in paper.tables:
        if (
            (table.number, table.anchor.file) != (anchor.table, anchor.file)
            or anchor.row is None
            or anchor.column is None
        ):
            continue
        if anchor.row < len(table.grid) and anchor.column < len(table.grid[anchor.row]):
            cell = table.grid[anchor.row][anchor.column]
            if cell is not None and cell.value is not None and math.isclose(cell.value, target.number, rel_tol=1e-9):
                return True
    return False
