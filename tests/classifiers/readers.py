"""A language model for tests: the fake server's address, a toy paper, and an answer that may stand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from classifiers.agent import run_episode
from classifiers.budget import Budget
from classifiers.models import Classifier, Way, model_for
from classifiers.toolbox import Limits
from classifiers.turns import MemoryTurns
from pipeline.answers import Episode
from pipeline.editions import LanguageModel
from pipeline.sources.clocks import SimulatedClock
from tests.classifiers.fake_openai import FakeOpenAI, Say, tools, turns
from tests.classifiers.toys import FakeProbes, classify, method_paper, paper_input, places

SOURCE = method_paper(links="Our code will be released upon acceptance.")
PRICED = "MiniMax-M2.7"
"""A model that the shipped table has a price for, and that anybody may serve."""


def rest_slow(*cases: Any) -> list[Any]:
    """Cases of which the first runs by default and the rest in the slow lane."""
    slow = [pytest.param(*(c if isinstance(c, tuple) else (c,)), marks=pytest.mark.slow) for c in cases[1:]]
    return [cases[0], *slow]


@cache
def good() -> dict[str, Any]:
    """An answer about SOURCE that has no defect and cites nothing."""
    episode = classify(SOURCE, FakeProbes(places()))
    assert episode.answer is not None
    answer = episode.answer.model_dump(mode="json")
    for word in answer["signals"].values():
        word["receipts"] = []
    return answer


def answering(told: dict[str, Any]) -> Say:
    return Say(calls=[("answer", good())])


def searching(times: int) -> Any:
    """A script that searches so often and then answers, or answers as soon as it may do nothing else."""

    def script(told: dict[str, Any]) -> Say:
        made = turns(told)
        if made < times and "github_search_repositories" in tools(told):
            return Say(calls=[("github_search_repositories", {"query": f"gizmo {made}"})])
        return answering(told)

    return script


@dataclass
class Reader:
    """One way to the fake server; turns and clock outlive its episodes."""

    fake: FakeOpenAI
    turns: MemoryTurns = field(default_factory=MemoryTurns)
    clock: SimulatedClock = field(default_factory=lambda: SimulatedClock(datetime(2026, 1, 1, tzinfo=UTC)))
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        good()  # made here, since scripts run inside the server's event loop

    def classifier(
        self,
        *,
        model: str = PRICED,
        budget: Budget | None = None,
        accepted: frozenset[str] = frozenset(),
        ask: bool = True,
        url: str = "",
        **told: Any,
    ) -> Classifier:
        way = Way(
            budget=budget or Budget(),
            accepted=accepted,
            turns=lambda paper: self.turns,
            clock=self.clock,
            environ=self.environ,
            ask=ask,
        )
        return model_for(f"openai:{model}@{url or self.fake.url}", LanguageModel(**told), way)

    def read(self, classifier: Classifier | None = None, limits: Limits | None = None, source: str = SOURCE) -> Episode:
        """One episode, checked first as a run checks."""
        reader = classifier or self.classifier()

        async def one() -> Episode:
            reader.check()
            return await run_episode(paper_input(source), FakeProbes(places()), reader, limits or Limits())

        return asyncio.run(one())
