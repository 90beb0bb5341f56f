"""The ledger: append-only, chained per site, mergeable, and folded the same way wherever it is read."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.events import (
    Entry,
    Event,
    LedgerError,
    chained,
    fold,
    genesis,
    head,
    merge,
    moment,
    value_problem,
    verify_chain,
)
from pipeline.ledger import Ledger

ROW = "a" * 64


def answer(question: str = "code_available", value: object = True, **changes: object) -> Event:
    given = {"kind": "answer", "paper": "2501.00001", "who": "ada", "at": "2026-03-01T12:00:00Z", "phase": "blind"}
    return Event.model_validate({**given, "question": question, "value": value, "row_hash": ROW, **changes})


def undo(of: Event, who: str = "ada", at: str = "2026-03-01T13:00:00Z") -> Event:
    return Event(kind="undo", paper=of.paper, who=who, at=at, undoes=of.id)


def ledger(site: str = "main", url: str = "sqlite://") -> Ledger:
    return Ledger(sa.create_engine(url), "sample-2025", site)


def test_an_event_imported_twice_is_one_event() -> None:
    book = ledger()
    assert len(book.append([answer(), answer()])) == 1
    assert book.append([answer()]) == []
    assert [e.event for e in book.entries()] == [answer()]


def test_an_unset_field_and_its_default_are_the_same_event() -> None:
    assert answer().id == answer(why="", evidence=[]).id
    assert answer().id != answer(why="seen").id


@pytest.mark.parametrize("statement", ["UPDATE ledger SET paper = 'x'", "DELETE FROM ledger"])
def test_the_database_refuses_to_change_or_delete_an_entry(statement: str) -> None:
    book = ledger()
    book.append([answer()])
    with pytest.raises(sa.exc.IntegrityError, match="append-only"), book.engine.begin() as connection:
        connection.execute(sa.text(statement))
    assert len(book.entries()) == 1


def test_a_changed_stored_event_is_an_error_that_names_the_entry() -> None:
    book = ledger()
    book.append([answer()])
    with book.engine.begin() as connection:
        connection.execute(sa.text("DROP TRIGGER ledger_no_update"))
        forged = json.dumps(answer(value=False).to_json())
        connection.execute(sa.text("UPDATE ledger SET event = :forged"), {"forged": forged})
    with pytest.raises(LedgerError, match=r"entry main 1 about 2501\.00001"):
        book.entries()


def test_one_bad_event_keeps_the_whole_append_out() -> None:
    book = ledger()
    with pytest.raises(LedgerError, match="no event of theirs"):
        book.append([answer(), undo(answer(who="grace"), who="ada")])
    assert book.entries() == []


def test_an_undone_answer_counts_again_when_its_undo_is_undone() -> None:
    first = answer()
    second = undo(first)
    third = Event(kind="undo", paper=first.paper, who="ada", at="2026-03-01T14:00:00Z", undoes=second.id)
    book = ledger()
    book.append([first, second])
    assert book.events() == []
    book.append([third])
    assert book.events() == [first]


def test_nobody_undoes_what_another_person_said() -> None:
    book = ledger()
    book.append([answer()])
    with pytest.raises(LedgerError, match="grace cannot undo"):
        book.append([undo(answer(), who="grace")])


def test_two_sites_merge_into_one_fold_order_and_the_same_head_either_way() -> None:
    here, there = ledger("here"), ledger("there")
    shared = answer(at="2026-03-01T12:00:05Z")
    here.append([shared, answer("kind", "empirical", at="2026-03-01T12:00:01Z")])
    there.append([shared, answer("hours", 3.5, who="grace", at="2026-03-01T12:00:03Z")])
    assert head(merge(here.entries(), there.entries())) == head(merge(there.entries(), here.entries()))
    assert len(here.adopt(there.entries())) == 2
    assert here.adopt(there.entries()) == []
    assert [e.at[-3:-1] for e in here.events()] == ["01", "03", "05"]
    assert verify_chain(here.entries(), "sample-2025") == []


def test_a_chain_of_another_edition_does_not_fit() -> None:
    other = Ledger(sa.create_engine("sqlite://"), "neurips-2025", "there")
    other.append([answer()])
    with pytest.raises(LedgerError, match="not chained"):
        ledger().adopt(other.entries())


def test_two_machines_under_one_site_name_are_told_apart() -> None:
    a, b = ledger(), ledger()
    a.append([answer()])
    b.append([answer(value=False)])
    with pytest.raises(LedgerError, match="site main has two different entries 1"):
        merge(a.entries(), b.entries())


def test_fractions_of_a_second_sort_after_the_whole_second() -> None:
    assert moment("2026-03-01T12:00:00Z") < moment("2026-03-01T12:00:00.5Z") < moment("2026-03-01T12:00:01Z")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"at": "2026-03-01 12:00"}, "no UTC time"),
        ({"at": "2026-02-30T12:00:00Z"}, "day"),
        ({"value": "yes"}, "not_needed or cannot_tell"),
        ({"value": 1}, "not_needed or cannot_tell"),
        ({"row_hash": None}, "64-digit hash"),
        ({"row_hash": "present"}, "64-digit hash"),
        ({"phase": None}, "phase"),
        ({"question": "colour"}, "Input should be"),
        ({"verdict": "agree"}, "Extra inputs"),
        ({"at": "2201-01-01T00:00:00Z"}, "after the year 2200"),
        ({"at": "٢٠٢٦-03-01T12:00:00Z"}, "no UTC time"),
        ({"who": "ada\x1b[2J"}, "printable"),
        ({"who": "a" * 101}, "at most 100"),
        ({"paper": "2501.00001\n"}, "printable"),
        ({"paper": "\ud800"}, "printable|unicode"),
        ({"why": "\ud800"}, "canonical JSON|unicode"),
        ({"question": "bar", "value": {"kind": "range", "op": "between", "low": 0, "high": float("inf")}}, "canonical"),
        ({"question": "hours", "value": 10**400}, "H100-hours from 0 to 1,000,000"),
        ({"question": "hours", "value": 1_000_000.5}, "H100-hours"),
        ({"question": "hours", "value": float("nan")}, "canonical JSON|H100-hours"),
        ({"question": "hours", "value": -1}, "H100-hours"),
        ({"question": "hours", "value": True}, "H100-hours"),
        ({"question": "needs", "value": ["wings"]}, "sorted list"),
        ({"question": "claim", "value": {"claim": "x"}}, "quote"),
        ({"question": "target", "value": {"metric": "accuracy"}}, "whole target"),
        ({"question": "bar", "value": {"kind": "none", "op": "within"}}, "whole bar"),
        ({"kind": "relabel", "phase": None}, "needs a reason"),
        ({"kind": "relabel", "phase": None, "question": "hours", "value": 2, "why": "w"}, "relabel about any other"),
        ({"kind": "re_estimate", "phase": None, "why": "w"}, "re_estimate is about hours"),
        ({"kind": "adjudicate", "phase": None, "why": "w", "value": "cannot_tell"}, "must decide"),
        ({"kind": "drop", "phase": None, "why": "w"}, "drop has no question"),
        ({"undoes": ROW}, "undo"),
    ],
)
def test_what_is_no_event_is_refused_with_its_reason(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        answer(**changes)


def test_cannot_tell_answers_any_question_of_an_auditor() -> None:
    assert value_problem("target", "cannot_tell") is None
    assert answer("bar", "cannot_tell").value == "cannot_tell"


def test_writers_at_the_same_time_leave_one_whole_chain(tmp_path: Path) -> None:
    """Two processes of one site may append at once; each finds its place behind the other's."""
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    ledger(url=url)
    failures: list[BaseException] = []

    def work(who: str) -> None:
        book = ledger(url=url)
        try:
            for n in range(10):
                book.append([answer(who=who, at=f"2026-03-01T12:00:{n:02}Z")])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in ("ada", "grace", "joan")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = ledger(url=url).entries()
    assert failures == []
    assert len(entries) == 30
    assert verify_chain(entries, "sample-2025") == []


