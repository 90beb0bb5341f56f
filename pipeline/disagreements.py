"""Where a second reading of a paper differs from the first, field by field: proposals, never answers.

A reading is an episode of its own, derived by the same rules from its own receipts. A proposal about an artifact rests
on receipts or is none; it may make a signal true as well as false. Where the target differs, hours and band come with
it, derived together. What changes a label is a person's event in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from pipeline.derivation import Derivation
from pipeline.events import QUESTIONS, Question
from pipeline.evidence import Json, Signal
from pipeline.labels import Label
from pipeline.tiers import Tier

Look = Literal["recheck 1", "recheck 2", "prober", "double read"]
CLOSE = 0.2
"""Hours closer than a fifth say the same."""
ROUTES: tuple[Question, ...] = ("code_available", "weights_available", "dataset_available")
"""What opens a way to the pinned metric once it is there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Disagreement:
    """One field that two readings answer differently, in the words of the audit's questions.

    `together` is what a proposed target brings with it: target, hours (H100), band, tier. `route`: the other reading
    reached an artifact that the first did not. `cheaper`: it found a cheaper configuration that may support the claim.
    """

    arxiv_id: str
    question: Question
    look: Look
    classifier: str
    ours: Json
    theirs: Json
    receipts: tuple[str, ...]
    reason: str
    route: bool = False
    cheaper: bool = False
    together: dict[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "receipts": list(self.receipts)}

    @classmethod
    def from_json(cls, value: dict[str, Json]) -> Disagreement:
        return cls(**{**value, "receipts": tuple(value["receipts"])})


def disagreements(first: Derivation, second: Derivation, look: Look) -> tuple[Disagreement, ...]:
    """What the second reading proposes about the first's row, in the order of the audit's questions."""
    found = [*_signals(first, second, look), *_words(first, second, look), *_target(first, second, look)]
    return tuple(sorted(found, key=lambda one: QUESTIONS.index(one.question)))


def routes(found: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
    """Those that open a way which the row's tier says is shut."""
    return tuple(one for one in found if one.route)


def first_seen(found: Iterable[Disagreement]) -> list[Disagreement]:
    """The auditors' order: routes, then cheaper configurations, then by question; by paper among equals."""

    def rank(one: Disagreement) -> tuple[Json, ...]:
        return (not one.route, not one.cheaper, QUESTIONS.index(one.question), one.arxiv_id, one.look, one.classifier)

    return sorted(found, key=rank)


def wants_looks(row: Derivation) -> bool:
    """Whether a row stands or falls with what nobody found: it waits for second looks alone, or is blocked alone."""
    if row.tier not in (Tier.REIMPLEMENT, Tier.BLOCKED):
        return False
    return all(reason.startswith(("second looks missing", "artifact-blocked")) for reason in row.ineligible)


def _said(label: Label) -> Json:
    return label.value if label.applicable else "not_needed"


def _signals(first: Derivation, second: Derivation, look: Look) -> Iterator[Disagreement]:
    for signal in Signal:
        ours, theirs = first.label(signal), second.label(signal)
        # Unverified proposes nothing, and so does a settled label without a receipt, but for what is not needed.
        if theirs.value is None or (theirs.applicable and not theirs.receipts) or _said(ours) == _said(theirs):
            continue
        question = next(q for q in QUESTIONS if q == signal.value)
        yield Disagreement(
            arxiv_id=first.arxiv_id,
            question=question,
            look=look,
            classifier=second.inputs.classifier,
            ours=_said(ours),
            theirs=_said(theirs),
            receipts=theirs.receipts,
            reason=theirs.reason,
            route=question in ROUTES and theirs.value is True,
        )


def _words(first: Derivation, second: Derivation, look: Look) -> Iterator[Disagreement]:
    ours, theirs = first.inputs, second.inputs
    needs = (sorted(ours.needs), sorted(theirs.needs))
    if ours.paper_kind != theirs.paper_kind:
        yield _word(first, second, look, "kind", ours.paper_kind, theirs.paper_kind, theirs.claim_quote)
    if needs[0] != needs[1]:
        yield _word(first, second, look, "needs", *needs, "; ".join(theirs.needs.values()) or "no need is quoted")
    if theirs.claim_quote and _plain(ours.claim_quote) != _plain(theirs.claim_quote):
        yield _word(first, second, look, "claim", ours.claim_quote, theirs.claim_quote, theirs.central_claim)


def _word(
    first: Derivation, second: Derivation, look: Look, question: Question, ours: Json, theirs: Json, reason: str
) -> Disagreement:
    return Disagreement(
        arxiv_id=first.arxiv_id,
        question=question,
        look=look,
        classifier=second.inputs.classifier,
        ours=ours,
        theirs=theirs,
        receipts=(),
        reason=reason,
    )


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _target(first: Derivation, second: Derivation, look: Look) -> Iterator[Disagreement]:
    """Another target with its own hours and band; or, of the same target, other hours."""
    ours, theirs = first.inputs.target, second.inputs.target
    if theirs is None or second.inputs.target_problems:
        return
    if ours is not None and (ours.number, ours.anchor.table) == (theirs.number, theirs.anchor.table):
        if not _same_hours(first.hours, second.hours) and second.hours is not None:
            quotes = "; ".join(part.quote for part in second.inputs.compute if part.quote)
            yield _word(first, second, look, "hours", first.hours, second.hours, quotes)
        return
    cheaper = second.hours is not None and (first.hours is None or second.hours < first.hours * (1 - CLOSE))
    question = "a cheaper reported configuration may support the claim: " if cheaper else ""
    yield Disagreement(
        arxiv_id=first.arxiv_id,
        question="target",
        look=look,
        classifier=second.inputs.classifier,
        ours=None if ours is None else ours.model_dump(mode="json"),
        theirs=theirs.model_dump(mode="json"),
        receipts=(),
        reason=f"{question}{theirs.config}, {theirs.metric} {theirs.value}: {theirs.anchor.quote}"[:600],
        cheaper=cheaper,
        together={
            "target": theirs.model_dump(mode="json"),
            "hours": second.hours,
            "band": second.band,
            "tier": None if second.tier is None else second.tier.value,
        },
    )


def _same_hours(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return abs(a - b) <= CLOSE * max(a, b)
