"""The services' limits, kept by the server's side on a clock of the caller's, with a log that proves what was asked.

Stated by the services, and written down here apart from the client's own table (`pipeline.sources.pacing`), so that a
mistake there shows: arXiv's API terms of use (one request every three seconds, one connection); OpenReview's quota of
36 attachment requests an hour for guests, then an hour's lock-out (mireklzicar/openreview_downloader#4); GitHub's
primary limits, 60 an hour for strangers and 5,000 with a token, 10 or 30 searches a minute, 10 code searches, 5,000
GraphQL points an hour, and its secondary 900 points a minute; the Hub's fixed windows of five minutes (500 and 1,000
API calls, 3,000 and 5,000 file look-ups, 100 and 200 pages). Other hosts state none: two requests a second is manners.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from pipeline.offline import arxiv, github_objects, hub, openreview
from pipeline.offline.content import Held
from pipeline.offline.wire import Answer, Call, Fault, as_json

ATTACHMENTS_AN_HOUR = 36
LOCK_OUT = 3600.0
SPACING = 3.0
_MANNERS = 0.01
"""Seconds by which a spacing may come short: clocks are read before and after a request."""


class Clock(Protocol):
    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Quota:
    """`most` units in a window of `seconds` that begins with the first of them (GitHub, the Hub: fixed windows)."""

    name: str
    most: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as the server saw it. `limit` names the limit it broke, "" where it kept them all; `open` counts
    requests to the same service under way, itself included; `units` what it cost of its quota."""

    at: str
    host: str
    method: str
    path: str
    status: int
    quota: str
    who: str
    units: int
    open: int
    limit: str


@dataclass
class _Window:
    began: datetime
    used: int = 0


