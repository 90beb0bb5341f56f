"""Who reads the papers: a classifier by name, with the identity that its episodes carry."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.models import Model

from classifiers import prices, prompts
from classifiers.budget import Budget, Purse, Spent, from_environment
from classifiers.embedded import embedded_model
from classifiers.endpoints import Address, Endpoint, NoSuchModel
from classifiers.toolbox import Briefing, Limits
from classifiers.turns import MemoryTurns, Turns
from pipeline.editions import Classifier as Settings
from pipeline.editions import LanguageModel, searching
from pipeline.sources.clocks import Clock, SystemClock

__all__ = ["Classifier", "NoSuchModel", "Way", "limits_of", "model_for"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Classifier:
    """`id` names model, prompt or policy, and guide. Rules have `model`, which makes the conversation's other side for
    one paper; a language model has `endpoint`, and may have an engine's URL for `web_search`. `late` tells a replay
    when the clock ended a paper (`MeteredModel`).
    """

    id: str
    model: Callable[[Briefing], Model] | None = None
    endpoint: Endpoint | None = None
    style: str = "ours"
    web_search: str | None = None
    turns: Callable[[str], Turns] = field(default=lambda paper: MemoryTurns())
    late: Callable[[str], Mapping[str, int] | None] = field(default=lambda paper: None)

    def check(self) -> None:
        """Refuse a run that cannot be paid for or asked, before its first request. Raises Stopped or NoSuchModel."""
        if self.endpoint is not None and self.endpoint.ask:
            self.endpoint.open()


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a run reaches its model: what it may spend, and did so far; where its turns lie, by paper; the clock that
    waits. `ask` False replays from `turns` alone. `purse` is given where several readers share one.
    """

    budget: Budget = field(default_factory=Budget)
    accepted: frozenset[str] = frozenset()
    spent: Spent = field(default_factory=Spent)
    turns: Callable[[str], Turns] | None = None
    clock: Clock = field(default_factory=SystemClock)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    ask: bool = True
    purse: Purse | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ, **given: object) -> Way:
        """The way that the environment tells (RECLAIM_BUDGET, RECLAIM_ACCEPT). Raises BudgetError."""
        budget, accepted = from_environment(environ)
        return cls(budget=budget, accepted=accepted, environ=environ, **given)  # type: ignore[arg-type]


def limits_of(told: Settings) -> Limits:
    """What an edition lets one paper take."""
    asked = told.llm or LanguageModel()
    return Limits(
        rounds=told.max_tool_rounds,
        tool_calls=told.max_tool_calls,
        result_chars=told.max_result_chars,
        prompt_tokens=asked.max_prompt_tokens,
        budget=Budget(tokens=asked.max_tokens, seconds=asked.max_seconds, usd=asked.max_usd),
    )


def model_for(name: str, told: LanguageModel | None = None, way: Way | None = None) -> Classifier:
    """The classifier of that name: `embedded`, or `provider:model[@base_url]`; `told` is by default what the
    environment tells. Raises NoSuchModel where it does not exist or needs what is not there, PriceError, BudgetError or
    EditionError for a table, a budget or a search engine that cannot be read.
    """
    if name == "embedded":
        return Classifier(id=prompts.identity(name), model=embedded_model)
    address, way = Address.parse(name), way or Way.of()
    told = told or searching(None, way.environ) or LanguageModel()
    own = way.environ.get("RECLAIM_PRICES")
    price = prices.load(Path(own) if own else None).of(address.provider, address.model)
    purse = way.purse or Purse(budget=way.budget, accepted=way.accepted, spent=way.spent)
    # Without a place for turns, papers of one run still share what was asked.
    shared = MemoryTurns()
    return Classifier(
        id=prompts.identity(address.name, told),
        endpoint=Endpoint(address, told, price, purse, way.clock, way.environ, way.ask),
        style=told.prompt,
        web_search=told.web_search,
        turns=way.turns or (lambda paper: shared),
    )
