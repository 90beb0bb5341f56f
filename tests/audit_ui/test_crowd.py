"""Many at once, a page that is killed, and the same journey on PostgreSQL: nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipeline.ledger import verify_chain
from pipeline.store import Store
from tests.audit_ui.conftest import World, build
from tests.audit_ui.crowd import EDITION, Reader, crowd, ledger, serving
from tests.audit_ui.test_browser import free_port
from tests.audit_ui.test_people import overturns_code, row_of


def told(readers: list[Reader]) -> list[tuple[str, str, str]]:
    return sorted((r.name, paper, question) for r in readers for paper, question in r.acknowledged)


def kept(store: Path, database: str | None = None) -> list[tuple[str, str, str]]:
    entries = ledger(store, database).entries()
    assert verify_chain(entries, EDITION.name) == []
    return sorted((e.event.who, e.event.paper, str(e.event.question)) for e in entries)


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """A database of its own, dropped afterwards."""
    admin, name = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT"), f"audit_page_{os.getpid()}"
    with admin.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_twenty_people_at_once_lose_nothing_and_the_chain_verifies(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    there = request.getfixturevalue("database") if kind == "postgresql" else None
    port = free_port()
    with serving(tmp_path, port, 60, database=there):
        readers = crowd(port, 20, 60, seconds=8, every=0.5)
    assert len(told(readers)) > 60
    assert [r.refused for r in readers if r.refused] == []
    assert kept(tmp_path, there) == told(readers)


@pytest.mark.slow
def test_a_page_killed_ten_times_during_two_hundred_decisions_keeps_every_acknowledged_one(tmp_path: Path) -> None:
    acknowledged: list[tuple[str, str, str]] = []
    for turn in range(10):
        port = free_port()
        with serving(tmp_path, port, 40, 5) as server:
            readers = [Reader(f"reader{n:02}", port, 40) for n in range(5)]
            until = time.monotonic() + 30
            threads = [threading.Thread(target=one.read, args=(until, 0.0)) for one in readers]
            for thread in threads:
                thread.start()
            while sum(len(r.acknowledged) for r in readers) < 20 and time.monotonic() < until:
                time.sleep(0.005)
            server.kill()
            for thread in threads:
                thread.join()
        acknowledged += told(readers)
        have = kept(tmp_path)
        missing = [one for one in set(acknowledged) if have.count(one) < acknowledged.count(one)]
        assert missing == [], f"lost at kill {turn}"
    assert len(acknowledged) >= 200
    # At most the decision that each of five people had on its way at each kill was written and not acknowledged.
    assert len(have) - len(acknowledged) <= 50


def test_the_journey_of_two_readers_and_an_adjudicator_on_postgresql(tmp_path: Path, database: str) -> None:
    lite = build(tmp_path)
    world = World(replace(lite.given, store=Store(tmp_path / "more", database)), lite.pool)
    from pipeline.record import Record

    Record(world.given.store.engine)
    ann, bob, cyd = world.person("ann"), world.person("bob"), world.person("cyd", "adjudicator")
    paper = row_of(world)
    overturns_code(ann, paper)
    again = ann.fields(paper, "hours", "yes") | {"after": ""}
    conflict = ann.posts(f"/answer/{paper}", again)
    assert (conflict.status_code, "Nothing was overwritten" in conflict.text) == (409, True)
    bob.reads(paper)
    fields = {
        "csrf": cyd.csrf, "question": "code_available", "row_hash": world.row(paper).row_hash, "after": "",
        "value": "yes", "why": "train.py trains it",
    }  # fmt: skip
    assert cyd.posts(f"/adjudicate/{paper}", fields).status_code == 204
    last = world.site.desk.entries(paper)[-1].event.id
    assert cyd.posts("/undo", {"csrf": cyd.csrf, "event": last}).status_code == 204
    assert (
        cyd.posts(f"/adjudicate/{paper}", fields | {"after": world.site.desk.entries(paper)[-1].event.id}).status_code
        == 204
    )
    for page in ("/", "/agreement", f"/paper/{paper}"):
        assert cyd.browser.get(page).status_code == 200
    world.site.desk.fresh()
    assert world.site.desk.audited(world.row(paper)).standing.state == "decided"
    assert verify_chain(world.site.desk.ledger.entries(), world.given.edition.name) == []
