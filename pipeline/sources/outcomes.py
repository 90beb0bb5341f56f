"""From an exchange to one of four outcomes, where the answer itself says it. One table, used by all ten probes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.evidence import Json, Outcome
from pipeline.sources.recorder import RATE_LIMITED, Answer, Recorder, is_gone


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a probe found out: a receipt without its call, and `content`, the small JSON that the agent is shown."""

    outcome: Outcome
    reason: str
    subject: str
    facts: Mapping[str, Json] = field(default_factory=dict)
    content: Mapping[str, Json] = field(default_factory=dict)


Verdict = tuple[Outcome, str]
_REFUSED = "access_refused"


def undetermined(reason: str) -> Verdict:
    return Outcome.UNDETERMINED, reason


def refused(answer: Answer, recorder: Recorder) -> Verdict | None:
    """What an answer that is not a success says, or None for a success (2xx).

    Gone answers (404, 410, 451, no such name, connection refused, the Hub's "missing or private") are undetermined
    until they were seen twice, `second_look_hours` apart. Only what an interface says about *us* (401, 402, 403, gated)
    is gated; for pages see `turned_away`. All else is undetermined.
    """
    exchange, headers = answer.exchange, answer.headers
    if is_gone(exchange):
        what = exchange.fault or _gone_word(exchange.status, answer)
        if recorder.gone_twice(exchange):
            return Outcome.UNAVAILABLE, f"gone: {what}"
        return undetermined(f"gone_once: {what}")
    status = exchange.status
    if status is None:
        return undetermined(f"{exchange.fault}")
    if RATE_LIMITED in headers:
        return undetermined("rate_limited")
    if challenged(answer):
        return undetermined("challenge")
    if 200 <= status < 300:
        return None
    if headers.get("x-error-code") == "GatedRepo":
        return Outcome.GATED, "gated_repository"
    if "disabled" in headers.get("x-error-message", ""):
        return Outcome.GATED, "disabled_by_host"
    if status in (401, 402, 403, 407):
        return Outcome.GATED, "payment_required" if status == 402 else f"{_REFUSED}: {status}"
    if 300 <= status < 400:
        return undetermined("too_many_redirects")
    return undetermined(f"status_{status}")


def turned_away(answer: Answer, verdict: Verdict | None) -> bool:
    """Whether a verdict rests on nothing but a 401, 403 or 407. Robots get those everywhere: of an ordinary page they
    do not say what people get."""
    return verdict is not None and verdict[1] == f"{_REFUSED}: {answer.status}"


def challenged(answer: Answer) -> bool:
    """A robot check: it speaks about the asker, not about the thing."""
    headers = answer.headers
    if "cf-mitigated" in headers:
        return True
    if answer.status not in (403, 429, 503):
        return False
    head = answer.body[:20_000].lower()
    return any(mark in head for mark in (b"cf-chl", b"just a moment...", b"checking your browser", b"captcha")) or (
        "cloudflare" in headers.get("server", "").lower() and answer.status != 403
    )


def _gone_word(status: int | None, answer: Answer) -> str:
    if status == 451:
        return "451 blocked for legal reasons"
    if status == 401:
        return "missing or private"
    return f"{status}"


def json_of(answer: Answer) -> Json:
    """The JSON of a body, or None where it is none; `NaN` is none, and half characters are replaced."""
    try:
        return cleaned(json.loads(answer.body, parse_constant=_no_number))
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def cleaned(value: Json) -> Json:
    """A value that can be stored: no half characters (surrogates), no numbers beyond a float."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", errors="replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {cleaned(str(key)): cleaned(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
