"""The comparison rules, over small typed values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifiers.evaluation import judge
from classifiers.gold import GoldPaper, Judgement, Labels, Lines, LinkLabel, Standing, Statement, Value, numbers_of
from classifiers.judged import MEASURES, Judged
from classifiers.said import LinkSaid, Mention, Proposed, Said, Shown, SignalSaid
from classifiers.scorecard import OPEN, Share, scorecard
from classifiers.source_evaluation import agrees, same_device
from pipeline.evidence import Signal
from pipeline.tiers import Tier

LINE = Lines("main.tex", 10, 10)


def labels(reader: Any = "first", **more: Any) -> Labels:
    return Labels(reader=reader, **more)


def paper(first: Labels | None = None, second: Labels | None = None, own: tuple[Judgement, ...] = ()) -> GoldPaper:
    return GoldPaper(name="lantern", first=first, second=second, own=own)


def link(subject: str, standing: Standing = "own") -> LinkLabel:
    return LinkLabel(subject, standing, "main.tex:10")


def seen(subject: str, shown: Shown) -> LinkSaid:
    return LinkSaid(subject, shown, LINE, "main.tex:10 “code”")


def ours(**more: Any) -> Said:
    return Said(**({"signals": {}} | more))


def signals(**values: bool | None) -> dict[Signal, SignalSaid]:
    return {Signal(name): SignalSaid(value, True, "a receipt") for name, value in values.items()}


def of(judged: tuple[Judged, ...], measure: str, against: str) -> list[tuple[str, str | None, bool | None]]:
    return [(j.theirs, j.ours, j.agrees) for j in judged if (j.measure, j.against) == (measure, against)]


REAL, SITE = Judgement("a/b", "real_code_eval_only", "two files"), Judgement("a/c", "website_only", "six scripts")


@pytest.mark.parametrize(
    ("own", "value", "expected"),
    [
        ((REAL,), True, ("yes", "yes", True)),
        ((REAL,), False, ("yes", "no", False)),
        ((SITE,), True, ("no", "yes", False)),
        ((SITE, REAL), True, ("yes", "yes", True)),
        ((REAL,), None, ("yes", None, None)),
    ],
)
def test_the_record_decides_code_by_the_judgements_first_words(own: Any, value: Any, expected: Any) -> None:
    judged = judge(paper(labels(), own=own), ours(signals=signals(code_available=value)))
    assert of(judged, "code", "record") == [expected]


def test_code_is_not_compared_where_no_own_repository_was_fetched() -> None:
    judged = judge(paper(labels(code_claimed=True)), ours(signals=signals(code_available=True)))
    assert of(judged, "code", "record") == []


def test_readers_are_held_against_each_other_beside_the_record() -> None:
    gold = paper(labels(code_claimed=True), labels("second", code_claimed=False))
    assert of(judge(gold, ours()), "code", "readers") == [("yes", "no", False)]


def test_an_own_link_that_is_shown_and_found_counts_for_both_readers() -> None:
    gold = paper(labels(links=(link("github:a/b"),)), labels("second", links=(link("github:a/b"),)))
    judged = judge(gold, ours(links=(seen("github:a/b", "own"),)))
    for against in ("first", "second", "both"):
        assert of(judged, "own-code links", against) == [("yes", "yes", True)]


def test_a_foreign_link_taken_for_own_is_a_mistake_in_both_measures() -> None:
    gold = paper(labels(links=(link("github:x/y", "foreign"),)))
    judged = judge(gold, ours(links=(seen("github:x/y", "own"),)))
    assert of(judged, "own-code links", "first") == [("no", "yes", False)]
    assert of(judged, "links: foreign", "first") == [("foreign", "own", False)]


def test_a_link_that_no_reader_names_is_a_mistake_when_taken_for_own() -> None:
    judged = judge(paper(labels()), ours(links=(seen("github:x/y", "own"),)))
    assert of(judged, "own-code links", "first") == [("no", "yes", False)]


def test_a_place_for_own_data_is_neither_hit_nor_miss_for_code() -> None:
    gold = paper(labels(links=(link("url:https://data.example", "own data or weights"),)))
    judged = judge(gold, ours(links=(seen("url:https://data.example", "own"),)))
    assert of(judged, "own-code links", "first") == []


def test_where_readers_differ_on_a_link_it_is_left_out_of_both() -> None:
    gold = paper(labels(links=(link("github:a/b"),)), labels("second"))
    judged = judge(gold, ours(links=(seen("github:a/b", "own"),)))
    assert of(judged, "own-code links", "both") == []
    assert of(judged, "own-code links", "first") == [("yes", "yes", True)]
    assert of(judged, "own-code links", "second") == [("no", "yes", False)]
    assert of(judged, "own-code links", "readers") == [("yes", "no", False)]


@pytest.mark.parametrize(
    ("shown", "word", "good"), [("hidden", "hidden", True), ("own", "shown", False), ("other", "shown", False)]
)
def test_an_unrendered_link_is_told_apart_only_when_it_is_hidden(shown: Any, word: str, good: bool) -> None:
    gold = paper(labels(links=(link("github:a/b", "unrendered"),)))
    judged = judge(gold, ours(links=(seen("github:a/b", shown),)))
    assert of(judged, "links: unrendered", "first") == [("unrendered", word, good)]


def test_a_commented_link_may_not_be_shown_and_without_a_link_there_nothing_is_counted() -> None:
    gold = paper(labels(commented=((LINE, "draft"),)))
    assert of(judge(gold, ours(links=(seen("github:a/b", "hidden"),))), "links: commented", "first")[0][2] is True
    assert of(judge(gold, ours(links=(seen("github:a/b", "other"),))), "links: commented", "first")[0][2] is False
    assert of(judge(gold, ours()), "links: commented", "first")[0][2] is None


def mention(lines: Lines, devices: tuple[str, ...] = (), hours: tuple[float, float] | None = None, aside: bool = False):  # type: ignore[no-untyped-def]
    return Mention(lines, "quote", devices, hours, aside)


def stated(text: str, hours: tuple[float, ...] = (), aside: bool = False) -> Statement:
    return Statement(LINE, text, hours, aside)


def test_a_statement_is_found_by_a_device_or_a_duration_on_its_lines() -> None:
    assert agrees(stated("4 x A100, 6 h", (6.0,)), mention(LINE, ("A100",)))
    assert agrees(stated("six hours", (6.0,)), mention(LINE, (), (5.9, 6.2)))
    assert not agrees(stated("4 x A100, 6 h", (6.0,)), mention(LINE, ("V100",), (7.0, 7.0)))
    assert not agrees(stated("4 x A100"), mention(LINE))


def test_a_mention_elsewhere_finds_nothing() -> None:
    gold = paper(labels(statements=(stated("4 x A100"),)))
    elsewhere = ours(mentions=(mention(Lines("main.tex", 40, 41), ("A100",)),))
    assert of(judge(gold, elsewhere), "compute statements", "first") == [("yes", "no", False)]
    assert of(judge(gold, elsewhere), "compute mentions", "either") == [("no", "yes", False)]


def test_acknowledgements_and_denials_are_aside_on_both_sides() -> None:
    gold = paper(labels(statements=(stated("thanks for compute", aside=True),)))
    judged = judge(gold, ours(mentions=(mention(LINE, ("A100",), aside=True),)))
    assert of(judged, "compute statements", "first") == []
    assert of(judged, "compute mentions", "either") == []


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        ("GTX 2080 Ti", "1 x 2080 Ti, no hours", True),
        ("2080 Ti", "RTX 2080 Ti |", True),
        ("NVIDIA A100", "16 A100s", True),
        ("A100", "A1000", False),
        ("H100", "zinkevich h1003", False),
        ("A40", "A400", False),
        ("NVIDIA", "NVIDIA GPUs", False),
    ],
)
def test_devices_agree_as_whole_words(name: str, text: str, same: bool) -> None:
    assert same_device(name, text) is same


def value(text: str) -> Value:
    return Value(text, numbers_of(text), "main.tex:10")


def proposed(*texts: str) -> tuple[Proposed, ...]:
    return tuple(Proposed(text, numbers_of(text), "table 1") for text in texts)


def test_targets_compare_as_numbers_with_any_readers_value() -> None:
    gold = paper(labels(values=(value("11264"),)), labels("second", values=(value("2,458x"), value("3%"))))
    judged = judge(gold, ours(targets=proposed("11,264x")))
    assert of(judged, "target: first", "either")[0][2] is True
    late = judge(gold, ours(targets=proposed("7", "8", "3.0 %")))
    assert of(late, "target: first", "either")[0][2] is False
    assert of(late, "target: one of three", "either")[0][2] is True
    too_late = judge(gold, ours(targets=proposed("7", "8", "9", "3.0 %")))
    assert of(too_late, "target: one of three", "either")[0][2] is False


def test_a_fraction_is_not_its_percentage() -> None:
    judged = judge(paper(labels(values=(value("0.94"),))), ours(targets=proposed("94")))
    assert of(judged, "target: first", "either")[0][2] is False


def test_a_paper_without_a_numeric_target_is_not_compared() -> None:
    judged = judge(paper(labels(), labels("second")), ours(targets=proposed("94")))
    assert [j for j in judged if j.measure.startswith("target")] == []


def test_no_proposal_is_a_miss() -> None:
    judged = judge(paper(labels(values=(value("94"),))), ours())
    assert of(judged, "target: first", "either")[0][2] is False


def test_data_counts_as_public_when_it_is_open_standard_or_not_needed() -> None:
    gold = paper(labels(data_public=True))
    standard = {**signals(dataset_available=False, dataset_is_standard=True)}
    assert of(judge(gold, ours(signals=standard)), "data", "first") == [("yes", "yes", True)]
    unneeded = {s: SignalSaid(False, False, "simulated") for s in (Signal.DATA, Signal.STANDARD)}
    assert of(judge(gold, ours(signals=unneeded)), "data", "first") == [("yes", "yes", True)]
    unknown = signals(dataset_available=False, dataset_is_standard=None)
    assert of(judge(gold, ours(signals=unknown)), "data", "first") == [("yes", None, None)]
    missing = signals(dataset_available=False, dataset_is_standard=False)
    assert of(judge(gold, ours(signals=missing)), "data", "first") == [("yes", "no", False)]


def test_an_undetermined_tier_is_left_open_and_never_wrong() -> None:
    gold = paper(labels(tier=Tier.RETRAIN, tier_with_repository=Tier.RUN), labels("second", tier=Tier.RETRAIN))
    judged = judge(gold, ours(tier=None))
    assert of(judged, "tier: source alone", "both") == [("Retrain", None, None)]
    assert of(judged, "tier: with repository", "first") == [("Run", None, None)]
    assert of(judged, "tier: source alone", "readers") == [("Retrain", "Retrain", True)]


def test_a_paper_that_ended_without_an_answer_agrees_with_nobody() -> None:
    gold = paper(
        labels(links=(link("github:a/b"), link("github:x/y", "foreign")), values=(value("1"),), data_public=True),
        labels("second", kind="empirical", statements=(stated("4 x A100"),)),
        own=(REAL,),
    )
    judged = [j for j in judge(gold, ours(trouble="crashed: no")) if j.against != "readers"]
    assert judged
    assert not any(j.agrees for j in judged)


def test_counts_follow_from_judgements_alone() -> None:
    def one(name: str, theirs: str, answer: str | None, against: Any = "first") -> Judged:
        agree = None if answer is None else answer == theirs
        return Judged(measure="data", against=against, paper=name, theirs=theirs, ours=answer, agrees=agree)

    judged = [
        *(one("a", "yes", "yes"), one("b", "yes", "no"), one("c", "no", "yes"), one("d", "no", "no")),
        *(one("e", "yes", None), one("a", "yes", "no", "readers"), one("b", "yes", "yes", "readers")),
    ]
    card = scorecard("toy", "gold", ["a"], judged)
    (row,) = card.tallies
    assert row.agree == Share(2, 4)
    assert row.open == 1
    assert row.precision == Share(1, 2)
    assert row.recall == Share(1, 3)
    assert row.readers == Share(1, 2)
    assert {(t, o): n for t, o, n in row.confusion}[("yes", OPEN)] == 1
    assert [(j.paper, j.against) for j in card.disagreements] == [("b", "first"), ("c", "first")]
    assert [j.paper for j in card.left_open] == ["e"]


@given(
    st.lists(st.tuples(st.sampled_from(["yes", "no"]), st.sampled_from(["yes", "no", None])), max_size=30), st.randoms()
)
def test_the_order_of_papers_changes_nothing_and_shares_add_up(
    pairs: list[tuple[str, str | None]], random: Any
) -> None:
    judged = [
        Judged(measure="data", against="first", paper=f"{i:02}", theirs=t, ours=o, agrees=None if o is None else o == t)
        for i, (t, o) in enumerate(pairs)
    ]
    card = scorecard("toy", "gold", [], judged)
    mixed = list(judged)
    random.shuffle(mixed)
    assert scorecard("toy", "gold", [], mixed) == card
    for row in card.tallies:
        assert row.agree.n + row.open == len(pairs) == sum(n for _, _, n in row.confusion)
        assert len(card.disagreements) + row.agree.k + row.open == len(pairs)


def test_measures_have_distinct_names() -> None:
    assert len({m.name for m in MEASURES}) == len(MEASURES)
