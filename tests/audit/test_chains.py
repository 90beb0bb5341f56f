"""The ledger between sites and databases: exported and adopted whole, and any history folds as a plain list does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.audit import standing
from pipeline.events import Entry, Event, LedgerError, chain_lines, fold, head, read_chains, verify_chain
from pipeline.ledger import Ledger

EDITION, ROW = "sample-2025", "a" * 64
PEOPLE = ("ada", "grace", "joan")
VALUES = (True, False, "cannot_tell")


def answer(who: str, value: object, second: int, **changes: object) -> Event:
    given_ = {"kind": "answer", "paper": "2501.00001", "phase": "blind", "question": "code_available", "row_hash": ROW}
    at = f"2026-03-01T12:00:{second:02}Z"
    return Event.model_validate({**given_, "who": who, "at": at, "value": value, **changes})


def sites() -> tuple[Ledger, Ledger]:
    return tuple(Ledger(sa.create_engine("sqlite://"), EDITION, name) for name in ("east", "west"))  # type: ignore[return-value]


def exchanged(a: Ledger, b: Ledger) -> None:
    for one, other in ((a, b), (b, a)):
        one.adopt(read_chains(chain_lines(other.entries()), EDITION, "other.jsonl"))


def test_two_sites_that_exchange_files_have_one_ledger() -> None:
    east, west = sites()
    east.append([answer("ada", True, 5), answer("ada", False, 9)])
    west.append([answer("grace", True, 7, why="a line\u2028that goes on\x85here"), answer("ada", True, 5)])
    exchanged(east, west)
    assert head(east.entries()) == head(west.entries())
    assert [(e.who, e.at[-3:-1]) for e in east.events()] == [("ada", "05"), ("grace", "07"), ("ada", "09")]
    assert east.adopt(read_chains(chain_lines(west.entries()), EDITION, "again.jsonl")) == []
    assert verify_chain(east.entries(), EDITION) == []


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda lines: [*lines[:1], *lines[2:]], "entries are missing or repeated"),
        (lambda lines: [lines[0], lines[1].replace('"value":false', '"value":true'), lines[2]], "f.jsonl:2: .*hash"),
        (lambda lines: [lines[0], "[]", *lines[1:]], "f.jsonl:2: is no entry of a ledger"),
        (lambda lines: [lines[0], "{", *lines[1:]], "f.jsonl:2: is no entry of a ledger"),
        (lambda lines: [*lines, lines[2]], "entries are missing or repeated"),
    ],
)
def test_a_file_that_was_touched_is_not_taken(spoil: object, reason: str) -> None:
    east, west = sites()
    east.append([answer("ada", True, 5), answer("ada", False, 9), answer("joan", True, 11)])
    lines = chain_lines(east.entries()).splitlines()
    with pytest.raises(LedgerError, match=reason):
        west.adopt(read_chains("\n".join(spoil(lines)), EDITION, "f.jsonl"))  # type: ignore[operator]
    assert west.entries() == []


def test_another_editions_file_is_not_taken() -> None:
    east, _ = sites()
    east.append([answer("ada", True, 5)])
    with pytest.raises(LedgerError, match="not chained"):
        read_chains(chain_lines(east.entries()), "neurips-2025", "f.jsonl")


# Any interleaving of decide, undo and adjudicate, at two sites that exchange files now and then.
steps = st.lists(
    st.tuples(
        st.sampled_from(["decide", "undo", "adjudicate", "exchange"]),
        st.integers(0, 1),
        st.sampled_from(PEOPLE),
        st.integers(0, 59),
        st.integers(0, 30),
    ),
    max_size=20,
)


def play(script: list[tuple[str, int, str, int, int]], books: tuple[Ledger, Ledger]) -> list[Entry]:
    for what, where, who, second, pick in script:
        book = books[where]
        if what == "exchange":
            exchanged(*books)
        elif what == "decide":
            book.append([answer(who, VALUES[pick % 3], second)])
        elif what == "adjudicate":
            book.append([answer(who, VALUES[pick % 2], second, kind="adjudicate", phase=None, why="seen")])
        elif mine := [e.event for e in book.entries() if e.event.who == who]:
            of = mine[pick % len(mine)]
            at = f"2026-03-01T12:01:{second:02}Z"
            book.append([Event(kind="undo", paper=of.paper, who=who, at=at, undoes=of.id)])
    exchanged(*books)
    return books[0].entries()


def plainly(entries: list[Entry]) -> tuple[str, object]:
    """The view, from a list of what was said and no function of ours: strike what is undone, then look who is left."""
    said: list[Event] = []
    for entry in sorted(entries, key=lambda e: (e.event.at, e.site, e.seq)):
        if all(entry.event != other for other in said):
            said.append(entry.event)

    def struck(event: Event) -> bool:
        return any(one.undoes == event.id and one.who == event.who and not struck(one) for one in said)

    left = [event for event in said if event.kind != "undo" and not struck(event)]
    settled = [event.value for event in left if event.kind == "adjudicate"]
    if settled:
        return "decided", settled[-1]
    last: dict[str, object] = {}
    for event in left:
        last[event.who] = event.value
    if not last:
        return "waiting", None
    if len(set(last.values())) > 1 or "cannot_tell" in last.values():
        return "disputed", None
    return "decided", next(iter(last.values()))


def seen(entries: list[Entry]) -> tuple[str, object]:
    found = standing("2501.00001", ROW, fold(entries))
    decision = found.decisions.get("code_available")
    return (found.open["code_available"], None) if decision is None else ("decided", decision.value)


@settings(max_examples=40, deadline=None)
@given(steps)
def test_any_interleaving_verifies_and_the_view_is_the_plain_fold(script: list[tuple[str, int, str, int, int]]) -> None:
    books = sites()
    entries = play(script, books)
    assert verify_chain(entries, EDITION) == []
    assert head(entries) == head(books[1].entries())
    assert seen(entries) == plainly(entries)
    assert read_chains(chain_lines(entries), EDITION, "f.jsonl") == entries


_schemas = count()


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[sa.Engine]:
    admin, schema = sa.create_engine(postgres_url), f"chains_{next(_schemas)}"
    with admin.begin() as connection:
        connection.execute(sa.text(f"DROP SCHEMA IF EXISTS {schema} CASCADE"))
        connection.execute(sa.text(f"CREATE SCHEMA {schema}"))
    engine = sa.create_engine(postgres_url, connect_args={"options": f"-csearch_path={schema}"})
    yield engine
    engine.dispose()
    with admin.begin() as connection:
        connection.execute(sa.text(f"DROP SCHEMA {schema} CASCADE"))
    admin.dispose()


def test_postgresql_and_sqlite_exchange_chains_and_agree(postgres: sa.Engine) -> None:
    server, laptop = Ledger(postgres, EDITION, "server"), sites()[0]
    server.append([answer("ada", True, 5), answer("grace", False, 6)])
    laptop.append([answer("joan", True, 8, kind="adjudicate", phase=None, why="seen")])
    exchanged(server, laptop)
    assert head(server.entries()) == head(laptop.entries())
    assert seen(server.entries()) == seen(laptop.entries()) == ("decided", True)
    assert server.reach() == laptop.reach() == {"server": 2, "east": 1}
    assert verify_chain(server.entries(), EDITION) == []
