"""Out into the world and back: tries at one question, each hop in its lane, redirects followed. Knows no record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx2

from pipeline.record import Sent
from pipeline.sources.clocks import Clock
from pipeline.sources.guard import refusal
from pipeline.sources.lanes import Lanes
from pipeline.sources.pacing import Limits, Rule, rate_limited, rule_of, told_to_wait, wait_before, worth_repeating
from pipeline.sources.wire import Asked, Raw, send, without_default_port

DEFERRED = "deferred"
"""A fault of ours: nobody was asked, since the host is left alone for now."""
_REDIRECTS = (301, 302, 303, 307, 308)
_GONE = (404, 410, 451)

Prolong = Callable[[float], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Try:
    """One try: its answer, what every host on the way saw of it, and, where the host wants to be left alone for longer
    than we wait, until when (seconds since 1970)."""

    number: int
    raw: Raw
    sent: tuple[Sent, ...]
    until: float | None = None


class Outward:
    """The way out of one recorder. Safe from several threads."""

    def __init__(self, transport: httpx2.BaseTransport, lanes: Lanes, clock: Clock, limits: Limits) -> None:
        self._transport = transport
        self._lanes = lanes
        self._clock = clock
        self._limits = limits

    def tries(self, asked: Asked, prolong: Prolong) -> Iterator[Try]:
        """Tries at a question until one need not be repeated; whoever takes them keeps each before the next.

        `prolong` hears of every wait, as the moment at which it ends.
        """
        for number in range(1, self._limits.attempts + 1):
            raw, sent, rule, until = self._follow(asked, prolong)
            if raw.fault == DEFERRED and number > 1:
                return  # what the tries before it found out stands
            limited = rate_limited(raw.status, raw.headers, raw.body, raw.final_url)
            wait = wait_before(number, raw.headers, limited, self._clock.now(), self._limits, raw.body, rule.named)
            told = self._hold(rule, raw, limited, wait)
            if until is None and wait is None and told is not None:
                until = self._clock.now().timestamp() + told
            yield Try(number=number, raw=raw, sent=sent, until=until)
            if wait is None or not worth_repeating(raw.status, raw.fault, limited):
                return
            if not limited:  # a lane that is held makes everybody wait, this question too
                prolong(self._clock.now().timestamp() + wait)
                self._clock.sleep(wait)

    def _hold(self, rule: Rule, raw: Raw, limited: bool, wait: float | None) -> float | None:
        """Keep what an answer says of the limits where every process sees it; returns the seconds it names."""
        spent = raw.headers.get("x-ratelimit-remaining") == "0" or "ratelimit" in raw.headers
        if not (limited or spent or (raw.status or 0) >= 500):
            return None
        told = told_to_wait(raw.headers, raw.body, self._clock.now())
        seconds = told if told is not None else wait if limited else None
        if seconds is not None and seconds > 0:
            why = "asked for patience" if limited or not spent else "budget spent"
            self._lanes.hold(rule, seconds, f"{rule.host} {why}")
        return told

    def _follow(self, asked: Asked, prolong: Prolong) -> tuple[Raw, tuple[Sent, ...], Rule, float | None]:
        """Send, and follow up to `limits.redirects` redirects, guarding every hop. Credentials stay on their host."""
        method, url, headers, body = asked.method, asked.url, dict(asked.headers), asked.body
        credential = " ".join(asked.secrets)
        chain: list[tuple[int, str]] = []
        sent: list[Sent] = []
        while True:
            parts = urlsplit(url) if refusal(url) is None else urlsplit("")
            rule = rule_of(parts.hostname or "", parts.path, credential, self._limits)
            if not rule.host:
                return Raw.failed("blocked", url, chain), tuple(sent), rule, None
            turn = self._lanes.wait(rule, prolong)
            if turn.waits is None:
                return Raw.failed(DEFERRED, url, chain), tuple(sent), rule, turn.until
            raw = send(
                self._transport, replace(asked, method=method, url=url, headers=headers, body=body), self._limits
            )
            if turn.failing or _failed(raw):
                self._lanes.heard(rule, failed=_failed(raw))
            raw = replace(raw, final_url=url, redirects=tuple(chain))
            location = raw.headers.get("location")
            goes_on = asked.follow and raw.status in _REDIRECTS and bool(location)
            goes_on = goes_on and len(chain) < self._limits.redirects
            if raw.fault != "blocked":
                sent.append(Sent(host=parts.hostname or "", outcome=_outcome(raw, goes_on), size=len(raw.body)))
            if not goes_on or raw.status is None:
                return raw, tuple(sent), rule, None
            chain.append((raw.status, url))
            try:
                following = without_default_port(_without_fragment(urljoin(url, location)))
                elsewhere = urlsplit(following).hostname != parts.hostname
            except ValueError:
                return Raw.failed("blocked", url, chain), tuple(sent), rule, None  # the place it names is no URL
            if elsewhere:
                headers = {name: value for name, value in headers.items() if name not in ("authorization", "cookie")}
                credential = ""
            if raw.status == 303 or (raw.status in (301, 302) and method == "POST"):
                method, body = ("HEAD" if method == "HEAD" else "GET"), b""
            url = following


def _failed(raw: Raw) -> bool:
    """Whether a host was silent or in trouble, as against having an answer that we do not like."""
    if raw.status is None:
        return raw.fault in ("timeout", "reset", "unreachable", "tls")
    return raw.status >= 500


def _outcome(raw: Raw, redirected: bool) -> str:
    if redirected:
        return "redirected"
    if raw.status == 304:
        return "unchanged"
    if rate_limited(raw.status, raw.headers, raw.body, raw.final_url):
        return "limited"
    if raw.status in _GONE or raw.fault in ("nxdomain", "refused"):
        return "gone"
    return "failed" if raw.status is None or raw.status >= 500 or raw.status in (408, 425) else "answered"


def _without_fragment(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(fragment=""))
