"""The recorder: every exchange with the world goes through it, and it alone waits, retries, follows and remembers.

An answer that is in the record and settled is given from there. In replay mode nothing else is given.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx2
import requests.adapters

from pipeline.evidence import Exchange, NotRecorded
from pipeline.record import Record, Sighting, request_key, request_of
from pipeline.sources.adapters import RecordedAdapter, RecordedTransport
from pipeline.sources.clocks import Clock
from pipeline.sources.connections import PublicTransport
from pipeline.sources.guard import refusal
from pipeline.sources.pacing import Limits, Pace, rate_limited, wait_before, worth_repeating
from pipeline.sources.wire import Asked, Raw, carries_login, redacted, send, unsigned, without_default_port
from pipeline.store import Store

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


_current: ContextVar[list[Exchange] | None] = ContextVar("current_call", default=None)


class Recorder:
    """One run's way to the world. Safe from several threads.

    `transport`: an httpx2 transport that leads elsewhere (the offline world); default the real network,
    public addresses only.
    `epoch`: answers settled within one epoch (an edition's refresh) are not asked again. `again`: ask everything again
    that was last seen before this recorder existed (second looks). `secrets`: texts that must never be stored, besides
    the credentials that requests carry.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        run: str,
        epoch: str,
        transport: httpx2.BaseTransport | None = None,
        mode: Literal["record", "replay"] = "record",
        limits: Limits | None = None,
        second_look_hours: float = 24.0,
        again: bool = False,
        secrets: Sequence[str] = (),
    ) -> None:
        self.record = Record(store.engine)
        self.clock = clock
        self.run = run
        self.epoch = epoch
        self.mode = mode
        self.limits = limits or Limits()
        self.second_look = timedelta(hours=second_look_hours)
        self.started = clock.now()
        self._blobs = store.blobs
        self._again = again
        self._secrets = tuple(sorted((s for s in secrets if s), key=len, reverse=True))
        self._transport = transport or PublicTransport()
        self._pace = Pace(clock, self.limits)
        # Two threads with the same question: one asks, the other reads the record.
        self._stripes = tuple(threading.Lock() for _ in range(256))
        self.client = httpx2.Client(transport=self.transport(), follow_redirects=False, trust_env=False)

    def transport(self, *, follow: bool = True) -> httpx2.BaseTransport:
        """For any httpx2 client. `follow`: answer with what the redirects lead to, the chain kept in the exchange."""
        return RecordedTransport(self, follow=follow)

    def adapter(self, *, follow: bool = True) -> requests.adapters.BaseAdapter:
        """For any requests session (PyGithub, arxiv, openreview-py)."""
        return RecordedAdapter(self, follow=follow)

    @contextmanager
    def call(self) -> Iterator[list[Exchange]]:
        """Collect the exchanges made inside, in order, also where a client library made them."""
        outer, mine = _current.get(), list[Exchange]()
        token = _current.set(mine)
        try:
            yield mine
        finally:
            _current.reset(token)
            if outer is not None:
                outer.extend(mine)

    def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        follow: bool = True,
        limit: int | None = None,
        says_gone: Callable[[Answer], bool | None] | None = None,
    ) -> Answer:
        """One exchange, from the record or from the world. Never raises for what the world does; NotRecorded in replay.

        `limit`: bytes of body kept, default `limits.page_bytes`; an answer that was cut for another limit does not
        stand in for this one. `says_gone`: whether an answer says "not found" in its body, or nothing at all (None);
        such answers are asked again on a later day, as a 404 or a 503 would be.
        """
        asked = Asked.of(method, url, headers or {}, body, follow, limit or self.limits.page_bytes, self._secrets)
        key = request_key(asked.method, asked.shown_url, asked.sha256, asked.authenticated)
        with self._stripes[int(key[:8], 16) % len(self._stripes)]:
            answer = self._from_record(asked, key, says_gone)
            if answer is None:
                if self.mode == "replay":
                    raise NotRecorded(
                        f"{asked.method} {asked.shown_url} is not in the record; replay needs the evidence of that run"
                    )
                answer = self._from_world(self._conditional(asked, key))
        current = _current.get()
        if current is not None:
            current.append(answer.exchange)
        return answer

    def answer(self, exchange: Exchange, volatile: Mapping[str, str] | None = None) -> Answer:
        """A recorded exchange with its body."""
        body = b"" if exchange.body_sha256 is None else self._blobs.get(exchange.body_sha256)
        return Answer(exchange, body, volatile or {})

    def gone_twice(self, exchange: Exchange) -> bool:
        """Whether this request was answered "gone" at least twice, `second_look` apart, and by nothing else that says
        something in between. Undetermined answers between the two prove nothing either way."""
        return self._gone_twice(self._sightings(exchange))

    def said_gone_twice(self, exchange: Exchange, says_gone: Callable[[Answer], bool | None]) -> bool:
        """`gone_twice` for answers that say "not found" in their body, as `says_gone` reads it: True, False where they
        say something else, None where they say nothing."""
        return self._apart(self._sightings(exchange), self._said(says_gone))

    # The record

    def _apart(self, seen: Sequence[Sighting], says: Callable[[Sighting], bool | None]) -> bool:
        """Whether the last sightings that say anything all say "gone", over `second_look` or more."""
        last: Sighting | None = None
        first: Sighting | None = None
        for sighting in reversed(seen):
            said = says(sighting)
            if said is False:
                break
            if said:
                last, first = last or sighting, sighting
        return last is not None and first is not None and last.seen_at - first.seen_at >= self.second_look

    def _said(self, says_gone: Callable[[Answer], bool | None]) -> Callable[[Sighting], bool | None]:
        """`says_gone` of a sighting; trouble says nothing."""

        def said(sighting: Sighting) -> bool | None:
            telling = is_gone(sighting.exchange) or answers(sighting.exchange)
            return says_gone(self.answer(sighting.exchange, sighting.headers)) if telling else None

        return said

    def _sightings(self, exchange: Exchange) -> list[Sighting]:
        return self.record.seen(request_of(exchange))

    def _gone_twice(self, seen: Sequence[Sighting]) -> bool:
        return self._apart(seen, lambda s: True if is_gone(s.exchange) else False if answers(s.exchange) else None)

    def _fitting(self, asked: Asked, key: str) -> list[Sighting]:
        return [s for s in self.record.seen(key) if fits(s.exchange, asked.limit)]

    def _from_record(self, asked: Asked, key: str, says_gone: Callable[[Answer], bool | None] | None) -> Answer | None:
        if carries_login(asked):
            return None
        seen = self._fitting(asked, key)
        if not seen and self.mode == "replay" and not asked.authenticated:
            # A record made with a token is replayed without one.
            seen = self._fitting(asked, request_key(asked.method, asked.shown_url, asked.sha256, True))
        if not seen:
            return None
        last = seen[-1]
        answer = self.answer(last.exchange, last.headers)
        if self.mode == "replay" or last.seen_at >= self.started:
            return answer
        if self._again or last.epoch != self.epoch:
            return None
        if self.started - last.seen_at < self.second_look:
            return answer
        if is_gone(last.exchange):
            settled = self._gone_twice(seen)
        elif says_gone is None or not answers(last.exchange):
            settled = answers(last.exchange)
        else:
            said = says_gone(answer)
            settled = said is False or (said is True and self._apart(seen, self._said(says_gone)))
        return answer if settled else None

    def _conditional(self, asked: Asked, key: str) -> Asked:
        """Ask only for what changed since it was last seen whole: such questions cost GitHub's budget nothing."""
        seen = self._fitting(asked, key)
        last = seen[-1] if seen else None
        if last is None or asked.method != "GET" or last.exchange.status != 200 or "etag" not in last.headers:
            return asked
        if last.exchange.redirects or (last.exchange.body_sha256 and not self._blobs.has(last.exchange.body_sha256)):
            return asked
        return replace(asked, headers={**asked.headers, "if-none-match": last.headers["etag"]}, known=last)

    def _unchanged(self, known: Sighting, attempt: int) -> Answer:
        self.record.put_exchange(
            known.exchange,
            seen_at=self.clock.now(),
            attempt=attempt,
            run=self.run,
            epoch=self.epoch,
            headers=known.headers,
        )
        return self.answer(known.exchange, known.headers)

    def _keep(self, asked: Asked, raw: Raw, attempt: int) -> Answer:
        if raw.status == 304 and asked.known is not None:
            return self._unchanged(asked.known, attempt)
        secrets = (*self._secrets, *asked.secrets)
        headers = {name: unsigned(redacted(value, secrets)) for name, value in raw.headers.items()}
        kept = [(name, value) for name, value in headers.items() if name in IDENTITY_HEADERS]
        if asked.method == "HEAD" and "content-length" in headers:
            kept.append(("content-length", headers["content-length"]))
        if rate_limited(raw.status, raw.headers, raw.body):
            kept.append((RATE_LIMITED, "true"))
        if raw.truncated:
            kept.append((TRUNCATED, "true"))
        private = carries_login(asked)
        body = raw.body
        for secret in secrets:
            body = body.replace(secret.encode(), b"***")
        sha256 = self._blobs.put(body) if raw.status is not None and body and not private else None
        exchange = Exchange(
            method=asked.method,
            url=asked.shown_url,
            request_sha256=asked.sha256,
            status=raw.status,
            fault=raw.fault,
            headers=tuple(sorted(kept)),
            body_sha256=sha256,
            body_size=0 if private else len(body),
            redirects=tuple((status, unsigned(redacted(url, secrets), whole=False)) for status, url in raw.redirects),
            final_url=unsigned(redacted(raw.final_url, secrets)) if raw.redirects else asked.shown_url,
            authenticated=asked.authenticated,
        )
        volatile = {name: value for name, value in headers.items() if name in SIGHTING_HEADERS}
        self.record.put_exchange(
            exchange, seen_at=self.clock.now(), attempt=attempt, run=self.run, epoch=self.epoch, headers=volatile
        )
        return Answer(exchange, raw.body if private else body, volatile)

    # The world

    def _from_world(self, asked: Asked) -> Answer:
        attempt = 1
        while True:
            raw = self._follow(asked)
            answer = self._keep(asked, raw, attempt)
            limited = RATE_LIMITED in answer.headers
            if attempt >= self.limits.attempts or not worth_repeating(raw.status, raw.fault, limited):
                return answer
            wait = wait_before(attempt, raw.headers, limited, self.clock.now(), self.limits)
            if wait is None:
                return answer
            if limited:
                parts = urlsplit(raw.final_url)
                self._pace.hold(parts.hostname or "", parts.path, wait)
            self.clock.sleep(wait)
            attempt += 1

    def _follow(self, asked: Asked) -> Raw:
        """Send, and follow up to `limits.redirects` redirects, guarding every hop. Credentials stay on their host."""
        method, url, headers, body = asked.method, asked.url, dict(asked.headers), asked.body
        chain: list[tuple[int, str]] = []
        while True:
            if refusal(url) is not None:
                return Raw.failed("blocked", url, chain)
            parts = urlsplit(url)
            self._pace.wait(parts.hostname or "", parts.path)
            raw = send(self._transport, replace(asked, method=method, url=url, headers=headers, body=body), self.limits)
            raw = replace(raw, final_url=url, redirects=tuple(chain))
            location = raw.headers.get("location")
            if not asked.follow or raw.status not in (301, 302, 303, 307, 308) or not location:
                return raw
            if len(chain) >= self.limits.redirects:
                return raw
            chain.append((raw.status, url))
            try:
                following = without_default_port(_without_fragment(urljoin(url, location)))
            except ValueError:
                return Raw.failed("blocked", url, chain)  # the place it names is no URL
            if urlsplit(following).hostname != parts.hostname:
                headers = {name: value for name, value in headers.items() if name not in ("authorization", "cookie")}
            if raw.status == 303 or (raw.status in (301, 302) and method == "POST"):
                method, body = ("HEAD" if method == "HEAD" else "GET"), b""
            url = following


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


def fits(exchange: Exchange, limit: int) -> bool:
    """Whether an answer is what a request that keeps `limit` bytes gets: whole within them, or cut exactly there.

    So one request asked with two limits has two answers in the record, and each is given to its own question.
    """
    if TRUNCATED in dict(exchange.headers):
        return exchange.body_size == limit
    return exchange.body_size <= limit


def _without_fragment(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(fragment=""))
