"""The rules beside the page: who reads what, what code doubts, and that any interleaving folds as the ledger says."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.assignments import Assignments, Place, Taken, next_for
from pipeline.calibration import examples, exercises
from pipeline.deciding import Conflict, Deciding, last_of
from pipeline.derivation import Derivation, Rules, derive
from pipeline.doubts import doubts
from pipeline.events import QUESTIONS, Event, fold, value_problem, verify_chain
from pipeline.evidence import Outcome, Receipt
from pipeline.ledger import Ledger
from pipeline.release.case import Case
from pipeline.release.compose import compose, pool_of
from pipeline.release.gate_splits import pool_decided
from pipeline.second_readings import TARGET_ONLY, Row, drawn_twice, owed
from pipeline.store import Store
from tests.audit_ui.conftest import material
from tests.release import made

ROWS = [Row(paper=f"p{n}", row_hash="h", stratum=("Run" if n % 3 else "Retrain", f"b{n % 4}")) for n in range(60)]


def test_at_least_the_share_of_every_stratum_is_read_twice_and_the_lot_is_stable() -> None:
    drawn = drawn_twice(ROWS, 0.3, "seed")
    for stratum, size in Counter(r.stratum for r in ROWS).items():
        assert sum(r.paper in drawn for r in ROWS if r.stratum == stratum) == math.ceil(0.3 * size)
    assert drawn == drawn_twice(ROWS[::-1], 0.3, "seed")
    assert drawn != drawn_twice(ROWS, 0.3, "another")
    for share in (0.24, 1.1):
        with pytest.raises(ValueError, match="read twice"):
            drawn_twice(ROWS, share, "seed")


def read_by(*people: str, narrow: str = "") -> list[Event]:
    """Everybody reads every row of the made pool blind, but for `narrow`, who judges claim, target and bar alone."""
    rows = [derive(i, material().receipts, Rules.of(made.EDITION)) for i in material().sample]
    chosen = set(pool_of(rows, made.EDITION).ids)
    said = [e for row in rows if row.arxiv_id in chosen for e in made.agrees(row)]
    return [
        e.model_copy(update={"who": who}) for who in people for e in said if who != narrow or e.question in TARGET_ONLY
    ]


def due(events: list[Event], people: tuple[str, ...] = ()) -> dict[str, str]:
    composed = compose(replace(material(), entries=made.chain(events)))
    splits = composed.splits
    return dict(owed(composed.audited, composed.events, {*splits.eval, *splits.dev}, made.EDITION, people))


def test_second_readings_are_owed_once_two_people_read_and_never_by_one_alone() -> None:
    ann, both = read_by("ann"), read_by("ann", "bob")
    assert due(ann) == {}
    waiting = due(ann, ("ann", "bob"))
    assert set(waiting.values()) == {"full", "target"}
    assert due([*ann, both[-1]]) == waiting, "one answer of a second reader is no second reading"
    narrow = due(read_by("ann", "bob", narrow="bob"))
    assert narrow == {paper: scope for paper, scope in waiting.items() if scope == "full"}
    assert due(both) == {}


def test_answers_with_the_verdict_in_sight_make_no_reader_and_settle_what_is_owed() -> None:
    told = [e.model_copy(update={"phase": "revised"}) for e in read_by("ann", "bob")]
    assert due(told[: len(told) // 2], ("ann", "bob")) == {}
    assert due([*read_by("ann"), *told[len(told) // 2 :]], ("ann", "bob")) == {}


def test_the_gate_freezes_nothing_while_a_second_reading_is_owed() -> None:
    ann, bob = read_by("ann"), read_by("bob")
    for events, owes in ((ann, False), ([*ann, bob[0]], True), ([*ann, *bob], False)):
        held = replace(material(), entries=made.chain(events))
        case = Case(material=held, made=compose(held), lines={})
        assert any("a second reading" in f.message for f in pool_decided(case).failures) is owes


def test_readers_come_to_hold_equal_shares_of_every_tier_and_band_and_no_place_twice() -> None:
    drawn = drawn_twice(ROWS, 0.25, "seed")
    scopes = dict.fromkeys(drawn, "full")
    places: list[Place] = []
    finished: set[tuple[str, str]] = set()
    people, turn = ["ann", "bob", "cyd"], 0
    while people:
        me = people[turn % len(people)]
        turn += 1
        found = next_for(me, ROWS, places, scopes, finished, "seed")
        if found is None:
            people.remove(me)
            continue
        row, place = found
        places.append(Place(paper=row.paper, row_hash="h", place=place, who=me, state="taken", scope="full"))
        finished.add((row.paper, me))
    held = Counter((p.paper, p.place) for p in places)
    assert set(held.values()) == {1}
    assert set(held) == {(r.paper, 1) for r in ROWS} | {(p, 2) for p in drawn}
    assert all(len({p.who for p in places if p.paper == paper}) == 2 for paper in drawn)
    strata = {r.paper: r.stratum for r in ROWS}
    for stratum in set(strata.values()):
        shares = Counter(p.who for p in places if strata[p.paper] == stratum)
        assert max(shares.values()) - min(shares.values()) <= 2


def test_what_was_begun_comes_first_and_a_conflict_never_comes_back() -> None:
    mine = Place(paper="p7", row_hash="h", place=1, who="ann", state="taken", scope="full")
    shut = Place(paper="p8", row_hash="h", place=1, who="ann", state="conflict", scope="full")
    found = next_for("ann", ROWS, [mine, shut], {}, set(), "seed")
    assert found is not None
    assert found[0].paper == "p7"
    seen = set()
    places = [mine, shut]
    while (found := next_for("ann", ROWS, places, {}, {(p, "ann") for p in seen | {"p7"}}, "seed")) is not None:
        seen.add(found[0].paper)
        places.append(replace(mine, paper=found[0].paper))
    assert seen == {r.paper for r in ROWS} - {"p7", "p8"}


def test_the_database_lets_one_reader_into_a_place(tmp_path: Path) -> None:
    desk = Assignments(Store(tmp_path).engine, "made")
    desk.take(ROWS[0], 1, "ann", "full", made.WHEN)
    desk.take(ROWS[0], 1, "ann", "full", made.WHEN)
    with pytest.raises(Taken):
        desk.take(ROWS[0], 1, "bob", "full", made.WHEN)
    with pytest.raises(Taken):
        desk.change(ROWS[0], 1, "bob", "parked", made.WHEN)
    desk.change(ROWS[0], 1, "ann", "left", made.WHEN)
    desk.take(ROWS[0], 1, "bob", "full", made.WHEN)
    assert [(p.who, p.held) for p in desk.places()] == [("bob", True)]


def test_exercises_and_examples_cover_every_question_with_answers_that_are_answers() -> None:
    assert len(exercises()) == 8
    assert set(examples()) == set(QUESTIONS)
    for row in exercises():
        for asked in row.ask:
            assert value_problem(asked.question, asked.answer) is None
            assert asked.why


# What code doubts.

Row_ = tuple[Derivation, dict[str, Receipt]]


@pytest.fixture(scope="module")
def sound() -> Row_:
    """A row with nothing odd about it: its hours are those that the paper prints."""
    quote = "Training took 4 hours on one H100."
    part = {**made.part(4.0), "quote": quote}
    inputs, found = made.inputs(3, tier="Retrain", hours=4.0, compute=[part], needs={})
    named = [replace(r, facts={**r.facts, "names_paper": ["title"]}) for r in found]
    known = {r.id: r for r in named}
    return derive(inputs.model_copy(update={"receipts": list(known)}), known, Rules.of(made.EDITION)), known


def told(row: Derivation, known: dict[str, Receipt]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in doubts(row, known, made.paper(3), made.EDITION.tolerance_relative):
        found[one.question] = f"{found.get(one.question, '')} {one.text}".strip()
    return found


def test_nothing_is_odd_about_a_sound_row(sound: Row_) -> None:
    assert told(*sound) == {}


def faulty(sound: Row_, **changes: Any) -> dict[str, str]:
    row, known = sound
    return told(replace(row, inputs=row.inputs.model_copy(update=changes)), known)


def test_a_wrong_value_a_baselines_cell_and_a_wide_tolerance_are_told(sound: Row_) -> None:
    target = sound[0].inputs.target
    assert target is not None
    wrong = target.model_copy(update={"value": "83.07", "number": 83.07})
    assert "does not print 83.07 where the target says: there stands '80.03'" in faulty(sound, target=wrong)["target"]
    row = (target.anchor.row or 0) - 1
    other = target.model_copy(
        update={"value": "70.03", "number": 70.03, "anchor": target.anchor.model_copy(update={"row": row})}
    )
    assert "row “Baseline”" in faulty(sound, target=other)["target"]
    wide = target.model_copy(update={"bar": target.bar.model_copy(update={"tolerance": 20.0})})
    assert "the tolerance is 20, 5% of the value would be 4.00" in faulty(sound, target=wide)["bar"]


def test_padded_hours_other_devices_and_other_counts_are_told(sound: Row_) -> None:
    part = sound[0].inputs.compute[0]
    padded = faulty(sound, compute=[part.model_copy(update={"wall_hours": 30.0})])
    assert "30 h are charged, the quoted words say 4 h" in padded["hours"]
    device = faulty(sound, compute=[part.model_copy(update={"device": "A100 80GB"})])
    assert "the quoted words name H100" in device["hours"]
    count = faulty(sound, compute=[part.model_copy(update={"count": 8.0})])
    assert "8 devices are charged" in count["hours"]
    invented = faulty(sound, compute=[part.model_copy(update={"quote": "Training took 9 days."})])
    assert "not in the paper" in invented["hours"]


def test_claims_that_the_paper_does_not_make_are_told(sound: Row_) -> None:
    assert "not in the paper" in faulty(sound, claim_quote="Our method is best on ImageNet.")["claim"]
    assert "not of the abstract" in faulty(sound, claim_quote="Training took 4 hours on one H100.")["claim"]


def test_services_for_money_in_the_configuration_are_told(sound: Row_) -> None:
    assert "OpenAI" in faulty(sound, mre_config="votes of GPT-4o")["needs"]


def test_gates_forks_and_foreign_places_are_told_as_facts(sound: Row_) -> None:
    row, known = sound
    code = next(r for r in known.values() if r.tool == "github_repo")
    foreign = known | {code.id: replace(code, facts={**code.facts, "names_paper": [], "fork_of": "other/base"})}
    found = told(row, foreign)["code_available"]
    assert "neither linked by the paper nor naming it" in found
    assert "a fork of other/base" in found
    gated = known | {code.id: replace(code, outcome=Outcome.GATED, reason="manual")}
    assert "gated (manual)" in told(row, gated)["code_available"]


# Any interleaving.

_numbers = count()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_interleaving_of_decisions_and_undos_verifies_and_folds_plainly(
    tmp_path: Path, data: st.DataObject
) -> None:
    store = Store(tmp_path)
    name = f"made-{next(_numbers)}"
    moves = Deciding(Ledger(store.engine, name))
    plain: list[Event] = []
    for n in range(data.draw(st.integers(1, 12))):
        who, question = data.draw(st.sampled_from(["ann", "bob"])), data.draw(st.sampled_from(["kind", "hours"]))
        last = last_of(who, question, plain)
        stale = data.draw(st.booleans()) and last is not None
        value = data.draw(st.sampled_from({"kind": ["empirical", "survey"], "hours": ["stands", 3.5]}[question]))
        given_: dict[str, Any] = {"paper": "p", "who": who, "at": f"2026-03-01T00:00:{n:02}Z"}
        back = data.draw(st.booleans()) and last is not None and last.kind == "answer"
        if back and last is not None:
            event = Event(kind="undo", undoes=last.id, **given_)
        else:
            more = {"question": question, "phase": "revised", "value": value, "row_hash": "a" * 64}
            event = Event(kind="answer", **more, **given_)
        after = "" if stale or last is None else last.id
        if stale:
            with pytest.raises(Conflict):
                moves.decide(event, question, after)
        else:
            moves.decide(event, question, after)
            plain.append(event)
    entries = moves.ledger.entries()
    assert verify_chain(entries, name) == []
    assert [e.event for e in entries] == plain
    undone = {e.undoes for e in plain}
    assert fold(entries) == [e for e in plain if e.kind == "answer" and e.id not in undone]
    assert len(moves.all()) == len(plain)
