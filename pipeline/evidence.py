"""What tools saw.

Two values: an *exchange* is one HTTP request and its answer, a *receipt* is what one tool call established from
exchanges. Neither knows the time, the attempt or the run: those are sightings, kept in the store. What the receipts of
an episode entail is `labels.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = Any
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical(value: Json) -> str:
    """JSON with sorted keys, no spaces, no NaN: the one spelling that is hashed."""
    return _encode(value)


def digest(value: Json) -> str:
    """SHA-256 of the canonical JSON of `value`, as 64 hex digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


WEB_LEADS = "search:web"
"""The subject of a web search: leads to look at with other tools. It is no place, and its searches are not complete, so
that no label, absence, ownership or person's answer can rest on it."""


class NotRecorded(LookupError):
    """Replay asked for an exchange that the record does not hold. No tool may make a receipt of it."""


class Outcome(StrEnum):
    """What one tool call established about its subject."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    GATED = "gated"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One request and its answer, after redirects.

    `status` is the final HTTP status, or None where no answer came; then `fault` says why: nxdomain, refused, timeout,
    tls, reset, unreachable, blocked (a private address), deferred (nobody was asked: the host is left alone for now).
    `redirects` is the chain of (status, url) before the final answer.
    """

    method: str
    url: str
    request_sha256: str | None = None
    status: int | None
    fault: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body_sha256: str | None = None
    body_size: int = 0
    redirects: tuple[tuple[int, str], ...] = ()
    final_url: str = ""
    authenticated: bool = False
    _id: str = field(default="", init=False, repr=False, compare=False)

    def to_json(self) -> dict[str, Json]:
        return {
            "method": self.method,
            "url": self.url,
            "request_sha256": self.request_sha256,
            "status": self.status,
            "fault": self.fault,
            "headers": [list(pair) for pair in self.headers],
            "body_sha256": self.body_sha256,
            "body_size": self.body_size,
            "redirects": [list(hop) for hop in self.redirects],
            "final_url": self.final_url,
            "authenticated": self.authenticated,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Exchange:
        return cls(
            **{
                **value,
                "headers": tuple((k, v) for k, v in value["headers"]),
                "redirects": tuple((s, u) for s, u in value["redirects"]),
            }
        )

    @property
    def id(self) -> str:
        if not self._id:
            object.__setattr__(self, "_id", digest(self.to_json()))
        return self._id

    @property
    def gone(self) -> bool:
        """The kind of answer that proves absence once it is seen twice, at least `second_look_hours` apart."""
        return self.status in (404, 410, 451) or self.fault in ("nxdomain", "refused")


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What one tool call established about one subject.

    `subject` names the artifact: `github:owner/name`, `hf:model:org/name`, `hf:dataset:org/name`, `hf:space:org/name`,
    `url:https://…`, `supplement:path`, or `search:github`, `search:hub`, `search:web`. `facts` are what the
    probe read from the answers, as small JSON; rules read facts, never bodies. Receipts made with credentials never
    prove public access.
    """

    paper: str
    tool: str
    arguments: Mapping[str, Json]
    exchanges: tuple[str, ...]
    outcome: Outcome
    reason: str
    subject: str
    facts: Mapping[str, Json] = field(default_factory=dict)
    _id: str = field(default="", init=False, repr=False, compare=False)

    @property
    def id(self) -> str:
        """hash(paper, tool, arguments, exchanges in call order, outcome). Reckoned once: whoever reads a receipt asks
        for it."""
        if not self._id:
            told = [self.paper, self.tool, dict(self.arguments), list(self.exchanges), str(self.outcome)]
            object.__setattr__(self, "_id", digest(told))
        return self._id

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "paper": self.paper,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "exchanges": list(self.exchanges),
            "outcome": str(self.outcome),
            "reason": self.reason,
            "subject": self.subject,
            "facts": dict(self.facts),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Receipt:
        return cls(
            paper=value["paper"],
            tool=value["tool"],
            arguments=value["arguments"],
            exchanges=tuple(value["exchanges"]),
            outcome=Outcome(value["outcome"]),
            reason=value["reason"],
            subject=value["subject"],
            facts=value["facts"],
        )


class Signal(StrEnum):
    """The four questions whose answers set a tier."""

    CODE = "code_available"
    DATA = "dataset_available"
    WEIGHTS = "weights_available"
    STANDARD = "dataset_is_standard"


class Verification(StrEnum):
    TOOL_VERIFIED = "tool_verified"
    SEARCHED_NOT_FOUND = "tool_searched_not_found"
    NOT_APPLICABLE = "not_applicable"
    TOOL_FAILED = "tool_failed"
    PAPER_TEXT_ONLY = "paper_text_only"


class Status(StrEnum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNVERIFIED = "unverified"


_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?[bm])(?![a-z0-9])", re.IGNORECASE)


def sizes(text: str) -> tuple[str, ...]:
    """Model sizes a text names, as "7b" or "130m", each once, in order."""
    return tuple(dict.fromkeys(m[1].lower() for m in _SIZE.finditer(text)))


def lists(receipt: Receipt) -> bool:
    """Whether a call looked at a place as a whole: a listing of a repository or Hub entry, the page or file itself."""
    if receipt.subject.startswith(("github:", "hf:")):
        return receipt.tool in ("github_repo", "github_tree", "hub_repo", "hub_tree") or "files" in receipt.facts
    return not receipt.subject.startswith("search:")
