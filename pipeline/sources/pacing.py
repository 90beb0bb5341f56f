"""How patient and how polite the recorder is: pure arithmetic over times in seconds since 1970. It neither waits nor
remembers: `lanes` keeps its states in the record's database, the recorder waits."""

from __future__ import annotations

import email.utils
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

# Seconds between two requests to a host or to a path of it. arXiv: its API terms of use. GitHub: 10 searches a minute
# for strangers, and "no concurrent bursts". Hugging Face, for strangers in 5 minutes: 500 calls, 3,000 files and 100
# pages.
INTERVALS: Mapping[str, float] = {
    "arxiv.org": 3.0,
    "api.github.com": 1.0,
    "api.github.com/graphql": 1.0,
    "api.github.com/search": 6.0,
    "token@api.github.com/search": 2.0,
    "huggingface.co": 3.0,
    "huggingface.co/api": 0.6,
    "huggingface.co/resolve": 0.5,
    "api2.openreview.net": 1.0,
    # Many papers' evidence lies there, so requests wait for them. Zenodo: 60 a minute for strangers.
    "zenodo.org": 1.0,
    **dict.fromkeys(("github.com", "raw.githubusercontent.com", "media.githubusercontent.com"), 0.5),
    **dict.fromkeys(("release-assets.githubusercontent.com", "cdn-lfs.hf.co", "anonymous.4open.science"), 0.5),
    **dict.fromkeys(("drive.google.com", "drive.usercontent.google.com"), 0.5),
}
# (requests, seconds) that a lane gives out at most, beside its rhythm. GitHub: 5,000 an hour a token, 30 searches a
# minute. What strangers may ask there (60 an hour) is shared with everybody behind our address: its headers say.
BUDGETS: Mapping[str, tuple[int, float]] = {
    "token@api.github.com": (5_000, 3_600.0),
    "api.github.com/search": (10, 60.0),
    "token@api.github.com/search": (30, 60.0),
    "huggingface.co": (100, 300.0),
    "huggingface.co/api": (500, 300.0),
    "huggingface.co/resolve": (3_000, 300.0),
}
ONE_SERVICE: Mapping[str, str] = {"export.arxiv.org": "arxiv.org", "www.arxiv.org": "arxiv.org"}
"""Hosts that count requests together: arXiv's terms allow one every three seconds to all of its machines."""
ANYWHERE: Mapping[str, str] = {"huggingface.co": "resolve"}
"""Hosts that count requests apart which have this word anywhere in their path: the Hub's files."""
INTERFACES = (
    "https://api.github.com/",
    "https://api.openreview.net/",
    "https://api2.openreview.net/",
    "https://export.arxiv.org/api/",
    "https://huggingface.co/api/",
)
"""They never answer in HTML: what does so in their place is a wall before them."""
SLICES = 10
"""A budget's window is counted in this many slices, so that no window of its length, wherever it starts, holds more."""
# GraphQL says "not now" in a success (yanyongyu/githubkit#271: the type has two spellings). Quotes inside a text that
# was asked for are escaped, so no README says it.
_LIMITED_QUERY = re.compile(
    rb'"type"\s*:\s*"RATE_LIMIT(?:ED)?"|"message"\s*:\s*"You have exceeded a secondary rate limit'
)
_LONGEST_HOLD = 30 * 86_400.0
"""Seconds; no host keeps us away for longer, whatever number it sends."""
_REPEATABLE_FAULTS = ("timeout", "tls", "reset", "unreachable")
_RATE = re.compile(r"(?i)\b(?:r|remaining)=(\d+)(?=[^,]*?\b(?:t|reset)=(\d+))")
_AGAIN_IN = re.compile(r"(?i)try again in ((?:\d+ (?:hour|minute|second)s?(?:,? and |, | )?)+)")
_UNITS = {"hour": 3600.0, "minute": 60.0, "second": 1.0}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in seconds. `longest_wait`: a host that asks for more is left for another day; `short_wait`
    is that of hosts that no lane names, one paper's page among thousands: none of them holds up a run.

    `intervals` and `budgets` name lanes: a host, or a host and the beginning of its path; with `token@` before it, the
    lanes of requests with a credential, one a credential. `strikes` failures in a row leave a host alone for `rest`,
    twice as long each time its trial fails too, up to `longest_rest`. `days`: how often a question that found only
    trouble is put off to a later day.
    """

    attempts: int = 4
    first_wait: float = 2.0
    backoff_cap: float = 60.0
    longest_wait: float = 3_700.0
    short_wait: float = 120.0
    timeout: float = 30.0
    total_time: float = 300.0
    redirects: int = 5
    page_bytes: int = 2 << 20
    archive_bytes: int = 20 << 20
    interval: float = 0.5
    intervals: Mapping[str, float] = field(default_factory=lambda: dict(INTERVALS))
    budgets: Mapping[str, tuple[int, float]] = field(default_factory=lambda: dict(BUDGETS))
    strikes: int = 12
    rest: float = 300.0
    longest_rest: float = 6 * 3_600.0
    days: int = 10

    def patience(self, named: bool) -> float:
        return self.longest_wait if named else min(self.short_wait, self.longest_wait)


# What answers say about patience


def rate_limited(status: int | None, headers: Mapping[str, str], body: bytes, url: str) -> bool:
    """Whether an answer says "not now" and nothing about the thing asked for. `url` is where it came from."""
    if status == 429:
        return True
    html = headers.get("content-type", "").startswith("text/html")
    if html and status in (200, 202, 203, 401, 403) and url.startswith(INTERFACES):
        return True
    if status == 200 and headers.get("x-ratelimit-resource") == "graphql":
        return _LIMITED_QUERY.search(body) is not None
    if status != 403:
        return False
    if headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers:
        return True
    text = body[:4096].lower()
    return b"rate limit" in text or b"abuse detection" in text


def worth_repeating(status: int | None, fault: str | None, limited: bool) -> bool:
    if status is None:
        return fault in _REPEATABLE_FAULTS
    return limited or status in (408, 425) or status >= 500


def wait_before(
    attempt: int,
    headers: Mapping[str, str],
    limited: bool,
    now: datetime,
    limits: Limits,
    body: bytes = b"",
    named: bool = True,
) -> float | None:
    """Seconds to wait after attempt number `attempt` (the first is 1), or None where the host asks for too long."""
    wait = min(limits.first_wait * 2 ** (attempt - 1), limits.backoff_cap)
    asked = told_to_wait(headers, body, now) if limited else _retry_after(headers.get("retry-after", ""), now)
    wait = max(wait, asked or 0.0)
    return wait if wait <= limits.patience(named) else None


def told_to_wait(headers: Mapping[str, str], body: bytes, now: datetime) -> float | None:
    """Seconds until this host wants the next request, as an answer of any status says; None where it says nothing.

    Read from Retry-After; GitHub's `X-RateLimit-Remaining: 0` with its reset; the `RateLimit` header (r and t) of the
    Hugging Face Hub; OpenReview's `details.resetTime` and "Please try again in 39 minutes and 59 seconds"
    (openreview/openreview#437, mireklzicar/openreview_downloader#4).
    """
    asked = _retry_after(headers.get("retry-after", ""), now)
    if asked is None and headers.get("x-ratelimit-remaining") == "0":
        reset = headers.get("x-ratelimit-reset", "")
        asked = float(reset) - now.timestamp() + 1 if reset.isdecimal() else None
    if asked is None:
        spent = [float(t) for r, t in _RATE.findall(headers.get("ratelimit", "")) if int(r) == 0]
        asked = max(spent) + 1 if spent else None
    if asked is None and b"oo many requests" in body[:4096]:
        asked = _said_in_words(body[:4096], now)
    return None if asked is None else min(asked, _LONGEST_HOLD)


def _said_in_words(body: bytes, now: datetime) -> float | None:
    try:
        reset = datetime.fromisoformat(json.loads(body)["details"]["resetTime"])
        return (reset if reset.tzinfo else reset.replace(tzinfo=UTC)).timestamp() - now.timestamp() + 1
    except (ValueError, KeyError, TypeError):
        pass
    words = _AGAIN_IN.search(body.decode("utf-8", errors="replace"))
    if words is None:
        return None
    parts = re.findall(r"(?i)(\d+) (hour|minute|second)", words[1])
    return sum(float(count) * _UNITS[unit.lower()] for count, unit in parts) + 1


def _retry_after(value: str, now: datetime) -> float | None:
    """Seconds, or an HTTP date (RFC 9110, 10.2.3)."""
    if value.strip().isdecimal():
        return float(value)
    try:
        at = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now.timestamp()


# Lanes: who shares a rhythm


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What a lane allows. `named`: the limits name it, so much rests on this host and a request waits for it."""

    host: str
    lane: str
    interval: float
    budget: tuple[int, float] | None
    named: bool


def rule_of(host: str, path: str, credential: str, limits: Limits) -> Rule:
    """The lane of a request: the longest beginning of its path that the limits name, else its host.

    Requests with a credential have lanes of their own, one a credential, known by a hash of it.
    """
    host = ONE_SERVICE.get(host, host)
    parts = [part for part in path.split("/") if part]
    if host in ANYWHERE and ANYWHERE[host] in parts:
        parts = [ANYWHERE[host]]
    places = ["/".join((host, *parts[:n])) for n in range(min(len(parts), 4), -1, -1)]
    known = {**limits.intervals, **limits.budgets}
    named = [p for place in places for p in ((f"token@{place}", place) if credential else (place,)) if p in known]
    place = named[0].removeprefix("token@") if named else host
    words = (f"token@{place}", place) if credential else (place,)
    interval = next((limits.intervals[word] for word in words if word in limits.intervals), None)
    if interval is None:
        interval = limits.intervals.get(host, limits.interval)
    budget = next((limits.budgets[word] for word in words if word in limits.budgets), None)
    mark = f"#{hashlib.sha256(credential.encode()).hexdigest()[:8]}" if credential else ""
    return Rule(host=host, lane=place + mark, interval=interval, budget=budget, named=bool(named))


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """What is known of a lane or of a host. Times in seconds since 1970; `counts` are requests by slice of the budget's
    window, the newest last; `until` and `why` are a hold: not now, and who said so."""

    free_at: float = 0.0
    until: float = 0.0
    why: str = ""
    counts: tuple[tuple[int, int], ...] = ()
    failures: int = 0
    rests: int = 0
    rest_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Turn:
    """When a request may go, or (`waits` is None) that it may not for now: `until` when, and why. `failing`: the host
    failed last."""

    waits: float | None
    until: float
    why: str = ""
    failing: bool = False


def take(host: Lane, lane: Lane, rule: Rule, now: float, limits: Limits) -> tuple[Lane, Lane, Turn]:
    """The next free moment, and the states once it is taken. Nothing is taken where it lies beyond our patience.

    A host at rest is waited for only where the limits name it; of any other the request is left for another day.
    """
    patience = limits.patience(rule.named)
    host, lane = _believed(host, now, patience, rule, limits), _believed(lane, now, patience, rule, limits)
    trial = host.failures >= limits.strikes
    resting = trial and host.rest_until > now
    at, why = max(now, lane.free_at), ""
    if lane.until > at:
        at, why = lane.until, lane.why
    if trial and host.rest_until > at:
        at, why = host.rest_until, f"left alone after {host.failures} failures"
    counts = lane.counts
    if rule.budget is not None:
        at, counts, spent = _within(rule.budget, counts, at)
        why = f"budget of {rule.budget[0]} requests in {rule.budget[1]:g} s" if spent and not why else why
    if at - now > patience or (resting and not rule.named):
        return host, lane, Turn(None, at, why)
    if trial:
        # One request tries it; the others wait for what it finds out, or for its end if it is never heard of again.
        host = replace(host, rest_until=at + limits.total_time)
    return host, replace(lane, free_at=at + rule.interval, counts=counts), Turn(at - now, at, why, host.failures > 0)


def _believed(lane: Lane, now: float, patience: float, rule: Rule, limits: Limits) -> Lane:
    """Without moments that lie further ahead than any clock of ours may have put them: one ran ahead, and nobody waits
    for it."""
    latest = max(now + patience, now + limits.longest_rest)
    counts = lane.counts
    if rule.budget is not None:
        last = math.floor(latest / (rule.budget[1] / SLICES))
        counts = tuple((place, count) for place, count in counts if place <= last)
    return replace(
        lane,
        free_at=0.0 if lane.free_at > latest + rule.interval else lane.free_at,
        until=0.0 if lane.until > now + _LONGEST_HOLD else lane.until,
        rest_until=0.0 if lane.rest_until > latest + limits.total_time else lane.rest_until,
        counts=counts,
    )


def _within(
    budget: tuple[int, float], counts: tuple[tuple[int, int], ...], at: float
) -> tuple[float, tuple[tuple[int, int], ...], bool]:
    """The first moment from `at` on at which one request more keeps the budget, and the counts with it."""
    most, window = budget
    width, spent = window / SLICES, False
    while True:
        now = math.floor(at / width)
        kept = tuple((place, count) for place, count in counts if place >= now - SLICES)
        if sum(count for _, count in kept) < most:
            return at, _counted(kept, now), spent
        spent = True
        at = max(at, (kept[0][0] + SLICES + 1) * width)
        if math.floor(at / width) <= now:  # rounding
            at = math.nextafter((now + 1) * width, math.inf)


def _counted(kept: tuple[tuple[int, int], ...], now: int) -> tuple[tuple[int, int], ...]:
    # A clock behind the newest slice counts into that one.
    if kept and kept[-1][0] >= now:
        return (*kept[:-1], (kept[-1][0], kept[-1][1] + 1))
    return (*kept, (now, 1))


def held(lane: Lane, until: float, why: str) -> Lane:
    """The host said "not now": nobody takes this lane before `until`."""
    return replace(lane, until=until, why=why) if until > lane.until else lane


def heard(host: Lane, failed: bool, now: float, limits: Limits) -> Lane:
    """What a host's answer, or its silence, makes of the trust in it."""
    if not failed:
        return replace(host, failures=0, rests=0, rest_until=0.0) if host.failures else host
    failures = host.failures + 1
    if failures < limits.strikes:
        return replace(host, failures=failures)
    rest = min(limits.rest * 2.0 ** min(host.rests, 40), limits.longest_rest)
    return replace(host, failures=failures, rests=host.rests + 1, rest_until=now + rest)
