"""Answers of a classifier, as tests need them."""

from __future__ import annotations

from typing import Literal

from pipeline.answers import Answer, SignalWord, SignalWords, TargetWord
from pipeline.row import VerifiedLinks


def answer(
    *,
    training: Literal["trained", "released", "none", "is_the_experiment"] = "trained",
    training_quote: str = "",
    needed: bool = True,
    evidence: str = "",
    dataset: str = "",
) -> Answer:
    target = TargetWord(
        config="Foxtrot", metric="accuracy", value="96.4", dataset=dataset, quote="96.4", bar_kind="point_estimate"
    )
    data = SignalWord(value=False, needed=needed, evidence=evidence)
    none = SignalWord(value=False)
    return Answer(
        central_claim="Foxtrot wins.",
        claim_quote="Foxtrot wins.",
        paper_kind="empirical",
        mre_config="Foxtrot",
        agent_task="Reproduce the accuracy of Foxtrot.",
        target=target,
        signals=SignalWords(
            code_available=none, dataset_available=data, weights_available=none, dataset_is_standard=none
        ),
        verified_links=VerifiedLinks(paper_or_project=[], code=[], dataset=[], weights=[]),
        training=training,
        training_quote=training_quote,
    )
