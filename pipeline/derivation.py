"""From recorded inputs and receipts to labels, hours, scores, tier and band: everything a release can derive again.

`Inputs` is what one paper's episode and source left behind; `derive` needs nothing else but its receipts and the
edition's rules. The classification stage and `reclaim verify` call the same function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from pipeline import compute, tiers
from pipeline.editions import Edition
from pipeline.evidence import Json, Receipt, Signal, Status
from pipeline.labels import Claim, Context, Label, label
from pipeline.row import BasisKind, Kind, VerifiedLinks, row_hash
from pipeline.targets import Target
from pipeline.tiers import Scoring, Tier


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """The edition's settings that a derivation reads. Hours are H100-hours; `second_looks`: how many a Reimplement row
    needs."""

    scoring: Scoring
    band_edges_hours: tuple[float, ...]
    pool_cap_hours: float
    compute_audit_tolerance: float
    second_looks: int = 0

    @classmethod
    def of(cls, edition: Edition) -> Self:
        return cls(
            scoring=edition.scoring,
            band_edges_hours=tuple(edition.band_edges_hours),
            pool_cap_hours=edition.pool_cap_hours,
            compute_audit_tolerance=edition.compute_audit_tolerance,
            second_looks=len(edition.classifier.looks),
        )


class Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InventoryChoice(Frozen):
    """One results table or figure: chosen, or passed over with one reason of the guide."""

    item: str
    caption: str
    reason: str


class PartInput(Frozen):
    """One part of the hours, as `compute.Part` reads it, with the paper's words."""

    kind: Literal["train", "finetune", "eval", "generate"]
    device: str
    count: float | None
    wall_hours: float | None
    device_hours: float | None
    runs: int
    quote: str
    cpu_only: bool


class ClaimInput(Frozen):
    value: bool
    cited: list[str]


class LookInput(Frozen):
    """One second look at a row that nothing was found for: who looked, whether it ended with an answer, and the
    receipts of what it proposes."""

    look: str
    classifier: str
    answered: bool
    receipts: list[str]


