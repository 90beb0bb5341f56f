"""How patient and how polite the recorder is: attempts, waits, one rhythm a host. Pure arithmetic but for `Pace`."""

from __future__ import annotations

import email.utils
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pipeline.sources.clocks import Clock

# Seconds between two requests to a host or to a path of it. arXiv: its API terms of use. GitHub: 10 searches a minute
# for strangers, and "no concurrent bursts". Hugging Face: 500 calls in 5 minutes for strangers.
INTERVALS: Mapping[str, float] = {
    "arxiv.org": 3.0,
    "export.arxiv.org": 3.0,
    "api.github.com": 1.0,
    "api.github.com/search": 6.0,
    "huggingface.co": 0.6,
    "api2.openreview.net": 1.0,
}
_REPEATABLE_FAULTS = ("timeout", "tls", "reset", "unreachable")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in seconds. `longest_wait`: a host that asks for more is left for another day."""

    attempts: int = 4
    first_wait: float = 2.0
    backoff_cap: float = 60.0
    longest_wait: float = 3_700.0
    timeout: float = 30.0
    total_time: float = 300.0
    redirects: int = 5
    page_bytes: int = 2 << 20
    archive_bytes: int = 20 << 20
    interval: float = 0.5
    intervals: Mapping[str, float] = field(default_factory=lambda: dict(INTERVALS))


def rate_limited(status: int | None, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether an answer says "not now" and nothing about the thing asked for."""
    if status == 429:
        return True
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


def wait_before(attempt: int, headers: Mapping[str, str], limited: bool, now: datetime, limits: Limits) -> float | None:
    """Seconds to wait after attempt number `attempt` (the first is 1), or None where the host asks for too long."""
    wait = min(limits.first_wait * 2 ** (attempt - 1), limits.backoff_cap)
    asked = _retry_after(headers.get("retry-after", ""), now)
    if limited and asked is None and headers.get("x-ratelimit-remaining") == "0":
        reset = headers.get("x-ratelimit-reset", "")
        asked = float(reset) - now.timestamp() + 1 if reset.isdecimal() else None
    wait = max(wait, asked or 0.0)
    return wait if wait <= limits.longest_wait else None


def _retry_after(value: str, now: datetime) -> float | None:
    """Seconds, or an HTTP date (RFC 9110, 10.2.3)."""
    if value.strip().isdecimal():
        return float(value)
    try:
        at = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now.timestamp()


class Pace:
    """One rhythm a host, shared by threads: each request takes the next free moment, then sleeps till then."""

    def __init__(self, clock: Clock, limits: Limits) -> None:
        self._clock = clock
        self._limits = limits
        self._next: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def _lane(self, host: str, path: str) -> tuple[str, float]:
        first = f"{host}/{path.strip('/').split('/')[0]}"
        for lane in (first, host):
            if lane in self._limits.intervals:
                return lane, self._limits.intervals[lane]
        return host, self._limits.interval

    def wait(self, host: str, path: str) -> None:
        lane, interval = self._lane(host, path)
        with self._lock:
            now = self._clock.now()
            mine = max(now, self._next.get(lane, now))
            self._next[lane] = mine + timedelta(seconds=interval)
        self._clock.sleep((mine - now).total_seconds())

    def hold(self, host: str, path: str, seconds: float) -> None:
        """The host said "not now": nobody asks it before `seconds` from now."""
        lane, _ = self._lane(host, path)
        with self._lock:
            until = self._clock.now() + timedelta(seconds=seconds)
            self._next[lane] = max(until, self._next.get(lane, until))
