"""What a classifier says about a paper, as types: the `Answer` every classifier fills, and the `Episode` that holds
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from pipeline.evidence import Json, Receipt, Signal
from pipeline.row import BarKind, BasisKind, Kind, VerifiedLinks

Passed = Literal["chosen", "other claim", "dearer", "ablation", "not numeric", "baseline only", "appendix repeat"]
"""Why an item of the inventory was chosen or passed over (labelling guide, "Candidates")."""


Scope = Literal["exact", "other size", "base model only", "third-party mirror"]
"""What an artifact is of: the target's own configuration, or something near it. Only `exact` counts as available."""

Amount = Annotated[FiniteFloat, Field(ge=0)]


class Said(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SignalWord(Said):
    """What the classifier says about one signal.

    `scope`: of what the artifacts are that it found; true with any scope but `exact` is a defect. `artifacts` are
    receipt subjects (`github:owner/name`, `hf:model:org/name`, `url:https://…`, `supplement:`), `receipts` the ids it
    cites.
    """

    value: bool
    needed: bool = True
    scope: Scope = "exact"
    artifacts: list[str] = Field(default_factory=list)
    receipts: list[str] = Field(default_factory=list)
    evidence: str = ""


class SignalWords(Said):
    """All four must be answered."""

    code_available: SignalWord
    dataset_available: SignalWord
    weights_available: SignalWord
    dataset_is_standard: SignalWord

    def word(self, signal: Signal) -> SignalWord:
        word: SignalWord = getattr(self, signal.value)
        return word


class TargetWord(Said):
    """A proposed match target: where the number is printed, and what it is.

    Either a cell (`table` as printed, 0-based `row` and `column` of the reader's grid) or a `quote` from running text
    that prints `value`. Operator and tolerance are not the classifier's: code derives them from `bar_kind`.
    """

    config: str
    metric: str
    value: str
    unit: str = ""
    direction: Literal["higher", "lower"] | None = None
    scope: str = ""
    split: str = ""
    aggregate: str = ""
    dataset: str = ""
    table: str | None = None
    row: int | None = None
    column: int | None = None
    quote: str = ""
    bar_kind: BarKind
    baseline: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    n_seeds: Annotated[int, Field(ge=1)] | None = None
    why: str = ""


class CandidateWord(Said):
    """One table or figure of the inventory: `item` is `table 3` or `figure 2`, numbered as printed."""

    item: str
    reason: Passed


class DatasetWord(Said):
    """A data set that the target needs; `custom` for own subsets, labels, prompts or collections."""

    name: str
    custom: bool = False
    quote: str = ""


class Needs(Said):
    """Needs of the target, each as the quote that shows it; empty where there is none."""

    paid_api: str = ""
    human_raters: str = ""
    special_hardware: str = ""
    licensed_simulator: str = ""


class ComputeWord(Said):
    """One part of the hours: `wall_hours` (times `count`) or `device_hours`, or neither where nothing is known.

    `kind` is its scope and must agree with the weights: what is released is not trained or fine-tuned again. `runs` is
    arms x seeds. `quote` is the paper's sentence; the device is looked up in the reference table by code.
    """

    kind: Literal["train", "finetune", "eval", "generate"]
    device: str = ""
    count: Amount | None = None
    wall_hours: Amount | None = None
    device_hours: Amount | None = None
    runs: Annotated[int, Field(ge=1)] = 1
    quote: str = ""
    cpu_only: bool = False


class Answer(Said):
    central_claim: str
    claim_quote: str
    paper_kind: Kind
    mre_config: str
    agent_task: str
    target: TargetWord | None
    target_alternatives: list[TargetWord] = Field(default_factory=list)
    candidates: list[CandidateWord] = Field(default_factory=list)
    signals: SignalWords
    verified_links: VerifiedLinks
    datasets: list[DatasetWord] = Field(default_factory=list)
    training: Literal["trained", "released", "none", "is_the_experiment"]
    training_quote: str = ""
    needs: Needs = Field(default_factory=Needs)
    compute: list[ComputeWord] = Field(default_factory=list)
    basis_kind: BasisKind = "compute_unspecified"
    basis: str = ""


ExitReason = Literal[
    "natural",
    "tool_limit",
    "request_limit",
    "token_limit",
    "time_limit",
    "money_limit",
    "output_invalid",
    "model_error",
    "crashed",
]
"""Why an episode ended. A limit's name with an answer: nothing was left but to answer; without one: nothing at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """One classifier run on one paper.

    `receipts` in call order, the link check's first; `linked` are the ids of the latter.
    `answer` is None where the classifier gave none that validates; `exit_reason` says why the loop ended.
    """

    paper: str
    bundle: str
    classifier: str
    exit_reason: ExitReason
    answer: Answer | None
    receipts: tuple[Receipt, ...]
    linked: tuple[str, ...] = ()
    passes: int = 1
    problem: str = ""
    account: Mapping[str, Json] = field(default_factory=dict)
    """Of a language model's reading: model, prompt, keys of its turns in order, what was cut, tokens, micro-dollars.
    Empty for rules."""

    def to_json(self) -> dict[str, Json]:
        told = {"account": dict(self.account)} if self.account else {}
        return told | {
            "paper": self.paper,
            "bundle": self.bundle,
            "classifier": self.classifier,
            "exit_reason": self.exit_reason,
            "answer": None if self.answer is None else self.answer.model_dump(mode="json"),
            "receipts": [r.to_json() for r in self.receipts],
            "linked": list(self.linked),
            "passes": self.passes,
            "problem": self.problem,
        }

    @classmethod
    def from_json(cls, value: Json) -> Episode:
        answer = value["answer"]
        return cls(
            paper=value["paper"],
            bundle=value["bundle"],
            classifier=value["classifier"],
            exit_reason=value["exit_reason"],
            answer=None if answer is None else Answer.model_validate(answer),
            receipts=tuple(Receipt.from_json(r) for r in value["receipts"]),
            linked=tuple(value["linked"]),
            passes=value["passes"],
            problem=value["problem"],
            account=dict(value.get("account", {})),
        )