class Keeper:
    """Refuses what goes beyond a limit as the services do, and remembers every request.

    `log`: a file that gets each request as a line of JSON, for readers that outlive this process.
    """

    def __init__(self, clock: Clock, log: Path | None = None) -> None:
        self.seen: list[Seen] = []
        self._clock = clock
        self._file = log
        self._lock = threading.Lock()
        self._windows: dict[tuple[str, str], _Window] = {}
        self._last: dict[str, datetime] = {}
        self._locked: dict[str, datetime] = {}
        self._open: dict[str, int] = {}

    def enter(self, host: str) -> None:
        """A request to `host` begins, and is under way until `leave`."""
        with self._lock:
            self._open[_service(host)] = self._open.get(_service(host), 0) + 1

    def leave(self, host: str) -> None:
        with self._lock:
            self._open[_service(host)] -= 1

    def reply(self, call: Call, answer: Callable[[], Answer | Fault]) -> Answer | Fault:
        """`answer`'s, or a refusal; either way with the service's counters in its headers."""
        quota = quota_of(call)
        service, who = _service(call.host), _who(call)
        with self._lock:
            now = self._clock.now()
            under_way = self._open.get(service, 1)
            broken = self._broken(call, quota, who, under_way, now)
            if not broken:
                self._windows[quota.name, who].used += 1
                self._last[service] = now
        found = self._refusal(call, quota, who, broken, now) if broken else answer()
        with self._lock:
            units = 0 if broken else self._settled(quota, who, found, call)
            if isinstance(found, Answer):
                found = self._counted(found, call, quota, who, now)
            status = found.status if isinstance(found, Answer) else 0
            path = call.path + (f"?{call.raw_query}" if call.query else "")
            self._note(
                Seen(
                    at=now.isoformat(),
                    host=call.host,
                    method=call.method,
                    path=path,
                    status=status,
                    quota=quota.name,
                    who=who,
                    units=units,
                    open=under_way,
                    limit=broken,
                )
            )
        return found

    def _note(self, seen: Seen) -> None:
        self.seen.append(seen)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(seen)) + "\n")

    def _broken(self, call: Call, quota: Quota, who: str, under_way: int, now: datetime) -> str:
        """The limit that this call breaks, or "". Opens the call's window."""
        service = _service(call.host)
        key = quota.name, who
        window = self._windows.get(key)
        if window is None or now - window.began >= timedelta(seconds=quota.seconds):
            window = self._windows[key] = _Window(now)
        if service == "arxiv":
            last = self._last.get(service)
            if under_way > 1:
                return "one connection"
            if last is not None and (now - last).total_seconds() < SPACING - _MANNERS:
                return "one request every three seconds"
        if now < self._locked.get(who + quota.name, now):
            return "locked out"
        if window.used >= quota.most:
            if quota.name == "openreview attachments":
                self._locked[who + quota.name] = now + timedelta(seconds=LOCK_OUT)
            return quota.name
        if service == "github api":
            minute = self._windows.get(("github minute", who))
            if minute is None or now - minute.began >= timedelta(seconds=60):
                minute = self._windows["github minute", who] = _Window(now)
            if minute.used >= 900:
                return "github minute"
            minute.used += 1
        return ""

    def _settled(self, quota: Quota, who: str, found: Answer | Fault, call: Call) -> int:
        """What the call cost: GraphQL's points; nothing for an unchanged answer to a caller with a token."""
        units = 1
        if quota.name == "github graphql" and isinstance(found, Answer):
            units = max(1, int(_header(found, "x-ratelimit-used") or 1))
        elif quota.name == "github core" and call.has_token and isinstance(found, Answer):
            tag = _header(found, "etag")
            units = 0 if tag and call.headers.get("if-none-match") == tag else 1
        self._windows[quota.name, who].used += units - 1
        return units

    # What the services say

    def _refusal(self, call: Call, quota: Quota, who: str, broken: str, now: datetime) -> Answer:
        left = self._left(quota, who, now)
        if _service(call.host) == "arxiv":
            return Answer(429, Held(b"Rate exceeded."), (("Content-Type", "text/plain"),))
        if _service(call.host) == "github api":
            if broken == "github minute":
                secondary = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
                return as_json(secondary, 403, ("Retry-After", "60"))
            return as_json({"message": "API rate limit exceeded for 203.0.113.1."}, 403)
        if call.host in openreview.HOSTS:
            until = self._locked.get(who + quota.name, now + timedelta(seconds=left))
            wait = max(1, round((until - now).total_seconds()))
            body: dict[str, object] = {
                "name": "RateLimitError",
                "message": f"Too many requests. Please try again in {wait} seconds",
                "status": 429,
                "details": {"resetTime": until.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")},
            }
            return as_json(body, 429, ("Retry-After", str(wait)))
        return as_json({"error": "Too Many Requests"}, 429, ("Retry-After", str(max(1, round(left)))))

    def _left(self, quota: Quota, who: str, now: datetime) -> float:
        """Seconds until the call's window ends."""
        window = self._windows.get((quota.name, who))
        return quota.seconds if window is None else quota.seconds - (now - window.began).total_seconds()

    def _counted(self, found: Answer, call: Call, quota: Quota, who: str, now: datetime) -> Answer:
        """The answer with counters that are true: those of the world are of a caller's first request."""
        window = self._windows[quota.name, who]
        remaining = max(0, quota.most - window.used)
        left = max(1, round(self._left(quota, who, now)))
        kept = tuple((name, value) for name, value in found.headers if not name.lower().startswith("x-ratelimit-"))
        plain = Answer(found.status, found.content, kept, found.ranges)
        if _service(call.host) == "github api":
            reset = int((window.began + timedelta(seconds=quota.seconds)).timestamp())
            return plain.plus(
                ("X-RateLimit-Limit", str(quota.most)),
                ("X-RateLimit-Remaining", str(remaining)),
                ("X-RateLimit-Used", str(window.used)),
                ("X-RateLimit-Reset", str(reset)),
                ("X-RateLimit-Resource", quota.name.partition(" ")[2]),
            )
        if call.host == hub.HOST:
            name = quota.name.partition(" ")[2]
            return plain.plus(
                ("RateLimit", f'"{name}";r={remaining};t={left}'),
                ("RateLimit-Policy", f'"fixed window";"{name}";q={quota.most};w={round(quota.seconds)}'),
            )
        return found


def quota_of(call: Call) -> Quota:
    """Which of the stated limits a call counts against."""
    token, first = call.has_token, (call.segments or [""])[0]
    if call.host == github_objects.HOST:
        match call.segments:
            case ["rate_limit"]:
                return Quota("github free", 1_000_000, 3600)
            case ["graphql"]:
                return Quota("github graphql", 5000, 3600)
            case ["search", "code"]:
                return Quota("github code_search", 10, 60)
            case ["search", *_]:
                return Quota("github search", 30 if token else 10, 60)
        return Quota("github core", 5000 if token else 60, 3600)
    if call.host in openreview.HOSTS and first == "attachment":
        return Quota("openreview attachments", ATTACHMENTS_AN_HOUR, 3600)
    if call.host == hub.HOST:
        if first == "api":
            return Quota("hub api", 1000 if token else 500, 300)
        if "resolve" in call.segments:
            return Quota("hub resolvers", 5000 if token else 3000, 300)
        return Quota("hub pages", 200 if token else 100, 300)
    if call.host in arxiv.HOSTS:
        return Quota("arxiv", 1_000_000, 3600)
    return Quota(f"manners {call.host}", 120, 60)


def _service(host: str) -> str:
    """Hosts that share a limit."""
    return "arxiv" if host in arxiv.HOSTS else "github api" if host == github_objects.HOST else host


def _who(call: Call) -> str:
    """One caller: its token, or everybody without one (they share an address)."""
    token = call.headers.get("authorization", "")
    return hashlib.sha256(token.encode()).hexdigest()[:12] if token else "anonymous"


def _header(answer: Answer, wanted: str) -> str:
    return next((value for name, value in answer.headers if name.lower() == wanted), "")
