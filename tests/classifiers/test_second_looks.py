"""Second looks propose, field by field and both ways, and only with receipts; a row that needs them waits for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from classifiers.second_looks import double_reader, lookers, note
from pipeline.derivation import Derivation, LookInput, Rules, derive
from pipeline.disagreements import Disagreement, disagreements, first_seen, routes, wants_looks
from pipeline.editions import Classifier, LanguageModel, load
from pipeline.evidence import Outcome, Signal
from pipeline.tiers import Tier
from tests.classifiers.toys import CODE, OWN_CODE, FakeProbes, Found, classify, derived, method_paper, places

GONE: Found = (Outcome.UNAVAILABLE, "gone twice", {})
SOURCE = method_paper(links=OWN_CODE)
SMALL = r"Gizmo-S trains in 12 minutes on one NVIDIA A100 GPU."


@cache
def read(code: bool | None, source: str = SOURCE) -> Derivation:
    """The paper read in a world where its code is there, gone, or does not answer."""
    world: Mapping[str, Found] = {None: places(), True: places(code=CODE), False: places(code=GONE)}[code]
    return derived(source, classify(source, FakeProbes(world)))


def test_code_that_the_first_reader_missed_is_proposed_with_its_receipts_as_a_route() -> None:
    found = disagreements(read(False), read(True), "recheck 1")
    one = next(one for one in found if one.question == "code_available")
    assert (one.ours, one.theirs, one.route) == (False, True, True)
    assert one.receipts
    assert set(one.receipts) <= set(read(True).inputs.receipts)
    assert routes(found) == (one,)


def test_proposals_are_symmetric_what_is_gone_blocks_as_what_is_found_unblocks() -> None:
    found = disagreements(read(True), read(False), "recheck 2")
    one = next(one for one in found if one.question == "code_available")
    assert (one.ours, one.theirs, one.route) == (True, False, False)
    assert one.receipts


def test_a_reader_that_could_not_tell_proposes_nothing() -> None:
    assert read(None).label(Signal.CODE).value is None
    assert [one for one in disagreements(read(False), read(None), "prober") if one.question == "code_available"] == []


def test_readers_that_agree_propose_nothing() -> None:
    assert disagreements(read(True), read(True), "double read") == ()


def other_target(row: Derivation) -> Derivation:
    """The same paper read with another, smaller result as its target."""
    target = row.inputs.target
    assert target is not None
    small = target.model_copy(update={"config": "Gizmo-S", "value": "92.35", "number": 92.35})
    part = row.inputs.compute[0].model_copy(update={"wall_hours": 0.2, "quote": SMALL})
    inputs = row.inputs.model_copy(update={"target": small, "compute": [part]})
    return derive(inputs, {}, Rules.of(load("sample-2025")))


def test_another_target_comes_with_hours_and_band_derived_together_and_asks_whether_the_cheaper_one_will_do() -> None:
    first, second = read(False), other_target(read(False))
    target = next(one for one in disagreements(first, second, "double read") if one.question == "target")
    assert target.together is not None
    assert target.together["hours"] == second.hours
    assert target.together["band"] == second.band
    assert target.cheaper
    assert "cheaper reported configuration" in target.reason
    assert not any(one.question == "hours" for one in disagreements(first, second, "double read"))


def test_the_auditors_see_routes_first_then_cheaper_configurations() -> None:
    mixed = [
        *disagreements(read(False), other_target(read(False)), "double read"),
        *disagreements(read(False), read(True), "prober"),
    ]
    order = first_seen(reversed(mixed))
    assert order[0].route
    assert order[1].cheaper
    assert [Disagreement.from_json(one.to_json()) for one in order] == order


def test_a_reimplement_row_is_not_eligible_before_all_its_second_looks_were_had() -> None:
    row = read(False)
    assert row.tier is Tier.REIMPLEMENT
    rules = replace(Rules.of(load("sample-2025")), second_looks=3)
    receipts = {r.id: r for r in classify(SOURCE, FakeProbes(places(code=GONE))).receipts}
    looks = [LookInput(look=f"look {n}", classifier="m", answered=n < 2, receipts=["r1"]) for n in range(3)]
    missing = derive(row.inputs.model_copy(update={"looks": looks}), receipts, rules)
    assert missing.ineligible == ("second looks missing: 2 of 3 were had",)
    assert wants_looks(missing)
    whole = [look.model_copy(update={"answered": True}) for look in looks]
    ready = derive(row.inputs.model_copy(update={"looks": whole}), receipts, rules)
    assert ready.eligible
    assert [one.value for one in ready.labels] == [one.value for one in row.labels], "looks change no label"
    assert ready.row_hash == row.row_hash
    assert "r1" in ready.inputs.citable, "a person may cite what a look found"


def test_a_row_with_code_needs_no_second_look() -> None:
    rules = replace(Rules.of(load("sample-2025")), second_looks=3)
    receipts = {r.id: r for r in classify(SOURCE, FakeProbes(places(code=CODE))).receipts}
    assert derive(read(True).inputs, receipts, rules).eligible
    assert not wants_looks(read(True))


def test_a_language_model_looks_again_by_other_seeds_and_rules_do_not() -> None:
    assert lookers(Classifier()) == ()
    told = Classifier(model="openai:m", llm=LanguageModel(seed=7))
    three = lookers(told)
    assert [one.look for one in three] == ["recheck 1", "recheck 2", "prober"]
    seeds = [one.told.seed for one in (*three, double_reader(told)) if one.told]
    assert len({7, *seeds}) == 5
    named = lookers(Classifier(second_looks=("embedded", "openai:a", "anthropic:b")))
    assert [one.model for one in named] == ["embedded", "openai:a", "anthropic:b"]
    with pytest.raises(ValueError, match="name three"):
        Classifier(second_looks=("embedded",))


def test_only_the_prober_is_told_what_was_not_found_and_of_which_result() -> None:
    row = read(False)
    told = note(row, "prober")
    assert row.inputs.target is not None
    assert row.inputs.target.value in told
    assert "code that runs it" in told
    assert note(row, "recheck 1") == note(row, "double read") == ""
