"""Reading gold labels: what readers wrote, as values; what they did not write, as nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from classifiers.gold import NO_PAPER, GoldError, Lines, durations, load_gold, numbers_of, tier_of
from pipeline.tiers import Tier


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("11,264x", (11264.0,)),
        ("96.53 ± 0.16", (96.53,)),
        ("<3.5%", (3.5,)),
        ("22.2% vs 14.7%", (22.2, 14.7)),
        ("39.14 (0.23 before)", (39.14,)),
        ("-0.4", (-0.4,)),
        ("5 of 6 cases peak around N=10^2", ()),
        ("V can be computed from K", ()),
        ("", ()),
    ],
)
def test_a_label_gives_the_numbers_it_prints_and_a_sentence_none(text: str, numbers: tuple[float, ...]) -> None:
    assert numbers_of(text) == numbers


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("8 x P100, <=24 h", (24.0,)),
        ("1 x TPU v3-8, one week", (168.0,)),
        ("72-100 hours", (72.0, 100.0)),
        ("around 10 GPU days", (240.0,)),
        ("22--83 H20-h a run", (22.0, 83.0)),
        ("under thirty minutes", (0.5,)),
        ("1,200 GPU hours", (1200.0,)),
        ("16 A100 GPUs, 200K iterations", ()),
    ],
)
def test_durations_of_a_label_are_hours(text: str, hours: tuple[float, ...]) -> None:
    assert durations(text) == pytest.approx(hours)


def test_a_tier_is_what_the_label_begins_with() -> None:
    assert tier_of("Run (12 weight links)") is Tier.RUN
    assert tier_of("Retrain: minutes") is Tier.RETRAIN
    assert tier_of("Reimplement; figure-only results") is Tier.REIMPLEMENT
    assert tier_of("not fetched (fetch budget)") is None
    assert tier_of("Running late") is None


def test_lines_overlap_within_one_file_only() -> None:
    assert Lines("a.tex", 3, 5).overlaps(Lines("a.tex", 5, 9))
    assert not Lines("a.tex", 3, 4).overlaps(Lines("a.tex", 5, 9))
    assert not Lines("a.tex", 3, 5).overlaps(Lines("b.tex", 3, 5))


def test_labels_that_are_not_there_are_none_and_never_false(gold_folder: Path) -> None:
    papers = load_gold(gold_folder)
    stub, shade = papers["stub"], papers["shade"]
    assert stub.second is not None
    assert stub.second.kind == NO_PAPER
    assert stub.second.data_public is None
    assert stub.first is not None
    assert stub.first.code_claimed is None
    assert stub.first.tier is None
    assert shade.second is None
    assert [link.standing for labels in shade.readers for link in labels.links] == ["unrendered"]


def test_only_a_fetched_repository_of_the_papers_own_is_a_record(gold_folder: Path) -> None:
    papers = load_gold(gold_folder)
    assert [(j.repository, j.code) for j in papers["lantern"].own] == [("lamplight/lantern", True)]
    assert papers["shade"].own == ()


def test_a_repository_known_otherwise_is_a_record_too(gold_folder: Path) -> None:
    place = gold_folder / "papers/stub/meta.json"
    meta = json.loads(place.read_text())
    meta["gold"]["official_repo_known_otherwise"] = "https://github.com/Lamplight/Lantern"
    place.write_text(json.dumps(meta))
    assert [j.code for j in load_gold(gold_folder)["stub"].own] == [True]


def test_a_folder_without_gold_and_a_broken_file_are_named(tmp_path: Path, gold_folder: Path) -> None:
    with pytest.raises(GoldError, match="no gold papers"):
        load_gold(tmp_path / "nowhere")
    (gold_folder / "papers/stub/meta.json").write_text("{")
    with pytest.raises(GoldError, match=r"stub.meta\.json: not readable JSON"):
        load_gold(gold_folder)
