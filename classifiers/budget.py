"""What may be spent on one paper and on one run, what was, and the named ends of a run that may spend no more.

A turn is paid for only after its worst price was set aside, so turns in flight together keep to a cap as one does
alone. A paper's account counts a turn whether it was paid now or is remembered: the same turns end it the same way.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Literal

from classifiers.prices import MICRO, Price
from pipeline.editions import EditionError

Stop = Literal[
    "no_price",
    "no_usage",
    "no_budget",
    "run_requests",
    "run_tool_calls",
    "run_tokens",
    "run_seconds",
    "run_money",
    "endpoint_down",
    "endpoint_refused",
]
"""Why a run pays for no further turn."""
LimitName = Literal["tool_limit", "request_limit", "token_limit", "time_limit", "money_limit"]
ACCEPTABLE = frozenset({"unpriced", "unmeasured"})


class BudgetError(EditionError):
    """A budget that cannot be read: the message says what to write."""


class Stopped(Exception):
    """The run ends here and goes on from here when the cause is mended; no paper is to blame."""

    def __init__(self, reason: Stop, message: str) -> None:
        super().__init__(message)
        self.reason: Stop = reason


class PaperLimit(Exception):
    """This paper may have no further turn."""

    def __init__(self, limit: LimitName, message: str) -> None:
        super().__init__(message)
        self.limit: LimitName = limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Upper bounds; None is no bound. `usd` are dollars, `seconds` wall-clock."""

    requests: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    usd: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """`usd=20,tokens=5000000,requests=900,tool_calls=4000,seconds=7200`, in any selection. Raises BudgetError."""
        known = {f.name: float if f.name in ("seconds", "usd") else int for f in fields(cls)}
        found: dict[str, float] = {}
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, equals, value = part.partition("=")
            try:
                if name not in known or not equals:
                    raise ValueError
                found[name] = known[name](value)
                if not 0 <= found[name] < float("inf"):
                    raise ValueError
            except ValueError:
                hint = "usd=20,tokens=5000000,requests=900,tool_calls=4000,seconds=7200"
                raise BudgetError(f"budget: {part!r} is no limit; write any of {hint}") from None
        return cls(**found)  # type: ignore[arg-type]

    @property
    def micro_usd(self) -> int | None:
        return None if self.usd is None else int(self.usd * MICRO)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """`input_tokens` include `cached_tokens`. `unmeasured` counts turns whose backend told no usage."""

    requests: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    micro_usd: int = 0
    unmeasured: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spent) -> Spent:
        return Spent(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(Spent)})

    def __sub__(self, other: Spent) -> Spent:
        return Spent(**{f.name: getattr(self, f.name) - getattr(other, f.name) for f in fields(Spent)})


def worst(input_tokens: int, output_tokens: int, price: Price | None) -> Spent:
    """What a turn costs at most: nothing read from a cache, the whole answer used."""
    cost = 0 if price is None else price.micro_usd(input_tokens, output_tokens)
    if price is not None:
        cost = max(cost, int(input_tokens * price.dearest_input + output_tokens * price.output) + 1)
    return Spent(requests=1, input_tokens=input_tokens, output_tokens=output_tokens, micro_usd=cost)


