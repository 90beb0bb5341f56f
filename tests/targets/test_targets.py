"""A target is a number that code can grade, found again where the paper prints it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import TargetWord
from pipeline.classification import pin
from pipeline.paper import Paper, read
from pipeline.scoring import bar_of, holds
from pipeline.targets import NEAR_ZERO, Target, at_anchor, make_bar, problems

TABLE = rb"""\documentclass{article}\title{Foxtrot}\begin{document}
\section{Results} Foxtrot wins with 96.4\% accuracy on CIFAR-10.
\begin{table}\caption{Accuracy (\%).}\begin{tabular}{lcc}
Method & Acc. & Err. \\ \hline
Base & 95.1 & 4.9 \\
Foxtrot (ours) & \textbf{96.4} $\pm$ 0.2 & 3.6 \\
\end{tabular}\end{table}\end{document}"""


@pytest.fixture
def paper() -> Paper:
    return read({"main.tex": TABLE})


def word(**changes) -> TargetWord:
    given = {
        "config": "Foxtrot",
        "metric": "accuracy",
        "value": "96.4",
        "unit": "%",
        "direction": "higher",
        "table": "1",
        "row": 2,
        "column": 1,
        "bar_kind": "point_estimate",
        "baseline": 95.1,
    }
    return TargetWord(**given | changes)


def pinned(paper: Paper, **changes) -> Target:
    target, found = pin(word(**changes), paper, 0.05)
    assert target is not None, found
    assert found == []
    return target


def test_the_number_and_its_uncertainty_come_from_the_cell_and_not_from_the_proposal(paper):
    target = pinned(paper)
    assert (target.number, target.uncertainty) == (96.4, 0.2)
    assert (target.bar.tolerance, target.bar.tolerance_source) == (0.2, "authors")
    assert at_anchor(target, paper)


def test_a_proposal_whose_cell_holds_another_number_is_no_target(paper):
    target, found = pin(word(value="99.9"), paper, 0.05)
    assert target is None
    assert found


def test_a_value_in_running_text_is_anchored_by_its_sentence(paper):
    quote = "Foxtrot wins with 96.4% accuracy on CIFAR-10."
    target = pinned(paper, table=None, row=None, column=None, quote=quote, value="96.4%")
    assert at_anchor(target, paper)
    assert pin(word(table=None, quote="Foxtrot wins with 99% everywhere.", value="99%"), paper, 0.05)[0] is None


def test_a_changed_source_is_noticed_at_the_anchor(paper):
    target = pinned(paper)
    assert not at_anchor(target, read({"main.tex": TABLE.replace(b"96.4} $", b"96.5} $")}))
    # The hash of the source alone would do; the cell is looked at too.
    moved = target.model_copy(update={"anchor": target.anchor.model_copy(update={"column": 2})})
    assert not at_anchor(moved, paper)


def grade(target: Target, measured: float) -> bool:
    """What the scorer says, which reads the target as a release's table holds it."""
    bar, reason = bar_of(target.model_dump(mode="json"))
    assert bar is not None, reason
    return holds(bar, measured)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("point_estimate", [96.4, 96.55, 96.2], [96.7, 96.0]),
        ("direction", [95.2, 99.0], [95.1, 90.0]),
        ("threshold", [96.4, 97.0], [96.3]),
        ("magnitude", [96.5], [90.0]),
    ],
)
def test_each_bar_kind_grades_as_the_guide_says(paper, kind, good, bad):
    target = pinned(paper, bar_kind=kind)
    assert all(grade(target, x) for x in good)
    assert not any(grade(target, x) for x in bad)


def test_lower_is_better_turns_direction_and_threshold_round(paper):
    target = pinned(paper, column=2, value="3.6", direction="lower", baseline=4.9, bar_kind="direction")
    assert grade(target, 4.8)
    assert not grade(target, 4.9)
    least = pinned(paper, column=2, value="3.6", direction="lower", bar_kind="threshold")
    assert grade(least, 3.6)
    assert not grade(least, 3.7)


def test_a_range_needs_two_ends_in_order_and_holds_them_both(paper):
    target = pinned(paper, bar_kind="range", low=96.0, high=97.0)
    assert grade(target, 96.0)
    assert grade(target, 97.0)
    assert not grade(target, 97.01)
    assert pin(word(bar_kind="range", low=97.0, high=96.0), paper, 0.05)[0] is None


def test_a_bar_without_what_it_needs_is_no_target(paper):
    assert pin(word(bar_kind="direction", baseline=None), paper, 0.05)[0] is None
    assert pin(word(bar_kind="threshold", direction=None), paper, 0.05)[0] is None


def test_prose_in_the_place_of_a_value_is_a_problem(paper):
    target = pinned(paper).model_copy(update={"value": "about as good as the baseline"})
    assert any("is not the number" in p for p in problems(target))


@given(st.floats(-1e6, 1e6), st.sampled_from([1.0, 100.0]), st.floats(0.001, 0.5))
def test_a_default_tolerance_is_positive_and_never_jumps_near_zero(number, scale, relative):
    def bar(x: float):
        return make_bar(
            "point_estimate", number=x, direction=None, uncertainty=None, baseline=None, relative=relative, scale=scale
        )

    assert bar(number).tolerance > 0
    edge = NEAR_ZERO * scale
    assert math.isclose(bar(edge * 0.999).tolerance, bar(edge).tolerance, rel_tol=1e-2)


@given(st.floats(-1e6, 1e6, allow_subnormal=False))
def test_the_printed_value_always_passes_its_own_point_estimate(number):
    bar = make_bar("point_estimate", number=number, direction=None, uncertainty=None, baseline=None, relative=0.05)
    assert abs(number - bar.reference) <= bar.tolerance
