"""An answer, and what it says of itself: settled, gone, in trouble, whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.evidence import Exchange

# Headers that are part of what was answered, against those that change from one sighting to the next.
IDENTITY_HEADERS = frozenset(
    {"content-type", "content-range", "accept-ranges", "link", "location"}
    | {"content-disposition", "cf-mitigated"}
    | {"x-error-code", "x-error-message", "x-repo-commit", "x-linked-size", "x-linked-etag"}
)
SIGHTING_HEADERS = frozenset(
    {"etag", "last-modified", "content-length", "server", "www-authenticate", "retry-after", "ratelimit"}
    | {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-ratelimit-resource", "ratelimit-policy"}
)
RATE_LIMITED = "reclaim-rate-limited"
"""A header of ours: the answer says "not now". What it was read from (counters, waits) is volatile, not kept here."""
TRUNCATED = "reclaim-truncated"
"""A header of ours: the body was longer than the bytes kept."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An exchange with its body (possibly cut, see `TRUNCATED`) and the volatile headers of one sighting."""

    exchange: Exchange
    body: bytes
    volatile: Mapping[str, str]

    @property
    def status(self) -> int | None:
        return self.exchange.status

    @property
    def headers(self) -> dict[str, str]:
        return {**self.volatile, **dict(self.exchange.headers)}


def is_gone(exchange: Exchange) -> bool:
    """Gone answers, and the Hub's 401 for a repository that is missing or private: a stranger cannot tell which."""
    return exchange.gone or (exchange.status == 401 and dict(exchange.headers).get("x-error-code") == "RepoNotFound")


def answers(exchange: Exchange) -> bool:
    """Whether the exchange says something that asking again would not change by itself; a gone answer says it only
    twice."""
    if exchange.status is None:
        return exchange.fault == "blocked"
    headers = dict(exchange.headers)
    if RATE_LIMITED in headers or "cf-mitigated" in headers or exchange.status in (408, 425):
        return False
    return exchange.status < 500 and not is_gone(exchange)


def trouble(exchange: Exchange) -> str:
    """Why an exchange says nothing about the thing asked for, in a word."""
    headers = dict(exchange.headers)
    if RATE_LIMITED in headers:
        return "rate limited"
    if "cf-mitigated" in headers:
        return "challenge"
    return exchange.fault or f"status {exchange.status}"


def fits(exchange: Exchange, limit: int) -> bool:
    """Whether an answer is what a request that keeps `limit` bytes gets: whole within them, or cut exactly there.

    So one request asked with two limits has two answers in the record, and each is given to its own question.
    """
    if TRUNCATED in dict(exchange.headers):
        return exchange.body_size == limit
    return exchange.body_size <= limit
