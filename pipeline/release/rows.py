"""One audited paper as the published row of 25 fields."""

from __future__ import annotations

import math
from typing import Literal, get_args

from pipeline import compute
from pipeline.audit import Audited
from pipeline.derivation import Inputs, estimate, verified_links
from pipeline.editions import Edition
from pipeline.evidence import Signal
from pipeline.labels import Label
from pipeline.row import H100Estimate, MatchTarget, PublishedSignal, PublishedVerification, Row, Signals

Split = Literal["eval", "dev"]


class RowError(ValueError):
    """An audited paper that the published row cannot express; the message names the paper and the field."""


def published_row(paper: Audited, split: Split, edition: Edition) -> Row:
    """The 25 fields, all derived; `selection_band` is the band the pool was drawn on, `h100_band` the audited one.

    Raises RowError, or pydantic's ValidationError for a field out of its type."""
    inputs, target, hours = paper.inputs, paper.inputs.target, paper.hours
    score, before = paper.score(edition.scoring), paper.derivation.hours
    if target is None or hours is None or before is None or score is None or paper.tier is None:
        raise RowError(f"paper {paper.arxiv_id}: no target, hours, score or tier; it can enter no split")
    by_code = estimate(inputs).mid
    mismatch = None if by_code is None else _differ(by_code, hours, edition.compute_audit_tolerance)
    crosses = paper.derivation.estimate.crosses(edition.band_edges_hours)
    basis = _basis(inputs)
    return Row.model_validate(
        {
            "custom_id": paper.arxiv_id,
            "central_claim": inputs.central_claim,
            "claim_evidence": inputs.claim_quote,
            "paper_kind": inputs.paper_kind,
            "mre_config": inputs.mre_config,
            "agent_task": inputs.agent_task,
            "verified_links": verified_links(inputs),
            "signals": Signals(**{str(s): _signal(paper.label(s)) for s in Signal}),
            "match_target": MatchTarget(
                config=target.config,
                metric=target.metric,
                value=target.value,
                scope=target.scope,
                match_bar_kind=target.bar.kind,
            ),
            "h100_estimate": _stated(inputs, before, basis),
            "score": score,
            "tier": paper.tier.row_word,
            "split": split,
            "selection_band": compute.band(before, edition.band_edges_hours),
            "h100_band": compute.band(hours, edition.band_edges_hours),
            "h100_hours_estimate": float(before),
            "audited_h100_hours": float(hours),
            "h100_estimate_basis": f"{inputs.basis_kind}: {basis}",
            "h100_recomputed_hours": by_code,
            "h100_arithmetic_mismatch": mismatch,
            "h100_hours_adjudicated": "hours" in paper.overturned,
            "h100_needs_human_review": inputs.basis_kind == "compute_unspecified" or mismatch is not False or crosses,
            "verification_status": "verified",
            "web_verification": "available",
            "exit_reason": inputs.exit_reason,
        }
    )


def _differ(a: float, b: float, tolerance: float) -> bool:
    """The published arithmetic audit: apart by more than `tolerance` of the larger."""
    larger = max(abs(a), abs(b))
    return larger > 0 and abs(a - b) / larger > tolerance


def _signal(label: Label) -> PublishedSignal:
    """A label in published words. An unverified one has none, and raises RowError."""
    word = next((w for w in get_args(PublishedVerification) if w == str(label.verification)), None)
    if label.value is None or word is None:
        raise RowError(f"{label.signal} is unverified ({label.reason}); a person must answer it, citing a receipt")
    return PublishedSignal(value=label.value, verification=word, evidence=label.reason or "as a person found")


def _stated(inputs: Inputs, hours: float, basis: str) -> H100Estimate:
    """Count, device, wall hours and factor where one part states them all and they give the hours; else null.

    Wall hours are those of all runs together, so that their product with count and factor is the hours.
    """
    part = inputs.compute[0] if len(inputs.compute) == 1 else None
    device = compute.match_device(part.device) if part else None
    count = wall = factor = None
    if part and device and part.count is not None and part.wall_hours is not None:
        walls = part.wall_hours * part.runs
        if math.isclose(part.count * walls * device.factor, hours, rel_tol=1e-9, abs_tol=1e-12):
            count, wall, factor = float(part.count), float(walls), float(device.factor)
    return H100Estimate(
        hours=float(hours),
        basis_kind=inputs.basis_kind,
        gpu_count=count,
        gpu_type=(part.device or None) if part else None,
        wallclock_hours=wall,
        h100_equivalent_multiplier=factor,
        basis=basis,
    )


def _basis(inputs: Inputs) -> str:
    quotes = "; ".join(dict.fromkeys(part.quote for part in inputs.compute if part.quote))
    return inputs.basis or quotes or "nothing is stated"
