"""A recorder over a host that answers as it is told, each time as if nothing had been asked before."""

from __future__ import annotations

import atexit
import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from pipeline.evidence import Json, Outcome, Receipt
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.github_tokens import Tokens
from pipeline.sources.probes import PaperFacts, Probed, Probes
from pipeline.sources.recorder import Recorder
from pipeline.store import Store

PAPER = PaperFacts(
    title="Lantern Attention for Foggy Graphs", arxiv_id="2505.00001", authors=("Ada Quill", "Bo Farrow", "Cy Marsh")
)
Answering = Callable[[httpx2.Request], httpx2.Response]
_epochs = count()


@cache
def _store() -> Store:
    folder = tempfile.TemporaryDirectory(prefix="reclaim-fuzz-")
    atexit.register(folder.cleanup)
    return Store(Path(folder.name))


def recording(answer: Answering) -> Recorder:
    """An epoch of its own, and a week after the one before: no limit and no answer of that one is in the way."""
    number = next(_epochs)
    # Lines of time are apart by the epoch's prefix, so no pause or lane of one input waits for another.
    clock = SimulatedClock(datetime(2026, 12, 1, tzinfo=UTC))
    return Recorder(_store(), clock, run=f"run{number}", epoch=f"fuzz{number}:", transport=httpx2.MockTransport(answer))


def probing(answer: Answering, tokens: str | Tokens = "") -> Probes:
    return Probes("2505.00001", recording(answer), {"readme.md": b"hello"}, PAPER, {}, tokens)


def answered(made: Probed) -> tuple[Receipt, dict[str, Json]]:
    """What a tool gave, once it is known to be storable."""
    receipt, content = made
    told: Any = json.dumps([receipt.to_json(), content], ensure_ascii=False, allow_nan=False).encode()
    assert told
    assert receipt.outcome in Outcome
    assert receipt.reason
    assert receipt.subject
    return receipt, content
