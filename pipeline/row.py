"""The 25 fields of a published row, as types, and what a row hash covers. Nothing else defines them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.evidence import Json, digest

Kind = Literal["empirical", "theoretical", "position", "survey"]
BarKind = Literal["point_estimate", "direction", "threshold", "magnitude", "range"]
BasisKind = Literal["paper_reported", "derived_from_config", "comparable_experiment", "compute_unspecified"]
PublishedVerification = Literal["tool_verified", "tool_searched_not_found", "not_applicable"]
Text = Annotated[str, Field(min_length=1)]


class Fixed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class VerifiedLinks(Fixed):
    """Links that receipts of the row resolved, by what they lead to."""

    paper_or_project: list[str]
    code: list[str]
    dataset: list[str]
    weights: list[str]


class PublishedSignal(Fixed):
    value: bool
    verification: PublishedVerification
    evidence: Text


class Signals(Fixed):
    code_available: PublishedSignal
    dataset_available: PublishedSignal
    weights_available: PublishedSignal
    dataset_is_standard: PublishedSignal


class MatchTarget(Fixed):
    """The published form of a target: all strings. The machine-readable one is in the side table `targets`."""

    config: Text
    metric: Text
    value: Text
    scope: str
    match_bar_kind: BarKind


class H100Estimate(Fixed):
    """Hours of one NVIDIA H100 SXM, and the parts the paper states."""

    hours: Annotated[float, Field(ge=0)]
    basis_kind: BasisKind
    gpu_count: float | None
    gpu_type: str | None
    wallclock_hours: float | None
    h100_equivalent_multiplier: float | None
    basis: Text


class Row(Fixed):
    """One paper of a split, with the published names in the published order."""

    custom_id: Text
    central_claim: Text
    claim_evidence: Text
    paper_kind: Kind
    mre_config: Text
    agent_task: Text
    verified_links: VerifiedLinks
    signals: Signals
    match_target: MatchTarget
    h100_estimate: H100Estimate
    score: Annotated[int, Field(ge=0, le=6)]
    tier: Literal["Easy", "Medium", "Hard"]
    split: Literal["eval", "dev"]
    selection_band: Text
    h100_band: Text
    h100_hours_estimate: Annotated[float, Field(ge=0)]
    audited_h100_hours: Annotated[float, Field(ge=0)]
    h100_estimate_basis: Text
    h100_recomputed_hours: float | None
    h100_arithmetic_mismatch: bool | None
    h100_hours_adjudicated: bool
    h100_needs_human_review: bool
    verification_status: Literal["verified"]
    web_verification: Literal["available"]
    exit_reason: Literal["natural"]


def row_hash(judged: dict[str, Json], receipt_facts: list[Json]) -> str:
    """What an audit decision is bound to.

    `judged`: claim, quote, target, bar, kind, needs, signal values, links, compute parts. `receipt_facts`: subject,
    outcome and facts of the cited receipts, in order. Never split, band, score, tier, prose, model or time.
    """
    return digest({"judged": judged, "receipts": receipt_facts})