def test_postgresql_keeps_the_same_ledger_and_refuses_changes_too(postgres_url: str) -> None:
    engine = sa.create_engine(postgres_url)
    schema = "ledger_test"
    with engine.begin() as connection:
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {schema} CASCADE"))
        connection.execute(sa.text(f"CREATE SCHEMA {schema}"))
    here = sa.create_engine(postgres_url, connect_args={"options": f"-csearch_path={schema}"})
    try:
        book, lite = Ledger(here, "sample-2025"), ledger()
        events = [answer(), answer("hours", 2.5), undo(answer())]
        assert book.append(events) == lite.append(events)
        assert book.append(events) == []
        assert book.entries() == Ledger(here, "sample-2025").entries() == lite.entries()
        for statement in ("UPDATE ledger SET paper = 'x'", "DELETE FROM ledger", "TRUNCATE ledger"):
            with pytest.raises(sa.exc.DBAPIError, match="append-only"), here.begin() as connection:
                connection.execute(sa.text(statement))
        assert len(book.entries()) == 3
    finally:
        here.dispose()
        with engine.begin() as connection:
            connection.execute(sa.text(f"DROP SCHEMA {schema} CASCADE"))
        engine.dispose()


# Any interleaving of answers and undos at two sites.
people = st.sampled_from(["ada", "grace"])
steps = st.lists(
    st.tuples(st.sampled_from(["here", "there"]), people, st.integers(0, 59), st.booleans(), st.integers(0, 30)),
    max_size=25,
)


