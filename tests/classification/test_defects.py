"""An answer is held against its paper field by field; what fails is named, once, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.answers import Answer, CandidateWord, ComputeWord, DatasetWord, Needs, TargetWord
from pipeline.defects import charged, defects
from pipeline.paper import Paper, read
from tests.classification.said import answer

TABLE = (
    r"\begin{table}\caption{Accuracy on CIFAR-10 and CIFAR-100.}\begin{tabular}{lccc}\toprule "
    r"Method & CIFAR-10 $\uparrow$ & CIFAR-100 $\uparrow$ & Loss $\downarrow$ \\ \midrule "
    r"Baseline-7B & 91.2 & 70.1 & 0.9 \\ Foxtrot-7B & 96.4 & 78.3 & 0.4 \\\bottomrule\end{tabular}\end{table}"
)
CLAIM = "Foxtrot reaches 96.4 accuracy on CIFAR-10."
HOURS = "Training takes 6 hours on 4 A100 GPUs."


def paper(*sentences: str) -> Paper:
    text = (
        r"\documentclass{article}\usepackage{booktabs}\title{Foxtrot}\begin{document}\maketitle"
        rf"\begin{{abstract}}{CLAIM}\end{{abstract}}\section{{Results}} {HOURS} {' '.join(sentences)} {TABLE}"
        r"\begin{figure}\caption{Curves.}\end{figure}\end{document}"
    )
    return read({"main.tex": text.encode()})


PAPER = paper("We use three seeds.")


def target(**changes: Any) -> TargetWord:
    cell = {"config": "Foxtrot-7B", "metric": "accuracy", "value": "96.4", "direction": "higher", "dataset": "CIFAR-10"}
    at = {"table": "1", "row": 2, "column": 1, "bar_kind": "point_estimate"}
    return TargetWord.model_validate({**cell, **at, **changes})


def right(**changes: Any) -> Answer:
    """An answer without a defect, with changes."""
    listed = [f"{item.kind} {item.number}" for item in PAPER.inventory]
    words = [CandidateWord(item=item, reason="chosen" if item == "table 1" else "not numeric") for item in listed]
    part = ComputeWord(kind="train", device="A100", count=4, wall_hours=6, quote=HOURS)
    base = answer().model_copy(
        update={
            "claim_quote": CLAIM,
            "target": target(),
            "candidates": words,
            "compute": [part],
            "datasets": [DatasetWord(name="CIFAR-10"), DatasetWord(name="CIFAR-100")],
            "basis_kind": "paper_reported",
            "basis": "as stated",
        }
    )
    return base.model_copy(update=changes)


def names(said: Answer) -> list[str]:
    return [one.name for one in defects(said, PAPER)]


def test_an_answer_that_the_paper_bears_out_has_no_defect() -> None:
    assert defects(right(), PAPER) == ()


def test_a_quote_that_the_paper_does_not_print_is_a_defect_wherever_it_stands() -> None:
    lie = "We release everything."
    for said, place in (
        (right(claim_quote=lie), "claim_quote"),
        (right(training_quote=lie), "training_quote"),
        (right(needs=Needs(paid_api=lie)), "needs.paid_api"),
        (right(datasets=[DatasetWord(name="CIFAR-10", quote=lie)]), "datasets.CIFAR-10"),
    ):
        assert [(one.name, one.place) for one in defects(said, PAPER)] == [("quote not in paper", place)]


def test_a_claim_without_its_sentence_and_an_empty_field_are_defects() -> None:
    assert names(right(claim_quote="")) == ["missing quote"]
    assert names(right(mre_config=" ")) == ["empty field"]
    assert names(right(target=target(metric=""))) == ["empty field"]


def test_a_receipt_that_the_episode_does_not_have_is_a_defect() -> None:
    signals = right().signals
    word = signals.code_available.model_copy(update={"receipts": ["f" * 64]})
    assert names(right(signals=signals.model_copy(update={"code_available": word}))) == ["unknown receipt"]


@pytest.mark.parametrize("scope", ["other size", "base model only", "third-party mirror"])
def test_only_what_is_exactly_of_this_configuration_counts_as_available(scope: str) -> None:
    signals = right().signals
    word = signals.code_available.model_copy(update={"value": True, "scope": scope})
    listed = defects(right(signals=signals.model_copy(update={"code_available": word})), PAPER)
    assert [one.name for one in listed] == ["not of this configuration"]
    assert scope in listed[0].reason


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"value": "97.0"}, "target not printed"),
        ({"row": 99}, "target not printed"),
        ({"row": None}, "target not printed"),
        ({"table": None, "quote": "Foxtrot is best."}, "target not printed"),
        ({"value": "about 96"}, "target not printed"),
        ({"column": 2, "value": "78.3"}, "target incoherent"),
        ({"config": "Foxtrot-13B"}, "target incoherent"),
        ({"direction": "lower"}, "target incoherent"),
        ({"bar_kind": "direction", "baseline": 99.9}, "target incoherent"),
        ({"bar_kind": "direction", "baseline": 90.77}, "target incoherent"),
        ({"bar_kind": "range", "low": 97.0, "high": 98.0}, "target incoherent"),
        ({"n_seeds": 17}, "target incoherent"),
        ({"scope": "average over all datasets"}, "target incoherent"),
    ],
)
def test_a_target_whose_number_place_config_and_scope_do_not_cohere_is_a_defect(
    changes: dict[str, Any], name: str
) -> None:
    assert name in names(right(target=target(**changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"bar_kind": "direction", "baseline": 91.2},
        {"bar_kind": "range", "low": 96.0, "high": 97.0},
        {"n_seeds": 3},
        {"table": None, "row": None, "column": None, "quote": CLAIM},
    ],
)
def test_a_target_that_coheres_has_none(changes: dict[str, Any]) -> None:
    said = right(target=target(**changes))
    if said.target is not None and said.target.table is None:
        said = said.model_copy(update={"candidates": _nothing_chosen(said)})
    assert names(said) == []


def _nothing_chosen(said: Answer) -> list[CandidateWord]:
    return [word.model_copy(update={"reason": "other claim"}) for word in said.candidates]


def test_a_target_that_only_the_baseline_prints_may_have_the_baselines_value() -> None:
    said = right(target=target(row=1, value="91.2", config="Baseline-7B", bar_kind="direction", baseline=91.2))
    assert names(said) == []


def test_a_wrong_chosen_table_and_a_float_without_a_word_are_defects_and_no_crash_at_the_gate() -> None:
    chosen = right().candidates
    assert names(right(candidates=_nothing_chosen(right()))) == ["candidates"]
    assert names(right(candidates=[])) == ["candidates", "candidates"]
    figure = [word.model_copy(update={"reason": "chosen"}) for word in chosen]
    assert len(chosen) == 2
    assert names(right(candidates=figure)) == ["candidates"]


def test_a_task_that_states_the_value_gives_it_away_and_one_that_names_a_data_set_does_not() -> None:
    assert names(right(agent_task="Reach 96.4 on CIFAR-10.")) == ["value given away"]
    assert names(right(agent_task="Train on CIFAR-10, version 196.45.")) == []


def test_more_runs_than_arms_and_seeds_make_are_a_defect() -> None:
    part = right().compute[0].model_copy(update={"runs": 3})
    assert names(right(compute=[part])) == ["runs"]
    assert names(right(compute=[part], target=target(n_seeds=3))) == []
    two = part.model_copy(update={"runs": 2})
    assert names(right(compute=[two], target=target(bar_kind="direction", baseline=91.2))) == []


def test_hours_whose_scope_disagrees_with_the_weights_are_a_defect() -> None:
    signals = right().signals
    there = signals.model_copy(
        update={"weights_available": signals.weights_available.model_copy(update={"value": True})}
    )
    assert names(right(signals=there)) == ["scope"]
    evaluated = [right().compute[0].model_copy(update={"kind": "eval"})]
    assert names(right(compute=evaluated)) == ["scope"]
    assert [one.name for one in charged(right(compute=evaluated), released=True)] == []
    assert [one.name for one in charged(right(training="none"), released=False)] == ["scope"]


def test_a_time_without_its_sentence_is_a_defect() -> None:
    part = right().compute[0].model_copy(update={"quote": ""})
    assert names(right(compute=[part])) == ["missing quote"]


def test_an_alternative_that_is_not_printed_is_named_and_blocks_nothing() -> None:
    listed = defects(right(target_alternatives=[target(value="1.5")]), PAPER)
    assert [(one.name, one.blocks) for one in listed] == [("target not printed", False)]


def test_a_paper_without_experiments_needs_no_target_and_no_words_about_its_figures() -> None:
    said = right(paper_kind="theoretical", target=None, candidates=[], compute=[], claim_quote="")
    assert defects(said, PAPER) == ()
