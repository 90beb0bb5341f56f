"""What keeps a whole edition from being fetched, and what an answer that is no success says."""

from __future__ import annotations

from pipeline.sources.outcomes import challenged
from pipeline.sources.recorder import RATE_LIMITED, Answer


class FetchError(RuntimeError):
    """Something a whole edition hangs on could not be fetched; the message says from where, why and what to do."""


def trouble(answer: Answer) -> str:
    """Why an answer is not the thing asked for, in two or three words."""
    if answer.status is None:
        return str(answer.exchange.fault)
    if RATE_LIMITED in answer.headers:
        return "rate limited"
    if challenged(answer):
        return "challenge"
    return "empty answer" if answer.status == 200 and not answer.body else f"status {answer.status}"
