"""Time, injected: the recorder waits on a clock, never on `time.sleep` itself."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present as an aware UTC time."""
        ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The time of day when it was made, and how long ago that is: a machine whose clock is set meanwhile, by an hour or
    a year, neither shortens nor lengthens a wait of this process, nor puts a day between two of its looks."""

    def __init__(self) -> None:
        self._began, self._since = datetime.now(UTC), _running()

    def now(self) -> datetime:
        return self._began + timedelta(seconds=_running() - self._since)

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


def _running() -> float:
    """Seconds that nobody can set; they pass while the machine sleeps, too, where it can tell."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SimulatedClock:
    """A clock for offline editions and tests: sleeping moves it on at once. Shared by threads."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError(f"a clock needs an aware time, not {start!r}")
        self._now = start.astimezone(UTC)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._now += timedelta(seconds=max(0.0, seconds))
