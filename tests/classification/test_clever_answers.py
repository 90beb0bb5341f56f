"""What a clever model may try, so that a defect stays unseen or hours, target and task say what suits it."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.answers import ComputeWord, DatasetWord, Needs
from pipeline.defects import defects
from pipeline.paper import Paper
from tests.classification.test_defects import CLAIM, HOURS, PAPER, paper, right, target

FOLDS = "Each of the 5 folds takes 6 hours on 4 A100 GPUs."


def said(paper_: Paper = PAPER, **changes: Any) -> list[str]:
    return [one.name for one in defects(right(**changes), paper_)]


def part(**changes: Any) -> ComputeWord:
    return ComputeWord.model_validate(
        {"kind": "train", "device": "A100", "count": 4, "wall_hours": 6, "quote": HOURS, **changes}
    )


# ------------------------------------------------------------------------------------------------------------- quotes


@pytest.mark.parametrize(
    "quote",
    [
        "Foxtrot reaches … accuracy on CIFAR-10.",
        "Foxtrot reaches [...] on CIFAR-10.",
        "Foxtrot reaches 96.4 accuracy on CIFAR\u200b-10.",
        "Foxtrot reaches 96.4 \u0430ccuracy on CIFAR-10.",
        f"{CLAIM} {HOURS} Everything is released.",
    ],
    ids=["ellipsis", "brackets", "zero width", "Cyrillic letter", "more than is printed"],
)
def test_a_quote_that_is_spliced_or_doctored_is_not_in_the_paper(quote: str) -> None:
    assert said(claim_quote=quote) == ["quote not in paper"]


def test_one_word_that_any_paper_prints_is_no_evidence_of_a_claim() -> None:
    assert said(claim_quote="Foxtrot") == ["missing quote"]


# ------------------------------------------------------------------------------------------------------------- target


def running(value: str, quote: str = CLAIM) -> Any:
    return target(value=value, quote=quote, table=None, row=None, column=None)


@pytest.mark.parametrize("value", ["6.4", "96", "4", "\uff19\uff16.4", "96.\u200b4", "96.4000001"])
def test_a_part_of_a_printed_number_or_one_in_other_digits_is_not_printed(value: str) -> None:
    listed = defects(right(target=running(value), candidates=[]), PAPER)
    assert ("target not printed", "target") in [(one.name, one.place) for one in listed]


def test_the_number_of_another_method_is_not_the_configurations() -> None:
    (one,) = defects(right(target=target(value="91.2", row=1, config="Foxtrot")), PAPER)
    assert one.name == "target incoherent"
    assert "'Baseline-7B'" in one.reason
    assert said(target=target(config="Foxtrot on CIFAR-10")) == []


def test_a_row_called_ours_may_be_any_configuration() -> None:
    table = PAPER.text
    assert "Foxtrot-7B" in table
    plain = paper("We use three seeds.")
    assert said(plain, target=target(config="the proposed network")) == []


@pytest.mark.parametrize(
    "task",
    [
        "Train Foxtrot until it has 96.4 accuracy.",
        "Train Foxtrot until it has 96.40 accuracy.",
        "Train Foxtrot until it has 0.964 accuracy.",
        "Train Foxtrot until it has \uff19\uff16.4 accuracy.",
        "Train Foxtrot until it has 96.\u200b4 accuracy.",
        "Reach ninety-six (96.4%) with Foxtrot.",
    ],
)
def test_a_task_gives_the_value_away_however_it_is_spelled(task: str) -> None:
    assert said(agent_task=task) == ["value given away"]


def test_a_value_spelled_with_another_zero_hides_nothing() -> None:
    assert said(target=target(value="96.40"), agent_task="Reach 96.4 with Foxtrot.") == ["value given away"]


def test_names_with_numbers_in_them_give_nothing_away() -> None:
    assert said(agent_task="Train Foxtrot-964 on CIFAR-100 for 96 epochs with 4 cards.") == []


# --------------------------------------------------------------------------------------------------------------- hours


def test_padding_in_pieces_is_charged_twice_by_name() -> None:
    assert said(compute=[part(), part()]) == ["counted_twice"]
    halves = HOURS.removesuffix(" on 4 A100 GPUs.")
    assert "counted_twice" in said(compute=[part(), part(kind="eval", quote=halves)])


def test_a_sentence_about_each_of_a_few_charges_no_thousand_runs() -> None:
    folds = paper("We use three seeds.", FOLDS)
    assert said(folds, compute=[part(quote=FOLDS, runs=5)]) == []
    assert said(folds, compute=[part(quote=FOLDS, runs=1000)]) == ["runs"]


def test_work_that_its_own_sentence_puts_on_cards_is_not_the_processors() -> None:
    (one,) = defects(right(compute=[part(cpu_only=True, device="")]), paper("We use three seeds.", "Plots need a CPU."))
    assert one.name == "invented_device"
    assert "A100" in one.reason


# ---------------------------------------------------------------------------------------------------- data, needs, kind


def test_data_that_the_target_is_measured_on_cannot_be_left_out() -> None:
    assert said(datasets=[]) == ["datasets"]
    assert said(datasets=[DatasetWord(name="MNIST")]) == ["datasets"]
    assert said(datasets=[DatasetWord(name="our split of CIFAR-10", custom=True)]) == []


def test_needs_that_the_experiment_names_cannot_be_left_empty() -> None:
    assert said(mre_config="Foxtrot judged by GPT-4 over the API") == ["needs"]
    assert said(target=target(metric="human evaluation accuracy")) == ["needs"]
    assert said(target=target(metric="HumanEval pass@1", dataset="CIFAR-10")) == []
    rated = paper("We use three seeds.", "Five human raters judge each output.")
    needs = Needs(human_raters="Five human raters judge each output.")
    assert said(rated, target=target(metric="human rating"), needs=needs) == []
