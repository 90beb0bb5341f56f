"""What a model's turns cost, from a versioned table. Money is counted in millionths of a dollar, as whole numbers,
rounded up: a cap never hides in a rounding.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.editions import EditionError, data

MICRO = 1_000_000


class PriceError(EditionError):
    """A table of prices that cannot be read: the message names file, model and key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """Dollars for a million tokens, which is micro-dollars for one."""

    input: Decimal
    output: Decimal
    cached: Decimal
    cache_write: Decimal

    def micro_usd(self, input_tokens: int, output_tokens: int, cached: int = 0, cache_write: int = 0) -> int:
        """The cost of one turn. `input_tokens` include those read from, and written to, the provider's cache."""
        fresh = max(0, input_tokens - cached - cache_write)
        cost = fresh * self.input + cached * self.cached + cache_write * self.cache_write + output_tokens * self.output
        return int(cost.to_integral_value(ROUND_CEILING))

    @property
    def dearest_input(self) -> Decimal:
        return max(self.input, self.cached, self.cache_write)


@dataclass(frozen=True, slots=True)
class Prices:
    """`version` is the shipped table's; prices by provider and model, later tables before earlier ones."""

    version: int
    known: Mapping[tuple[str, str], Price]

    def of(self, provider: str, model: str) -> Price | None:
        """The price of a model; for an OpenAI-compatible endpoint, whoever's table names the model."""
        named = [price for (_, name), price in self.known.items() if name == model]
        return self.known.get((provider, model)) or (named[0] if len(named) == 1 else None)


@cache
def load(own: Path | None = None) -> Prices:
    """The shipped table, with a user's own over it. Raises PriceError."""
    shipped = data("reference", "prices.toml")
    version, known = _read(shipped)
    if own is not None:
        known |= _read(own)[1]
    return Prices(version, known)


def _read(path: Path) -> tuple[int, dict[tuple[str, str], Price]]:
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PriceError(f"{path}: no table of prices ({error})") from error
    try:
        listed = {
            (str(provider["name"]), str(model["name"])): _price(model)
            for provider in told["provider"]
            for model in provider.get("model", ())
        }
        return int(told["version"]), listed
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise PriceError(
            f"{path}: {type(error).__name__}: {error}; see data/reference/prices.toml for the form"
        ) from error


def _price(told: Mapping[str, Any]) -> Price:
    named = {key: Decimal(told.get(key, told["input"])) for key in ("input", "cached", "cache_write")}
    price = Price(output=Decimal(told["output"]), **named)
    if min(price.input, price.output, price.cached, price.cache_write) < 0:
        raise ValueError(f"{told['name']} has a price below zero")
    return price
