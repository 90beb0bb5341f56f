"""A few inputs of every fuzz target, the same ones in every run; `python -m tests.fuzz` goes on for as long as told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.__main__ import TARGETS
from tests.fuzz.running import Tally, Target, bounded, run


@pytest.mark.parametrize(
    "target", [pytest.param(t, marks=() if t.few else pytest.mark.slow, id=t.name) for t in TARGETS]
)
def test_a_few_inputs_of_every_target_break_nothing(target: Target) -> None:
    bounded(target.few or 12, derandomize=True)(given(target.inputs)(target.check))()


def test_a_failure_is_counted_once_with_its_example_and_the_command_that_makes_it_again() -> None:
    def check(value: int) -> None:
        assert value < 5

    target, tally = Target("small", st.integers(0, 99), check, round=50, few=1), Tally()
    run(target, 7, tally)
    run(target, 7, tally)
    (told,) = tally.failures.values()
    assert "value=5" in told
    assert "uv run python -m tests.fuzz 1 --only small --seed 7" in told
    assert tally.inputs > 2
