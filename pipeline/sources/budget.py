"""What a run will ask of whom: requests, hours, tokens, dollars and bytes, forecast from the papers that were done.

Pure arithmetic. Papers are done in an order that is a uniform draw, so those done stand for those to come; a forecast
is an interval (95 %, Student's t for the sum of further papers), and what nothing is known of stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from urllib.parse import urlsplit

from pipeline.evidence import Exchange
from pipeline.sources.pacing import Limits, rule_of

STATED: Mapping[str, tuple[int, float]] = {
    "api.github.com": (60, 3600.0),
    "api2.openreview.net/attachment": (36, 3600.0),
}
"""(requests, seconds) that a service states, beyond what the client counts for itself: it learns of them from answers.
GitHub's REST API for strangers; OpenReview's attachments (mireklzicar/openreview_downloader#4)."""
_LEAST = 2
"""Papers from which a spread can be told at all."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A number that is known (`low` = `high`) or forecast. Never below zero."""

    low: float
    likely: float
    high: float

    def __add__(self, other: Interval) -> Interval:
        """Both at their ends: sums of forecasts are stated no narrower than they may be."""
        return Interval(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def through(self, rule: Callable[[float], float]) -> Interval:
        """Each end through a function that rises."""
        return Interval(rule(self.low), rule(self.likely), rule(self.high))

    @property
    def known(self) -> bool:
        return self.low == self.high


def exactly(number: float) -> Interval:
    return Interval(number, number, number)


def forecast(done: Sequence[float], more: int) -> Interval | None:
    """The sum over `more` further papers like those done; None where too few are done to tell."""
    if more <= 0:
        return exactly(0)
    if len(done) < _LEAST:
        return None
    mean = fmean(done)
    half = _t975(len(done) - 1) * stdev(done) * math.sqrt(more * (1 + more / len(done)))
    return Interval(max(0.0, mean * more - half), mean * more, mean * more + half)


def _t975(freedom: int) -> float:
    """Student's t, two-sided 95 %: the first terms of its expansion about the normal (Abramowitz and Stegun 26.7.5);
    within 1 % from three degrees of freedom on, and exact values below."""
    if freedom < 3:
        return {1: 12.706, 2: 4.303}[freedom]
    z = NormalDist().inv_cdf(0.975)
    terms = (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return z + terms + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)


# ---------------------------------------------------------------------------------------------------- requests to hours


def lane_of(url: str, authenticated: bool = False, limits: Limits | None = None) -> str:
    """Who shares a rhythm with a request: the host, or a part of it that has one of its own."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if host == "api2.openreview.net" and parts.path.startswith("/attachment"):
        return f"{host}/attachment"
    lane = rule_of(host, parts.path, "token" if authenticated else "", limits or Limits()).lane.partition("#")[0]
    return f"token@{lane}" if authenticated and host == "api.github.com" else lane


def is_named(lane: str) -> bool:
    """Whether the limits know a lane; all others are hosts that get a request now and then."""
    host, _, path = lane.removeprefix("token@").partition("/")
    return rule_of(host, f"/{path}", "", Limits()).named


def lanes_of(exchange: Exchange) -> list[str]:
    """The lanes that one recorded exchange took requests of: each hop of a redirect is one."""
    hops = [url for _, url in exchange.redirects]
    return [lane_of(url, exchange.authenticated) for url in [*hops, exchange.final_url or exchange.url]]


def seconds(lane: str, requests: float, limits: Limits | None = None) -> float:
    """How long a lane's requests take one after another, at our rhythm and within what the service gives out.

    Waits alone: the bytes' own time depends on the line and comes on top.
    """
    place = lane.removeprefix("token@")
    host, _, path = place.partition("/")
    rule = rule_of(host, f"/{path}", "token" if lane.startswith("token@") else "", limits or Limits())
    longest = requests * rule.interval
    for most, window in filter(None, (rule.budget, STATED.get(lane))):
        longest = max(longest, max(0, math.ceil(requests / most) - 1) * window)
    return longest


def batches(count: int, size: int) -> int:
    """Requests that ask for `count` things, `size` at a time."""
    return -(-count // size)


# --------------------------------------------------------------------------------------------------------------- words


def number(value: float) -> str:
    """Two digits that mean something; whole numbers below a hundred as they are."""
    if value < 10:
        return f"{value:.1f}".removesuffix(".0")
    if value < 100:
        return f"{value:.0f}"
    digits = 10 ** (len(str(int(value))) - 2)
    return f"{round(value / digits) * digits:,.0f}"


def shown(interval: Interval | None) -> str:
    """`1,547`, or `about 1,200 (900 to 1,500)`; "unknown" for None."""
    if interval is None:
        return "unknown"
    if interval.known:
        return f"{interval.likely:,.0f}" if interval.likely == round(interval.likely) else number(interval.likely)
    return f"about {number(interval.likely)} ({number(interval.low)} to {number(interval.high)})"


def duration(spent: float) -> str:
    """Seconds in the largest unit that fits."""
    for unit, size in (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if spent >= 1.5 * size:
            return f"{number(spent / size)} {unit}"
    return f"{number(spent)} second{'' if number(spent) == '1' else 's'}"


def size(bytes_: float) -> str:
    """Bytes in the largest unit that fits."""
    for unit, step in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if bytes_ >= step:
            return f"{number(bytes_ / step)} {unit}"
    return f"{number(bytes_ / 1e3)} kB"
