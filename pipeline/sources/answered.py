"""An answer, and what it says of itself: settled, gone, in trouble, whole; and what of it may be kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pipeline.evidence import Exchange
from pipeline.record import Sighting
from pipeline.sources.pacing import rate_limited
from pipeline.sources.wire import Asked, Raw, carries_login, redacted, unsigned

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


def described(asked: Asked, raw: Raw, secrets: Sequence[str]) -> tuple[Exchange, bytes, dict[str, str]]:
    """An answer as an exchange, its body, and the headers of this sighting alone.

    Nothing in them is a credential, but for the body that answers a login: it has no hash, and is not kept.
    """
    headers = {name: unsigned(redacted(value, secrets)) for name, value in raw.headers.items()}
    kept = [(name, value) for name, value in headers.items() if name in IDENTITY_HEADERS]
    if asked.method == "HEAD" and "content-length" in headers:
        kept.append(("content-length", headers["content-length"]))
    if rate_limited(raw.status, raw.headers, raw.body, raw.final_url):
        kept.append((RATE_LIMITED, "true"))
    if raw.truncated:
        kept.append((TRUNCATED, "true"))
    private, body = carries_login(asked), raw.body
    if not private:
        for secret in secrets:
            body = body.replace(secret.encode(), b"***")
    exchange = Exchange(
        method=asked.method,
        url=asked.shown_url,
        request_sha256=asked.sha256,
        status=raw.status,
        fault=raw.fault,
        headers=tuple(sorted(kept)),
        body_sha256=hashlib.sha256(body).hexdigest() if raw.status is not None and body and not private else None,
        body_size=0 if private else len(body),
        redirects=tuple((status, unsigned(redacted(url, secrets), whole=False)) for status, url in raw.redirects),
        final_url=unsigned(redacted(raw.final_url, secrets)) if raw.redirects else asked.shown_url,
        authenticated=asked.authenticated,
    )
    return exchange, body, {name: value for name, value in headers.items() if name in SIGHTING_HEADERS}


def gone_by_status(seen: Sighting) -> bool | None:
    """Whether a sighting says "gone" by itself; None where it says nothing of the thing."""
    return True if is_gone(seen.exchange) else False if answers(seen.exchange) else None


def gone_apart(seen: Sequence[Sighting], says: Callable[[Sighting], bool | None], span: timedelta) -> bool:
    """Whether the last sightings that say anything all say "gone", over `span` or more."""
    last: Sighting | None = None
    first: Sighting | None = None
    for sighting in reversed(seen):
        said = says(sighting)
        if said is False:
            break
        if said:
            last, first = last or sighting, sighting
    return last is not None and first is not None and last.seen_at - first.seen_at >= span
