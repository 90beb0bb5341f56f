"""Many episodes in a bounded pool."""

from __future__ import annotations

import asyncio

import pytest

from classifiers import guide, pool
from classifiers.models import model_for


def test_results_come_as_they_end_and_never_more_than_the_bound_are_in_flight() -> None:
    running = peak = 0

    async def worker(number: int) -> int:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        for _ in range(10 - number):
            await asyncio.sleep(0)
        running -= 1
        return number

    async def collect() -> list[int]:
        return [number async for number in pool.run(range(9), worker, 3)]

    found = asyncio.run(collect())
    assert sorted(found) == list(range(9))
    assert peak == 3


def test_papers_are_drawn_only_when_a_place_is_free() -> None:
    drawn: list[int] = []

    def papers() -> object:
        for number in range(100):
            drawn.append(number)
            yield number

    async def worker(number: int) -> int:
        return number

    async def first() -> int:
        results = pool.run(papers(), worker, 2)  # type: ignore[arg-type]
        try:
            return await anext(results)
        finally:
            await results.aclose()  # type: ignore[attr-defined]

    asyncio.run(first())
    assert len(drawn) <= 4


def test_no_place_at_all_is_an_error() -> None:
    async def worker(number: int) -> int:
        return number

    async def collect() -> list[int]:
        return [n async for n in pool.run([1], worker, 0)]

    with pytest.raises(ValueError, match="at least 1"):
        asyncio.run(collect())


def test_the_classifiers_name_carries_policy_and_guide() -> None:
    text = guide.load()
    assert text.version == 1
    assert model_for("embedded").id.endswith(f"guide-1-{text.sha256[:12]}")
    assert model_for("embedded").id.startswith("embedded-")


def test_the_guide_answers_every_question_that_an_answer_has() -> None:
    text = guide.load().text.lower()
    words = ("central claim", "candidates", "cheapest", "hours", "bar", "code", "weights", "data", "standard", "needs")
    missing = [w for w in words if w not in text]
    assert not missing
    reasons = ("other claim", "dearer", "ablation", "not numeric", "baseline only", "appendix repeat")
    assert all(f"| {reason} |" in text for reason in reasons)
