"""The recorder: every exchange with the world goes through it, and it alone waits, retries, follows and remembers.

An answer that is in the record and settled is given from there. In replay mode nothing else is given.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import httpx2
import requests.adapters

from pipeline.evidence import Exchange, NotRecorded
from pipeline.record import Record, Sent, Sighting, Waiting, request_key, request_of
from pipeline.sources.adapters import RecordedAdapter, RecordedTransport
from pipeline.sources.ages import AgeRule
from pipeline.sources.answered import (
    RATE_LIMITED,
    TRUNCATED,
    Answer,
    answers,
    described,
    fits,
    gone_apart,
    gone_by_status,
    is_gone,
    trouble,
)
from pipeline.sources.clocks import Clock
from pipeline.sources.connections import PublicTransport
from pipeline.sources.lanes import Lanes, Leases
from pipeline.sources.outward import DEFERRED, Outward, Prolong
from pipeline.sources.pacing import Limits
from pipeline.sources.wire import Asked, Raw, carries_login
from pipeline.store import Store, StoreError

__all__ = [
    "RATE_LIMITED",
    "TRUNCATED",
    "AgeRule",
    "Answer",
    "Mode",
    "Recorder",
    "SaysGone",
    "answers",
    "fits",
    "is_gone",
]

Mode = Literal["record", "replay", "refresh"]
SaysGone = Callable[[Answer], bool | None]

OFFLINE = "offline:"
AHEAD = timedelta(minutes=10)
"""How far clocks of machines that share a record may lie apart."""

_current: ContextVar[list[Exchange] | None] = ContextVar("current_call", default=None)
_paper: ContextVar[str] = ContextVar("current_paper", default="")


class Recorder:
    """One run's way to the world. Safe from several threads; any number of processes may share its store.

    `mode` record: an answer that was settled in this epoch is given from the record, all else is asked. refresh:
    answers of any epoch stand, but for those that `ages` names. replay: nothing is asked.

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
        mode: Mode = "record",
        limits: Limits | None = None,
        second_look_hours: float = 24.0,
        again: bool = False,
        secrets: Sequence[str] = (),
        ages: AgeRule | None = None,
        started: datetime | None = None,
    ) -> None:
        self.record = Record(store.engine)
        self.clock = clock
        self.run = run
        self.epoch = epoch
        self.mode = mode
        self.limits = limits or Limits()
        self.second_look = timedelta(hours=second_look_hours)
        self.started = started or clock.now()
        self._blobs = store.blobs
        self._again = again
        self._secrets = tuple(sorted((s for s in secrets if s), key=len, reverse=True))
        self._ages = ages or AgeRule()
        # Simulated time and real time may share a store; what belongs to the one means nothing to the other.
        self._line = epoch[: epoch.find(":") + 1]
        self._lanes = Lanes(self.record, clock, self.limits, self._line)
        self._leases = Leases(self.record, clock, self._line)
        self._transport = transport or PublicTransport()
        self._outward = Outward(self._transport, self._lanes, clock, self.limits)
        # Two threads with the same question: one asks, the other reads the record. Leases do the same for processes.
        self._stripes = tuple(threading.Lock() for _ in range(256))
        self.client = httpx2.Client(transport=self.transport(), follow_redirects=False, trust_env=False)

    def transport(self, *, follow: bool = True) -> httpx2.BaseTransport:
        """For any httpx2 client. `follow`: answer with what the redirects lead to, the chain kept in the exchange."""
        return RecordedTransport(self, follow=follow)

    def adapter(self, *, follow: bool = True, says_gone: SaysGone | None = None) -> requests.adapters.BaseAdapter:
        """For any requests session (PyGithub, arxiv, openreview-py). `says_gone` as in `ask`."""
        return RecordedAdapter(self, follow=follow, says_gone=says_gone)

    @contextmanager
    def call(self, paper: str = "") -> Iterator[list[Exchange]]:
        """Collect the exchanges made inside, in order, also where a client library made them. What is sent for them is
        counted for `paper`, or for that of the call around this one."""
        outer, mine = _current.get(), list[Exchange]()
        token, told = _current.set(mine), _paper.set(paper or _paper.get())
        try:
            yield mine
        finally:
            _paper.reset(told)
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
        says_gone: SaysGone | None = None,
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
                answer = self._asked_by_one(asked, key, says_gone)
        current = _current.get()
        if current is not None:
            current.append(answer.exchange)
        return answer

    def recall(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        limit: int,
        says_gone: SaysGone | None = None,
    ) -> Answer | None:
        """What `ask` would give from the record, or None where it would ask the world."""
        asked = Asked.of(method, url, headers, body, True, limit, self._secrets)
        key = request_key(asked.method, asked.shown_url, asked.sha256, asked.authenticated)
        return self._from_record(asked, key, says_gone)

    def keep_part(
        self, whole: Answer, part: bytes, method: str, url: str, *, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        """Record a part of an answer as the answer to the request that asks for this part alone, so that who rests on
        it depends on nothing that was asked beside it."""
        asked = Asked.of(method, url, headers, body, True, self.limits.archive_bytes, self._secrets)
        told = {name: value for name, value in whole.headers.items() if name not in ("content-length", "etag")}
        raw = Raw(whole.status, None, told, part, final_url=asked.shown_url)
        return self._keep(asked, raw, attempt=1)

    def answer(self, exchange: Exchange, volatile: Mapping[str, str] | None = None) -> Answer:
        """A recorded exchange with its body."""
        body = b"" if exchange.body_sha256 is None else self._blobs.get(exchange.body_sha256)
        return Answer(exchange, body, volatile or {})

    def gone_twice(self, exchange: Exchange) -> bool:
        """Whether this request was answered "gone" at least twice, `second_look` apart, and by nothing else that says
        something in between. Undetermined answers between the two prove nothing either way."""
        return self._gone_twice(self._sightings(exchange))

    def said_gone_twice(self, exchange: Exchange, says_gone: SaysGone) -> bool:
        """`gone_twice` for answers that say "not found" in their body, as `says_gone` reads it: True, False where they
        say something else, None where they say nothing."""
        return gone_apart(self._sightings(exchange), self._said(says_gone), self.second_look)

    # The record

    def _said(self, says_gone: SaysGone) -> Callable[[Sighting], bool | None]:
        """`says_gone` of a sighting; trouble says nothing."""

        def said(sighting: Sighting) -> bool | None:
            telling = is_gone(sighting.exchange) or answers(sighting.exchange)
            return says_gone(self.answer(sighting.exchange, sighting.headers)) if telling else None

        return said

    def _sightings(self, exchange: Exchange) -> list[Sighting]:
        return self._seen(request_of(exchange))

    def _seen(self, key: str) -> list[Sighting]:
        """The sightings of this line of time. Those of a time that is yet to come were written by a clock that ran
        ahead: they prove nothing, above all no day between two looks, and the question is asked again."""
        mine = [seen for seen in self.record.seen(key) if seen.epoch.startswith(self._line)]
        if self._line == OFFLINE or self.mode == "replay":  # whose clocks jump as it suits them, or stand still
            return mine
        latest = self.clock.now() + AHEAD
        return [seen for seen in mine if seen.seen_at <= latest]

    def _gone_twice(self, seen: Sequence[Sighting]) -> bool:
        return gone_apart(seen, gone_by_status, self.second_look)

    def _fitting(self, asked: Asked, key: str) -> list[Sighting]:
        return [s for s in self._seen(key) if fits(s.exchange, asked.limit)]

    def _from_record(self, asked: Asked, key: str, says_gone: SaysGone | None) -> Answer | None:
        return self._remembered(asked, key, self._fitting(asked, key), says_gone)

    def _remembered(
        self, asked: Asked, key: str, seen: Sequence[Sighting], says_gone: SaysGone | None
    ) -> Answer | None:
        if carries_login(asked):
            return None
        if self.mode == "replay":
            return self._replayed(asked, seen)
        if not seen or not self._stands(seen[-1], seen, key):
            return None
        last = seen[-1]
        try:
            answer = self.answer(last.exchange, last.headers)
        except StoreError:
            return None  # its body is lost or damaged: the world is asked, and the body kept anew
        if self._new_enough(last) or not answers(last.exchange) or says_gone is None:
            return answer
        said = says_gone(answer)
        settled = said is False or (said is True and gone_apart(seen, self._said(says_gone), self.second_look))
        return answer if settled else None

    def _replayed(self, asked: Asked, seen: Sequence[Sighting]) -> Answer | None:
        """What this epoch saw last, or else anybody."""
        if not seen and not asked.authenticated:
            # A record made with a token is replayed without one.
            seen = self._fitting(asked, request_key(asked.method, asked.shown_url, asked.sha256, True))
        if not seen:
            return None
        last = next((s for s in reversed(seen) if s.epoch == self.epoch), seen[-1])
        try:
            return self.answer(last.exchange, last.headers)
        except StoreError as lost:
            raise NotRecorded(
                f"{asked.method} {asked.shown_url}: {lost}; replay needs the evidence of that run"
            ) from None

    def _stands(self, last: Sighting, seen: Sequence[Sighting], key: str) -> bool:
        """Whether the last sighting of a question may answer it, as far as it shows without its body."""
        gone = is_gone(last.exchange)
        put_off = None
        if not gone and not answers(last.exchange):
            put_off = self.record.waits(self._line, key)
            if put_off is None or put_off.put_off_at < last.seen_at:
                return False  # whoever asked was stopped between two tries
            if put_off.not_before is None and put_off.epoch == self.epoch:
                return True  # given up
        if last.seen_at >= self.started:
            return True
        if self._again or (
            self._ages.names(last, self.started) if self.mode == "refresh" else last.epoch != self.epoch
        ):
            return False
        if put_off is not None:
            return put_off.not_before is None or put_off.not_before > self.started
        return not gone or self._new_enough(last) or self._gone_twice(seen)

    def _new_enough(self, last: Sighting) -> bool:
        """Whether an answer is of this look: what is not settled is asked again on a later day only."""
        return self.started - last.seen_at < self.second_look

    def _conditional(self, asked: Asked, seen: Sequence[Sighting]) -> Asked:
        """Ask only for what changed since it was last seen whole: such questions cost GitHub's budget nothing."""
        if asked.method != "GET":
            return asked
        last = next((s for s in reversed(seen) if s.exchange.status == 200), None)
        if last is None or last.exchange.redirects:
            return asked
        if "etag" in last.headers:
            condition = {"if-none-match": last.headers["etag"]}
        elif "last-modified" in last.headers:
            condition = {"if-modified-since": last.headers["last-modified"]}
        else:
            return asked
        try:
            self.answer(last.exchange)
        except StoreError:
            return asked
        return replace(asked, headers={**asked.headers, **condition}, known=last)

    def _unchanged(self, known: Sighting, attempt: int, sent: Sequence[Sent]) -> Answer:
        self.record.put_exchange(
            known.exchange,
            seen_at=self.clock.now(),
            attempt=attempt,
            run=self.run,
            epoch=self.epoch,
            headers=known.headers,
            paper=_paper.get(),
            sent=sent,
        )
        return self.answer(known.exchange, known.headers)

    def _keep(self, asked: Asked, raw: Raw, attempt: int, sent: Sequence[Sent] = ()) -> Answer:
        if raw.status == 304 and asked.known is not None:
            return self._unchanged(asked.known, attempt, sent)
        exchange, body, volatile = described(asked, raw, (*self._secrets, *asked.secrets))
        if exchange.body_sha256 is not None:
            self._blobs.put(body)
        self.record.put_exchange(
            exchange,
            seen_at=self.clock.now(),
            attempt=attempt,
            run=self.run,
            epoch=self.epoch,
            headers=volatile,
            paper=_paper.get(),
            sent=sent,
        )
        return Answer(exchange, body, volatile)

    # The world

    def _asked_by_one(self, asked: Asked, key: str, says_gone: SaysGone | None) -> Answer:
        """Ask the world, unless another process does so now: then its answer is ours."""
        with self._leases.asking(key, self.limits.timeout + self.limits.total_time) as prolong:
            seen = self._fitting(asked, key)
            found = self._remembered(asked, key, seen, says_gone)
            if found is not None:
                return found
            waits = self.record.waits(self._line, key) if seen else None
            return self._from_world(self._conditional(asked, seen), key, waits, says_gone, prolong)

    def _from_world(
        self, asked: Asked, key: str, waits: Waiting | None, says_gone: SaysGone | None, prolong: Prolong
    ) -> Answer:
        answer: Answer | None = None
        until: float | None = None
        for one in self._outward.tries(asked, prolong):
            answer, until = self._keep(asked, one.raw, one.number, one.sent), one.until
        assert answer is not None, "the world is tried at least once"
        if not carries_login(asked):
            self._file(asked, key, answer, until, waits, says_gone)
        return answer

    def _file(
        self,
        asked: Asked,
        key: str,
        answer: Answer,
        until: float | None,
        known: Waiting | None,
        says_gone: SaysGone | None,
    ) -> None:
        """Write down whether a question is settled, or waits: for what, and until when. `known`: how it waited."""
        exchange, now = answer.exchange, self.clock.now()
        said = says_gone(answer) if says_gone is not None and answers(exchange) else None
        gone = is_gone(exchange) or said is True
        if gone:
            seen = self._fitting(asked, key)
            if is_gone(exchange) or says_gone is None:
                twice = self._gone_twice(seen)
            else:
                twice = gone_apart(seen, self._said(says_gone), self.second_look)
        if twice if gone else answers(exchange):
            if known is not None:
                self.record.settled(self._line, key)
            return
        tries = (known.tries if known and known.epoch == self.epoch else 0) + (exchange.fault != DEFERRED)
        later = now + self.second_look if until is None else datetime.fromtimestamp(until, UTC)
        self.record.put_off(
            self._line,
            Waiting(
                request=key,
                method=asked.method,
                url=asked.shown_url,
                paper=_paper.get(),
                reason=f"gone once: {exchange.fault or exchange.status}" if gone else trouble(exchange),
                epoch=self.epoch,
                put_off_at=now,
                not_before=None if tries >= self.limits.days else later,
                tries=tries,
            ),
        )
