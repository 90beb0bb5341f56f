"""Agreement: the coefficients of the libraries that everybody uses, from blind answers alone."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.agreement import MEASURED, alpha, bootstrap, kappa, measure
from pipeline.derivation import Derivation, Rules, derive
from pipeline.events import Event
from pipeline.release import verify_alone

answers = st.sampled_from(["false", "true", '"not_needed"', '"cannot_tell"'])
pairs = st.lists(st.tuples(answers, answers), min_size=1, max_size=40)
tables = st.lists(st.lists(st.none() | answers, min_size=3, max_size=5), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_kappa_is_what_is_left_of_agreement_beyond_chance(said: list[tuple[str, str]]) -> None:
    n = len(said)
    seen = Fraction(sum(a == b for a, b in said), n)
    classes = {value for pair in said for value in pair}
    chance = sum(Fraction(sum(a == c for a, _ in said), n) * Fraction(sum(b == c for _, b in said), n) for c in classes)
    assert kappa(said) == (None if chance == 1 else float((seen - chance) / (1 - chance)))
    assert kappa(said) == verify_alone.kappa(said)


@pytest.mark.slow  # importing it takes longer than all other tests here
@settings(max_examples=300, deadline=None)
@given(pairs)
def test_kappa_is_scikit_learns(said: list[tuple[str, str]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides by zero where we say that kappa is undefined
        theirs = float(metrics.cohen_kappa_score([a for a, _ in said], [b for _, b in said]))
    ours = kappa(said)
    assert (ours is None) == (len({value for pair in said for value in pair}) == 1)
    assert ours is None or math.isclose(ours, theirs, abs_tol=1e-12)


@settings(max_examples=30, deadline=None)
@given(tables)
def test_alpha_is_that_of_the_krippendorff_package_with_answers_missing(said: list[list[str | None]]) -> None:
    package = pytest.importorskip("krippendorff")
    width = max(map(len, said))
    units = [[value for value in unit if value is not None] for unit in said]
    ours = alpha(units)
    classes = sorted({value for unit in units for value in unit})
    if len({value for unit in units if len(unit) > 1 for value in unit}) < 2:
        assert ours is None
        return
    assert len(classes) > 1
    coded = [[*(math.nan if v is None else classes.index(v) for v in unit)] for unit in said]
    coded = [unit + [math.nan] * (width - len(unit)) for unit in coded]
    raters = list(map(list, zip(*coded, strict=True)))
    theirs = float(package.alpha(reliability_data=raters, level_of_measurement="nominal"))
    assert ours is not None
    assert math.isclose(ours, theirs, abs_tol=1e-9)
    assert ours == verify_alone.alpha([unit for unit in units if len(unit) > 1])


def test_one_class_leaves_both_undefined_however_many_agree() -> None:
    assert kappa([("true", "true")] * 30) is None
    assert alpha([["true", "true", "true"]] * 30) is None
    assert bootstrap([("true", "true")] * 30, "seed") is None
    assert kappa([]) is None
    assert alpha([["true"], []]) is None


def test_the_interval_holds_kappa_narrows_with_more_rows_and_follows_from_its_seed() -> None:
    few = [("true", "true")] * 8 + [("true", "false")] * 2 + [("false", "false")] * 5
    near, far = bootstrap(few * 10, "seed"), bootstrap(few, "seed")
    whole = kappa(few)
    assert near is not None
    assert far is not None
    assert whole is not None
    assert far.low < near.low < whole < near.high < far.high
    assert bootstrap(few, "seed") == far != bootstrap(few, "other")


def test_a_kappa_that_hangs_on_one_row_has_no_interval() -> None:
    pairs_ = [("true", "true")] * 2 + [("true", "false")]
    assert kappa(pairs_) == 0
    lone = [("true", "true"), ("false", "false")]
    assert kappa(lone) == 1
    found = bootstrap(lone, "seed")  # half of its resamples are one class
    assert found is None or (found.low, found.high) == (1, 1)


@pytest.fixture
def row(made: ModuleType) -> Derivation:
    inputs, found = made.inputs(1, tier="Run", hours=4.0)
    return derive(inputs, {r.id: r for r in found}, Rules.of(made.EDITION))


def of(row: Derivation, *events: Event) -> Any:
    (code, *_), told = (m := measure({row.arxiv_id: row.row_hash}, events, "seed")).questions, m
    return told, code


def test_agreement_of_one_reader_alone_was_not_measured(made: ModuleType, row: Derivation) -> None:
    told, code = of(row, *made.agrees(row))
    assert not told.measured
    assert (code.n, code.kappa, code.readers) == (0, None, 1)
    assert told.to_json() == {"measured": False, "rows": 0, "of": 1, "draws": 1000, "questions": {}}


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": "revised"},
        {"phase": "revised", "mode": "unblinded", "identity": "asserted"},
        {"identity": "asserted"},
        {"kind": "adjudicate", "phase": None, "why": "seen"},
        {"row_hash": "e" * 64},
    ],
)
def test_what_was_not_seen_blind_by_a_known_person_on_this_row_measures_nothing(
    made: ModuleType, row: Derivation, changes: dict[str, Any]
) -> None:
    first = made.says(row, "code_available", True)
    second = made.says(row, "code_available", False, who="grace", **changes)
    assert not of(row, first, second)[0].measured
    plain = made.says(row, "code_available", False, who="grace")
    assert of(row, first, plain)[0].measured


def test_the_first_to_begin_a_row_is_its_first_reader_and_the_last_blind_answer_counts(
    made: ModuleType, row: Derivation
) -> None:
    def at(minute: int, question: str, value: Any, who: str) -> Event:
        return made.says(row, question, value, who=who, at=f"2026-02-20T10:{minute:02}:00Z")  # type: ignore[no-any-return]

    told, code = of(
        row,
        at(0, "kind", "empirical", "grace"),
        at(1, "code_available", False, "ada"),
        at(2, "code_available", True, "grace"),
        at(3, "code_available", "cannot_tell", "ada"),
    )
    assert told.measured
    assert code.confusion == (("true", '"cannot_tell"', 1),)
    assert code.prevalence == {"true": 0.5, '"cannot_tell"': 0.5}
    assert (code.n, code.agreed, code.percent, code.readers) == (1, 0, 0.0, 2)


def test_a_third_reader_enters_alpha_and_not_kappa(made: ModuleType, row: Derivation) -> None:
    said = [made.says(row, "code_available", v, who=w) for w, v in (("ada", True), ("grace", True), ("joan", False))]
    _, code = of(row, *said)
    assert (code.n, code.agreed, code.readers) == (1, 1, 3)
    assert code.alpha == pytest.approx(0.0, abs=1e-12)


def test_only_questions_answered_before_the_verdict_are_measured() -> None:
    assert set(MEASURED) == {
        *("code_available", "dataset_available", "weights_available", "dataset_is_standard", "kind", "needs"),
    }
