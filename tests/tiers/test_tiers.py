"""The tier follows from four signals, and from nothing that is not known."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.evidence import Signal as Question
from pipeline.tiers import Scoring, Signal, Tier, reads, score, tier

SIGNALS = [signal.value for signal in Question]

_signal = st.builds(Signal, st.sampled_from([True, False, None]), st.booleans())
_signals = st.fixed_dictionaries(dict.fromkeys(SIGNALS, _signal))
_scoring = st.sampled_from(["needs", "published"])


def _of(code: bool | None, data: bool | None, weights: bool | None, standard: bool | None) -> dict[str, Signal]:
    return {name: Signal(value) for name, value in zip(SIGNALS, (code, data, weights, standard), strict=True)}


def _tier(signals: dict[str, Signal], scoring: Scoring = "needs") -> Tier | None:
    return tier(score(signals, scoring), signals, scoring)


@pytest.mark.parametrize(
    ("signals", "points", "expected"),
    [
        (_of(True, True, True, False), 0, Tier.RUN),
        (_of(True, False, True, True), 0, Tier.RUN),
        (_of(True, True, False, False), 1, Tier.RETRAIN),
        (_of(False, True, True, False), 2, Tier.REIMPLEMENT),
        (_of(False, False, False, True), 3, Tier.REIMPLEMENT),
        (_of(True, False, True, False), 3, Tier.BLOCKED),
        (_of(True, False, False, False), 4, Tier.BLOCKED),
        (_of(False, False, False, False), 6, Tier.BLOCKED),
    ],
)
@pytest.mark.parametrize("scoring", ["needs", "published"])
def test_needed_artifacts_score_alike_under_both_rules(signals, points, expected, scoring):
    assert score(signals, scoring) == points
    assert _tier(signals, scoring) is expected


def test_a_training_free_paper_with_code_and_data_is_run_and_only_the_published_rule_charges_it():
    signals = _of(True, True, False, True) | {"weights_available": Signal(False, applicable=False)}
    assert (score(signals, "needs"), _tier(signals, "needs")) == (0, Tier.RUN)
    assert (score(signals, "published"), _tier(signals, "published")) == (1, Tier.RETRAIN)


def test_a_paper_that_needs_no_data_is_blocked_by_the_published_rule_alone():
    signals = _of(True, False, True, False) | {"dataset_available": Signal(False, applicable=False)}
    assert (score(signals, "needs"), _tier(signals, "needs")) == (0, Tier.RUN)
    assert (score(signals, "published"), _tier(signals, "published")) == (3, Tier.BLOCKED)


def test_code_and_weights_missing_without_need_of_data_is_reimplement():
    signals = _of(False, False, False, False) | {"dataset_available": Signal(False, applicable=False)}
    assert score(signals, "needs") == 3
    assert _tier(signals, "needs") is Tier.REIMPLEMENT


def test_a_paper_without_experiments_has_no_score_and_is_out_of_scope():
    signals = _of(True, True, True, True)
    assert score(signals, "needs", "theoretical") is None
    assert tier(None, signals, paper_kind="theoretical") is Tier.OUT_OF_SCOPE


def test_unknown_weights_leave_the_tier_open_only_where_the_weights_decide():
    assert _tier(_of(True, True, None, False)) is None
    reimplement = _of(False, True, None, False)
    assert score(reimplement, "needs") is None
    assert _tier(reimplement) is Tier.REIMPLEMENT
    assert reads(reimplement) == {"code_available", "dataset_available"}


def test_unknown_code_does_not_matter_once_the_data_is_missing():
    blocked = _of(None, False, None, False)
    assert _tier(blocked) is Tier.BLOCKED
    assert reads(blocked) == {"dataset_available", "dataset_is_standard"}


def test_a_standard_data_set_settles_the_question_while_its_availability_is_unknown():
    signals = _of(True, None, True, True)
    assert _tier(signals) is Tier.RUN
    assert "dataset_available" not in reads(signals)


@pytest.mark.parametrize("word", ["Run", "Easy", "Retrain", "Medium", "Run & Retrain", "Hard", "Artifact-Blocked"])
def test_every_word_for_a_tier_is_read(word):
    tier_ = Tier.parse(word)
    assert word in (tier_.value, tier_.row_word, "Run & Retrain")


def test_run_and_retrain_is_the_retrain_tier_and_a_strange_word_is_refused():
    assert Tier.parse("Run & Retrain") is Tier.RETRAIN
    with pytest.raises(ValueError, match="Feasible"):
        Tier.parse("Feasible")


@given(_signals, _scoring)
def test_an_undetermined_signal_never_sets_a_tier(signals, scoring):
    """Whatever the unknown signals turn out to be, a tier that was given stays."""
    given_tier = _tier(signals, scoring)
    open_names = [name for name in SIGNALS if signals[name].value is None]
    outcomes = {
        _tier(signals | {n: signals[n]._replace(value=v) for n, v in zip(open_names, values, strict=True)}, scoring)
        for values in product([True, False], repeat=len(open_names))
    }
    if given_tier is None:
        assert len(outcomes) > 1
    else:
        assert outcomes == {given_tier}


@given(_signals, _scoring)
def test_what_a_tier_reads_fixes_it(signals, scoring):
    """Signals outside ``reads`` may take any value; the tier must not move."""
    if _tier(signals, scoring) is None:
        return
    rest = [name for name in SIGNALS if name not in reads(signals, scoring)]
    for values in product([True, False, None], repeat=len(rest)):
        moved = signals | {n: signals[n]._replace(value=v) for n, v in zip(rest, values, strict=True)}
        assert _tier(moved, scoring) is _tier(signals, scoring)


@given(_signals, _scoring)
def test_an_undetermined_tier_names_an_unknown_signal_it_waits_for(signals, scoring):
    if _tier(signals, scoring) is None:
        assert any(signals[name].value is None for name in reads(signals, scoring))


@given(_signals)
def test_the_needs_rule_never_charges_more_than_the_published_one(signals):
    needs, published = score(signals, "needs"), score(signals, "published")
    if needs is not None and published is not None:
        assert needs <= published