def play(script: list[tuple[str, str, int, bool, int]]) -> list[Entry]:
    """Both sites' chains after a script of (site, person, second, whether to undo, which value or which event)."""
    said: dict[str, list[Event]] = {"here": [], "there": []}
    for site, who, second, undoing, pick in script:
        at = f"2026-03-01T12:00:{second:02}Z"
        mine = [e for e in said["here"] + said["there"] if e.who == who]
        event = (
            undo(mine[pick % len(mine)], who, at) if undoing and mine else answer(value=bool(pick % 2), who=who, at=at)
        )
        if event not in said[site]:
            said[site].append(event)
    return merge(*(chained(events, site, 0, genesis("sample-2025", site)) for site, events in said.items()))


def naive(entries: list[Entry]) -> list[Event]:
    """Strike, from the last id named to the first, whatever a standing undo of the same person names."""
    events: list[Event] = []
    for entry in sorted(entries, key=lambda e: (e.event.at, e.site, e.seq)):
        if entry.event not in events:
            events.append(entry.event)

    def stands(event: Event) -> bool:
        against = [u for u in events if u.kind == "undo" and u.undoes == event.id and u.who == event.who]
        return not any(stands(u) for u in against)

    return [e for e in events if e.kind != "undo" and stands(e)]


@settings(max_examples=60, deadline=None)
@given(steps)
def test_any_interleaving_verifies_and_folds_as_the_naive_fold_does(
    script: list[tuple[str, str, int, bool, int]],
) -> None:
    entries = play(script)
    assert verify_chain(entries, "sample-2025") == []
    assert fold(entries) == naive(entries)
    assert fold(reversed(entries)) == fold(entries)


@settings(max_examples=40, deadline=None)
@given(steps.filter(lambda s: len(s) > 1), st.data())
def test_removing_or_moving_any_entry_but_a_chains_last_breaks_the_chain(
    script: list[tuple[str, str, int, bool, int]], data: st.DataObject
) -> None:
    entries = play(script)
    last = {site: max(e.seq for e in entries if e.site == site) for site in {e.site for e in entries}}
    inner = [e for e in entries if e.seq < last[e.site]]
    if not inner:
        return
    gone = data.draw(st.sampled_from(inner))
    assert verify_chain([e for e in entries if e is not gone], "sample-2025")
    moved = Entry(site=gone.site, seq=gone.seq, prev_hash=genesis("x", gone.site), event=gone.event)
    assert verify_chain([moved if e is gone else e for e in entries], "sample-2025")
    cut = [e for e in entries if e.seq < last[e.site]]
    assert head(cut) != head(entries)


@given(steps)
@settings(max_examples=20, deadline=None)
def test_entries_survive_json(script: list[tuple[str, str, int, bool, int]]) -> None:
    entries = play(script)
    assert [Entry.from_json(json.loads(json.dumps(e.to_json()))) for e in entries] == entries