@dataclass
class Purse:
    """One run's money and time, shared by its papers and readers; used from the event loop's thread alone.

    `spent` begins with the turns that the record holds for the edition: starting again does not fill the purse with
    requests, tokens or money. Tool calls, attempts that failed, and seconds (since `began`) are the run's own. Once
    `stopped`, nobody pays for anything.
    """

    budget: Budget = field(default_factory=Budget)
    accepted: frozenset[str] = frozenset()
    spent: Spent = field(default_factory=Spent)
    reserved: Spent = field(default_factory=Spent)
    stopped: Stopped | None = None
    began: datetime | None = None
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def stop(self, reason: Stop, message: str) -> Stopped:
        """The first reason stands; every paper in flight ends with it at its next turn."""
        if self.stopped is None:
            self.stopped = Stopped(reason, message)
        return self.stopped

    def seconds(self, now: datetime) -> float:
        """Since the run's first turn."""
        self.began = self.began or now
        return (now - self.began).total_seconds()

    def open(self, model: str, price: Price | None) -> None:
        """Refuse a run that cannot be paid for, before a model's first request. Raises Stopped."""
        empty = [f.name for f in fields(Budget) if getattr(self.budget, f.name) == 0]
        if empty:
            raise self.stop("no_budget", f"the run's budget is {empty[0]}=0; nothing was asked of {model}")
        if price is None and "unpriced" not in self.accepted:
            raise self.stop(
                "no_price",
                f"no price is known for {model}; nothing was asked of it. Add the price to a file that "
                "RECLAIM_PRICES names (form: data/reference/prices.toml), or accept it: --accept unpriced",
            )
        if price is None and self.budget.usd is not None:
            raise self.stop(
                "no_price",
                f"the run's budget is in dollars and no price is known for {model}; nothing was asked of it. Add "
                "the price (RECLAIM_PRICES), or give the budget in tokens",
            )

    async def reserve(self, ahead: Spent, seconds: float) -> None:
        """Set a turn's worst cost aside; waits while only what others have set aside, and may not use up, stands in the
        way. Raises Stopped where the run cannot bear the turn.
        """
        while True:
            if self.stopped is not None:
                raise self.stopped
            if over := self._over(self.spent + ahead, seconds):
                reason, bound, value, unit = over
                raise self.stop(
                    reason, f"the run's budget of {bound:g} {unit} does not bear another turn ({value:g} with it)"
                )
            if self._over(self.spent + self.reserved + ahead, seconds) is None:
                self.reserved += ahead
                return
            settled = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled

    def settle(self, ahead: Spent, actual: Spent) -> None:
        self.reserved -= ahead
        self.spent += actual
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    def _over(self, would: Spent, seconds: float) -> tuple[Stop, float, float, str] | None:
        bounds: list[tuple[Stop, float | None, float, str]] = [
            ("run_requests", self.budget.requests, would.requests, "requests"),
            ("run_tool_calls", self.budget.tool_calls, would.tool_calls + 1, "tool calls"),
            ("run_tokens", self.budget.tokens, would.tokens, "tokens"),
            ("run_seconds", self.budget.seconds, seconds, "seconds"),
            ("run_money", self.budget.micro_usd, would.micro_usd, "micro-dollars"),
        ]
        found = ((r, bound, value, unit) for r, bound, value, unit in bounds if bound is not None and value > bound)
        return next(found, None)

    def measured(self, model: str, spent: Spent) -> None:
        """Raises Stopped where a backend told no usage and the run did not accept that."""
        if spent.unmeasured and "unmeasured" not in self.accepted:
            raise self.stop(
                "no_usage",
                f"{model} tells no token usage, so no budget would hold; stopped after its first turn. Turn usage "
                "on in the backend, or accept it: --accept unmeasured",
            )


def accepted(text: str) -> frozenset[str]:
    """`unpriced,unmeasured`, in any selection. Raises BudgetError."""
    found = frozenset(filter(None, (part.strip() for part in text.split(","))))
    if unknown := sorted(found - ACCEPTABLE):
        raise BudgetError(f"accept: {unknown[0]!r} is not one of {', '.join(sorted(ACCEPTABLE))}")
    return found


def from_environment(environ: Mapping[str, str] = os.environ) -> tuple[Budget, frozenset[str]]:
    """RECLAIM_BUDGET and RECLAIM_ACCEPT. Raises BudgetError."""
    return Budget.parse(environ.get("RECLAIM_BUDGET", "")), accepted(environ.get("RECLAIM_ACCEPT", ""))


@dataclass
class Account:
    """One paper's account: its bounds, and what its turns took."""

    budget: Budget
    spent: Spent = field(default_factory=Spent)

    def short(self, ahead: Spent, *, late: bool = False, times: int = 1) -> LimitName | None:
        """The bound that `times` further turns like `ahead` would break, or None. `late`: the clock allows them not."""
        tokens = self.spent.tokens + times * ahead.tokens
        money = self.spent.micro_usd + times * ahead.micro_usd
        if self.budget.tokens is not None and tokens > self.budget.tokens:
            return "token_limit"
        if self.budget.micro_usd is not None and money > self.budget.micro_usd:
            return "money_limit"
        return "time_limit" if late else None

    def add(self, turn: Spent) -> None:
        self.spent += turn


LAST_CALL = 0.8
"""Share of a paper's seconds after which only the answer is left to give."""