class Inputs(Frozen):
    """What code read from one paper and one episode: the row of the release's `sample` table."""

    arxiv_id: str
    version: int
    title: str
    bundle: str
    source_sha256: str
    classifier: str
    exit_reason: str
    paper_kind: Kind
    central_claim: str
    claim_quote: str
    mre_config: str
    agent_task: str
    target: Target | None
    target_problems: list[str]
    inventory: list[InventoryChoice]
    needs: dict[str, str]
    paid_api: str
    datasets: list[str]
    training: str
    compute: list[PartInput]
    basis_kind: BasisKind
    basis: str
    claims: dict[str, ClaimInput]
    contexts: dict[str, Json]
    links: dict[str, list[str]]
    receipts: list[str]
    """Ids of all receipts of the episode, in call order; a label may rest on any of them."""
    linked: list[str]
    problems: list[str]
    """Why the row cannot be used whatever its labels: a loop that did not end by itself, defects of its answer."""
    looks: list[LookInput] = Field(default_factory=list)
    """Second looks at the row. No label rests on them; a person's answer may."""

    @property
    def citable(self) -> list[str]:
        """Receipts that a person may cite: the episode's, and those of what second looks propose."""
        return list(dict.fromkeys([*self.receipts, *(i for look in self.looks for i in look.receipts)]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Derivation:
    """One sampled paper after classification. Hours are H100-hours; None is unknown, never zero."""

    inputs: Inputs
    labels: tuple[Label, ...]
    estimate: compute.Estimate
    score_needs: int | None
    score_published: int | None
    tier: Tier | None
    band: str | None
    ineligible: tuple[str, ...]
    row_hash: str

    @property
    def arxiv_id(self) -> str:
        return self.inputs.arxiv_id

    @property
    def hours(self) -> float | None:
        return self.estimate.mid

    @property
    def eligible(self) -> bool:
        return not self.ineligible

    @property
    def needs_paid_api(self) -> bool:
        return bool(self.inputs.paid_api or self.inputs.needs.get("paid_api"))

    def score(self, scoring: Scoring) -> int | None:
        return self.score_needs if scoring == "needs" else self.score_published

    def label(self, signal: Signal) -> Label:
        return next(one for one in self.labels if one.signal is signal)


def labels(inputs: Inputs, receipts: Mapping[str, Receipt]) -> tuple[Label, ...]:
    """The four labels, in the order of the signals, from the episode's receipts alone."""
    episode = [receipts[i] for i in inputs.receipts if i in receipts]
    return tuple(
        label(
            Claim(signal=s, value=inputs.claims[s].value, cited=tuple(inputs.claims[s].cited)),
            episode,
            Context.from_json(inputs.contexts[s]),
        )
        for s in Signal
    )


def signals(labels_: Sequence[Label]) -> dict[str, tiers.Signal]:
    return {str(one.signal): tiers.Signal(one.value, one.applicable) for one in labels_}


def estimate(inputs: Inputs) -> compute.Estimate:
    """Hours by code from the stated parts; multipliers only from the device table."""
    return compute.hours([compute.Part(**part.model_dump()) for part in inputs.compute])


def derive(inputs: Inputs, receipts: Mapping[str, Receipt], rules: Rules) -> Derivation:
    """Everything about one paper that follows from its inputs and receipts under the edition's rules."""
    found = labels(inputs, receipts)
    answers = signals(found)
    needs = tiers.score(answers, "needs", inputs.paper_kind)
    published = tiers.score(answers, "published", inputs.paper_kind)
    tier = tiers.tier(needs if rules.scoring == "needs" else published, answers, rules.scoring, inputs.paper_kind)
    hours = estimate(inputs)
    return Derivation(
        inputs=inputs,
        labels=found,
        estimate=hours,
        score_needs=needs,
        score_published=published,
        tier=tier,
        band=compute.band(hours.mid, rules.band_edges_hours),
        ineligible=tuple(ineligible(inputs, found, tier, hours, rules)),
        row_hash=judged_hash(inputs, found, receipts),
    )


def ineligible(
    inputs: Inputs, found: Sequence[Label], tier: Tier | None, hours: compute.Estimate, rules: Rules
) -> list[str]:
    """Why a row may not enter the pool; the first reason is the one that exclusions carry.

    A paid API is not among them: the edition's policy drops it before the pool or after the audit.
    """
    reasons: list[str] = []
    if tier is Tier.OUT_OF_SCOPE:
        return [f"out of scope: {inputs.paper_kind}"]
    reasons += inputs.problems
    reasons += [f"unverified {one.signal}: {one.reason}" for one in found if one.status is Status.UNVERIFIED]
    if tier is Tier.BLOCKED:
        reasons.append("artifact-blocked: the target's data is neither available nor standard")
    if tier is Tier.REIMPLEMENT and (answered := sum(look.answered for look in inputs.looks)) < rules.second_looks:
        reasons.append(f"second looks missing: {answered} of {rules.second_looks} were had")
    if inputs.target is None:
        reasons.append("no match target: no printed number supports the claim")
    reasons += [f"target cannot be graded: {problem}" for problem in inputs.target_problems]
    for need in ("human_raters", "licensed_simulator"):
        if inputs.needs.get(need):
            reasons.append(f"needs {need.replace('_', ' ')}")
    if hours.mid is None:
        reasons.append(f"hours unknown: {hours.reason}")
    elif hours.mid > rules.pool_cap_hours:
        reasons.append(f"above the cap: {hours.mid:.2f} of {rules.pool_cap_hours:g} H100-hours")
    return reasons


def judged(inputs: Inputs, found: Sequence[Label]) -> dict[str, Json]:
    """What an auditor judges, and nothing else."""
    return {
        "custom_id": inputs.arxiv_id,
        "claim": inputs.central_claim,
        "quote": inputs.claim_quote,
        "target": None if inputs.target is None else inputs.target.model_dump(mode="json"),
        "kind": inputs.paper_kind,
        "needs": dict(inputs.needs),
        "paid_api": inputs.paid_api,
        "signals": {str(one.signal): [one.value, str(one.verification)] for one in found},
        "links": inputs.links,
        "compute": [part.model_dump(mode="json") for part in inputs.compute],
    }


def judged_hash(inputs: Inputs, found: Sequence[Label], receipts: Mapping[str, Receipt]) -> str:
    """The row hash that decisions are bound to."""
    cited = dict.fromkeys(i for one in found for i in one.receipts)
    facts = [
        [receipts[i].subject, receipts[i].tool, str(receipts[i].outcome), dict(receipts[i].facts)]
        for i in cited
        if i in receipts
    ]
    return row_hash(judged(inputs, found), facts)


def verified_links(inputs: Inputs) -> VerifiedLinks:
    return VerifiedLinks(**inputs.links)
