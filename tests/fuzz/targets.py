"""Match targets: as published strings, as machine-readable bars, as what people measure."""

from __future__ import annotations

import math
from typing import Any, get_args

from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline import scoring, targets
from pipeline.events import value_problem
from pipeline.release import verify_alone
from pipeline.row import BarKind
from tests.fuzz.mutating import edited, edits, odd
from tests.fuzz.running import Target

KINDS: tuple[BarKind, ...] = get_args(BarKind)
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 0.01, 0.049, 0.05, 1.0, 4.9, 5.0, 80.5, -3.0, 1e-320, 1e300, 12345.0]),
)
_WORDS = r"""
80.5 0.01 1,234 1e-3 −3 .5 1e400 E5 % ± +/- \pm ( ) ~ ≈ about approx. > >= ≤ < = - – to vs. versus against x × ms s GB
higher lower better ↑ ↓ accuracy (%) 0 00 , . e ٣ ² + than the baseline 5-6 2025-01-01
"""
WORDS = _WORDS.split()
said = st.lists(st.one_of(st.sampled_from(WORDS), st.just(" "), st.text(max_size=3)), max_size=8).map("".join)
spaced = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
published = st.fixed_dictionaries(
    {
        "value": st.one_of(said, spaced, odd),
        "metric": st.one_of(said, st.sampled_from(["accuracy (%)", "error, lower is better", "PSNR ↑"])),
        "match_bar_kind": st.one_of(st.sampled_from([*KINDS, "point estimate", "none", "Range"]), odd),
    }
)


def a_published_target(row: dict[str, Any]) -> None:
    """Strings give a bar that can be counted with, or a reason; the bar printed again gives the same bar."""
    bar, reason = scoring.published_bar(row)
    assert (bar is None) == bool(reason), (bar, reason)
    if bar is None:
        return
    sane(bar)
    printed = spelled(bar)
    again, why = scoring.published_bar({**row, "metric": row["metric"], "value": printed})
    assert again is not None, (printed, why)
    same = (again.kind, again.op, again.reference, again.low, again.high, again.unit)
    assert same == (bar.kind, bar.op, bar.reference, bar.low, bar.high, bar.unit), (printed, bar, again)
    if bar.tolerance is not None:
        assert again.tolerance is not None
        assert math.isclose(again.tolerance, bar.tolerance), (printed, bar, again)
    judged(bar)


def spelled(bar: scoring.Bar) -> str:
    """A bar as a published value would say it."""
    unit = bar.unit if bar.unit in ("%", "x", "×") else f" {bar.unit}" if bar.unit else ""
    if bar.op == "between":
        return f"{bar.low!r}{unit} to {bar.high!r}{unit}"
    if bar.op == "within":
        spread = f" ± {bar.tolerance!r}" if bar.tolerance_source == "authors" else ""
        return f"{bar.reference!r}{spread}{unit}"
    if bar.kind == "direction":
        assert bar.reference is not None
        toward = math.inf if bar.op == ">" else -math.inf
        return f"{math.nextafter(bar.reference, toward)!r}{unit} vs. {bar.reference!r}"
    return f"{bar.op} {bar.reference!r}{unit}"


def sane(bar: scoring.Bar) -> None:
    known = (bar.reference, bar.tolerance, bar.low, bar.high)
    assert all(n is None or math.isfinite(n) for n in known), bar
    assert bar.tolerance is None or bar.tolerance >= 0, bar
    assert bar.op != "between" or (bar.low is not None and bar.high is not None and bar.low < bar.high), bar


def judged(bar: scoring.Bar) -> None:
    """Inside is inside, whoever asks: the bar's own limits, and values far away."""
    target = scoring.Target("2601.00001", "eval", "Easy", "0-8", "m", bar)
    ends = [n for n in (bar.reference, bar.low, bar.high) if n is not None]
    for x in (*ends, *(n + 1 for n in ends), *(-n for n in ends), 0.0):
        if not math.isfinite(x):
            continue
        verdict = scoring.score(target, [x])
        assert (verdict.answer == scoring.WITHIN) is scoring.holds(bar, x), (bar, x)
        assert scoring.score(target, [repr(x)]).answer == verdict.answer, (bar, x)
    if bar.op not in (">", "<"):
        assert all(scoring.holds(bar, n) for n in ends), bar


measured_ = st.fixed_dictionaries(
    {
        "row": published,
        "values": st.lists(st.one_of(said, spaced, odd, numbers, numbers.map(lambda n: f"{n!r} %")), max_size=4),
    }
)


def a_measured_value(given: dict[str, Any]) -> None:
    """Any value is held against any bar, or refused in a sentence that says what to mend."""
    bar, reason = scoring.published_bar(given["row"])
    target = scoring.Target("2601.00001", "eval", "Easy", "0-8", "m", bar, reason)
    try:
        verdict = scoring.score(target, given["values"])
    except scoring.ScoreError as error:
        said = str(error)
        assert said.startswith("paper 2601.00001: "), said
        return
    assert (verdict.answer == scoring.UNGRADEABLE) == (bar is None)
    assert verdict.arithmetic
    if bar is not None:
        assert verdict.measured is not None
        assert math.isfinite(verdict.measured)
        assert (verdict.answer == scoring.WITHIN) is scoring.holds(bar, verdict.measured)


made = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "number": numbers,
        "direction": st.sampled_from(["higher", "lower", None]),
        "uncertainty": st.one_of(st.none(), numbers.map(abs)),
        "baseline": st.one_of(st.none(), numbers),
        "low": st.one_of(st.none(), numbers),
        "high": st.one_of(st.none(), numbers),
        "unit": st.sampled_from(["", "%", "ms"]),
        "edits": st.one_of(st.just([]), edits),
    }
)


def a_bar(given: dict[str, Any]) -> None:
    """A bar by rule can be graded, by both writings, and survives JSON; a spoilt target is refused or gradeable."""
    kind, number, unit = given["kind"], given["number"], given["unit"]
    rest = {k: given[k] for k in ("direction", "uncertainty", "baseline")}
    bar = targets.make_bar(
        kind, number=number, relative=0.05, low=given["low"], high=given["high"],
        scale=targets.scale_of(repr(number), unit, "m"), **rest,
    )  # fmt: skip
    if bar is None:
        return
    anchor = {"file": "m.tex", "line": 1, "quote": repr(number), "source_sha256": "0" * 64}
    stored = {"config": "c", "metric": "m", "unit": unit, "value": repr(number), "number": number, **rest}
    stored |= {"bar": bar.model_dump(mode="json"), "anchor": anchor}
    target = targets.Target.model_validate(stored)
    assert targets.Target.model_validate_json(target.model_dump_json()) == target
    wrong = targets.problems(target)
    assert value_problem("target", stored) == (wrong[0] if wrong else None)
    due = verify_alone.bar_by_rule(stored, 0.05)
    assert due == stored["bar"], (due, stored["bar"])
    graded, reason = scoring.bar_of(stored)
    if not wrong:
        assert graded is not None, reason
        sane(graded)
        judged(graded)
    spoilt = edited(stored, given["edits"])
    try:
        other = targets.Target.model_validate(spoilt)
    except (ValidationError, RecursionError):
        return
    if not targets.problems(other):
        graded, reason = scoring.bar_of(other.model_dump(mode="json"))
        assert graded is not None, (other, reason)
        judged(graded)


TARGETS = (
    Target("published", published, a_published_target, round=400, few=25),
    Target("measured", measured_, a_measured_value, round=300, few=20),
    Target("bars", made, a_bar, round=200, few=20),
)
