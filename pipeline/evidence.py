"""What tools saw, and what that entails.

Three values: an *exchange* is one HTTP request and its answer, a *receipt* is what one tool call established from exchanges,
a *label* is what the receipts of an episode entail about one signal. `label` is the only place where receipts and a
model's word meet. None of these values knows the time, the attempt or the run: those are sightings, kept in the store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = Any


def canonical(value: Json) -> str:
    """JSON with sorted keys, no spaces, no NaN: the one spelling that is hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Json) -> str:
    """SHA-256 of the canonical JSON of `value`, as 64 hex digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


class Outcome(StrEnum):
    """What one tool call established about its subject."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    GATED = "gated"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One request and its answer, after redirects.

    `status` is the final HTTP status, or None where no answer came; then `fault` says why: nxdomain, refused, timeout, tls,
    reset, unreachable, blocked (a private address). `redirects` is the chain of (status, url) before the final answer.
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
        return digest(self.to_json())

    @property
    def gone(self) -> bool:
        """The kind of answer that proves absence once it is seen twice, at least `second_look_hours` apart."""
        return self.status in (404, 410, 451) or self.fault in ("nxdomain", "refused")


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What one tool call established about one subject.

    `subject` names the artifact: `github:owner/name`, `hf:model:org/name`, `hf:dataset:org/name`, `hf:space:org/name`,
    `url:https://…`, `supplement:path`, or `search:github`, `search:hub`. `facts` are what the probe read from the answers, as small JSON; rules read
    facts, never bodies. Receipts made with credentials never prove public access.
    """

    paper: str
    tool: str
    arguments: Mapping[str, Json]
    exchanges: tuple[str, ...]
    outcome: Outcome
    reason: str
    subject: str
    facts: Mapping[str, Json] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """hash(paper, tool, arguments, exchanges in call order, outcome)."""
        return digest([self.paper, self.tool, dict(self.arguments), list(self.exchanges), str(self.outcome)])

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A classifier's word about one signal: a value, whether the MRE needs the artifact at all, and the artifacts it means.

    `artifacts` are subjects as in `Receipt.subject`; `receipts` the ids it cites.
    """

    signal: Signal
    value: bool
    needed: bool = True
    artifacts: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    evidence: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What code (not the model) knows about the paper when it judges a claim.

    `own`: subjects that the paper itself presents as its own artifacts of this kind, or that name the paper back.
    `unresolved_links`: links of the paper that could lead to an artifact and whose probes stayed undetermined.
    `not_needed`: why the bundle shows that the MRE does not need this artifact, or "" where it does not show it.
    `training_needed`: the MRE trains (no released weights), so evaluation-only code does not suffice.
    `standard_names`: data sets of the target that the reference table lists and that are used with their usual splits.
    `custom_data`: the target's data is not (only) a listed benchmark.
    """

    own: frozenset[str] = frozenset()
    unresolved_links: tuple[str, ...] = ()
    not_needed: str = ""
    training_needed: bool = True
    standard_names: tuple[str, ...] = ()
    custom_data: bool = False
    absence_searches: Mapping[str, int] = field(default_factory=lambda: {"github": 2, "hub": 1})


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """What the receipts entail. `value` is None exactly while the status is unverified."""

    signal: Signal
    value: bool | None
    verification: Verification
    status: Status
    receipts: tuple[str, ...]
    model_value: bool
    reason: str

    @property
    def applicable(self) -> bool:
        return self.verification is not Verification.NOT_APPLICABLE


ABSENCE_TOOLS: Mapping[Signal, Mapping[str, tuple[str, ...]]] = {
    Signal.CODE: {"github": ("github_search_repositories", "github_search_code")},
    Signal.WEIGHTS: {"hub": ("hub_search",)},
    Signal.DATA: {"hub": ("hub_search",)},
    Signal.STANDARD: {},
}
"""Which complete searches prove absence, per signal; how many of each is `absence_searches` of the edition."""


def meets_rule(signal: Signal, receipt: Receipt, context: Context) -> bool:
    """Whether one receipt by itself satisfies the signal's own rule (labelling guide, "Code", "Weights", "Data").

    Reaching a place is not enough: code needs files that run the MRE in a place of the paper's own, weights a checkpoint of a
    megabyte or more that a stranger got bytes of, data a file or archive that a stranger got bytes of.
    """
    facts = receipt.facts
    if receipt.outcome is not Outcome.AVAILABLE or facts.get("authenticated"):
        return False
    if signal is Signal.CODE:
        if receipt.subject not in context.own or not facts.get("code_files"):
            return False
        return bool(not context.training_needed or facts.get("train_entries") or not facts.get("eval_entries"))
    if signal is Signal.WEIGHTS:
        return receipt.subject in context.own and bool(facts.get("weights_open")) and not facts.get("adapter_only")
    return bool(facts.get("data_open"))


def _complete_searches(signal: Signal, receipts: Iterable[Receipt]) -> dict[str, int]:
    """Distinct complete searches by family: the same query twice counts once."""
    found: dict[str, int] = {}
    for family, tools in ABSENCE_TOOLS[signal].items():
        queries = {
            canonical(dict(r.arguments))
            for r in receipts
            if r.tool in tools and r.outcome is Outcome.AVAILABLE and r.facts.get("complete")
        }
        found[family] = len(queries)
    return found


Made = Callable[[bool | None, Verification, Iterable[Receipt], str], Label]


def _standard(mine: Sequence[Receipt], receipts: Sequence[Receipt], context: Context, made: Made) -> Label:
    """Standard is a fact of the reference table; the receipt shows that the named data set is the one that exists.

    A gate does not change what a data set is, so a gated home still proves a standard benchmark.
    """
    seen = [r for r in mine if r.outcome in (Outcome.AVAILABLE, Outcome.GATED)]
    if context.standard_names and not context.custom_data:
        names = ", ".join(context.standard_names)
        if seen:
            return made(True, Verification.TOOL_VERIFIED, seen, f"listed benchmark with its usual splits: {names}")
        if mine:
            return made(None, Verification.TOOL_FAILED, mine, f"the home of {names} could not be reached")
        return made(None, Verification.PAPER_TEXT_ONLY, (), f"no receipt for the home of {names}")
    settled = [r for r in mine if r.outcome is not Outcome.UNDETERMINED]
    if settled:
        return made(False, Verification.TOOL_VERIFIED, settled, "the target's data is not a listed benchmark")
    searches = [r for r in receipts if r.tool == "hub_search" and r.facts.get("complete")]
    if searches:
        return made(False, Verification.SEARCHED_NOT_FOUND, searches, "the target's data is not a listed benchmark")
    return made(None, Verification.PAPER_TEXT_ONLY, (), "no receipt about the target's data")


def label(claim: Claim, receipts: Sequence[Receipt], context: Context) -> Label:
    """Combine a model's word with the receipts of its episode: the table of the design's first rule, row by row.

    `receipts` are all receipts of this episode, the link check's included, in call order. Receipts of another paper or
    made with credentials are ignored; a cited id that is not among them counts for nothing.
    """
    signal = claim.signal
    about = set(claim.artifacts)
    mine = [r for r in receipts if r.subject in about or (signal is not Signal.STANDARD and r.subject in context.own)]

    def made(value: bool | None, how: Verification, used: Iterable[Receipt], reason: str) -> Label:
        if value is None:
            status = Status.UNVERIFIED
        else:
            status = Status.CONFIRMED if value == claim.value else Status.CONTRADICTED
        ids = tuple(dict.fromkeys(r.id for r in used))
        return Label(
            signal=signal,
            value=value,
            verification=how,
            status=status,
            receipts=ids,
            model_value=claim.value,
            reason=reason,
        )

    if context.not_needed:
        # Not charged: what the bundle shows outweighs a model that asks for an artifact nobody needs.
        return made(False, Verification.NOT_APPLICABLE, (), context.not_needed)
    if signal is Signal.STANDARD:
        return _standard(mine, receipts, context, made)

    met = [r for r in mine if meets_rule(signal, r, context)]
    if met:
        return made(True, Verification.TOOL_VERIFIED, met, "available, and the signal's own rule is met")
    # A later receipt about the same subject by the same tool replaces an earlier one: second looks settle first ones.
    latest = {(r.subject, r.tool, canonical(dict(r.arguments))): r for r in mine}.values()
    open_ = [r for r in latest if r.outcome is Outcome.UNDETERMINED]
    if open_:
        return made(None, Verification.TOOL_FAILED, open_, f"undetermined: {open_[0].subject} ({open_[0].reason})")
    shut = [r for r in latest if r.outcome in (Outcome.GATED, Outcome.UNAVAILABLE)]
    if shut:
        return made(False, Verification.TOOL_VERIFIED, shut, f"{shut[0].outcome}: {shut[0].subject} ({shut[0].reason})")
    if not receipts:
        return made(None, Verification.PAPER_TEXT_ONLY, (), "no receipt")
    if context.unresolved_links:
        reason = f"absence not proven: {len(context.unresolved_links)} link(s) undetermined, first {context.unresolved_links[0]}"
        return made(None, Verification.TOOL_FAILED, latest, reason)
    done = _complete_searches(signal, receipts)
    short = {f: n for f, n in done.items() if n < context.absence_searches.get(f, 1)}
    if short or not done:
        failed = [r for r in receipts if r.subject.startswith("search:") and r.outcome is Outcome.UNDETERMINED]
        how = Verification.TOOL_FAILED if failed else Verification.PAPER_TEXT_ONLY
        lacking = ", ".join(f"{f} {n} of {context.absence_searches.get(f, 1)}" for f, n in sorted(short.items()))
        return made(None, how, failed, f"absence not proven: complete searches {lacking}")
    searches = [r for r in receipts if r.subject.startswith("search:") and r.facts.get("complete")]
    return made(False, Verification.SEARCHED_NOT_FOUND, [*latest, *searches], "nothing found that meets the rule")
