"""One target under Hypothesis: so many inputs of one seed, what failed, how it is made again."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

SLOW = 20.0
"""Seconds of processor time from which an input counts as a failure: somebody can stall us with it."""


@dataclass(frozen=True)
class Target:
    """Something that takes what strangers send. `check` raises where an input breaks what it promises.

    `round` inputs are drawn from one seed, so a round takes a few seconds; `few` is the default tests' share, where it
    is 0 the target is among the slow tests.
    """

    name: str
    inputs: SearchStrategy[Any]
    check: Callable[[Any], None]
    round: int
    few: int


@dataclass
class Tally:
    """What came of a target's inputs. `failures`: text by kind (exception and the line that raised it)."""

    inputs: int = 0
    slowest: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)


def run(target: Target, number: int, tally: Tally) -> None:
    """One round from seed `number`, added to the tally."""
    stalled: list[tuple[float, str]] = []

    def looked(value: Any) -> None:
        began = time.process_time()
        tally.inputs += 1
        try:
            target.check(value)
        finally:
            took = time.process_time() - began
            tally.slowest = max(tally.slowest, took)
            if took > SLOW:
                stalled.append((took, repr(value)[:2000]))

    again = f"uv run python -m tests.fuzz 1 --only {target.name} --seed {number}"
    try:
        seed(number)(bounded(target.round)(given(target.inputs)(looked)))()
    except Exception as error:
        for one in parts(error):
            told = "".join(traceback.format_exception(one))
            tally.failures.setdefault(kind_of(one), f"made again by: {again}\n{told}")
    for took, shown in stalled:
        tally.failures.setdefault("slow", f"made again by: {again}\n{took:.1f} s of processor time for {shown}")


def bounded(examples: int, *, derandomize: bool = False) -> settings:
    return settings(
        max_examples=examples,
        derandomize=derandomize,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )


def parts(error: BaseException) -> list[BaseException]:
    """Hypothesis raises several faults of one run as a group."""
    return [p for one in error.exceptions for p in parts(one)] if isinstance(error, BaseExceptionGroup) else [error]


def kind_of(error: BaseException) -> str:
    """The same fault found twice has the same kind: the exception and the last line of ours that it came through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if re.search(r"/(pipeline|tests)/", f.filename)]
    place = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}"
