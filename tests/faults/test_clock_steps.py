"""Clocks that are set while work goes on, and machines whose clocks differ: nothing lost, nothing gone by waiting."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.events import Event, fold_order, merge, verify_chain
from pipeline.ledger import Ledger
from pipeline.sources import clocks
from pipeline.sources.clocks import SimulatedClock, SystemClock
from pipeline.sources.pacing import Lane, Limits, Rule, take
from pipeline.sources.recorder import Recorder
from pipeline.store import Store
from tests.e2e.tiny import Tiny, contents
from tests.faults.driving import drive

HOUR, YEAR = timedelta(hours=1), timedelta(days=365)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Wall:
    """A machine's clock that can be set; what has passed goes on regardless."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown, self.passed = NOW, 0.0
        wall = self

        class Shown(datetime):
            @classmethod
            def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
                return wall.shown

        monkeypatch.setattr(clocks, "datetime", Shown)
        monkeypatch.setattr(clocks, "_running", lambda: wall.passed)

    def passes(self, seconds: float) -> None:
        self.passed += seconds
        self.shown += timedelta(seconds=seconds)


@pytest.mark.fault("clock steps", "a process")
@pytest.mark.parametrize("step", [-YEAR, -HOUR, HOUR, timedelta(days=1), YEAR], ids=str)
def test_a_clock_that_is_set_while_a_process_runs_changes_nothing_for_it(
    step: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = Wall(monkeypatch)
    clock = SystemClock()
    wall.passes(60)
    wall.shown += step
    wall.passes(60)
    assert clock.now() == NOW + timedelta(seconds=120)


def test_the_seconds_that_nobody_sets_pass() -> None:
    clock = SystemClock()
    before = clock.now()
    time.sleep(0.01)
    assert timedelta(milliseconds=9) < clock.now() - before < timedelta(minutes=1)
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)


def gone(request: object) -> object:
    import httpx2

    return httpx2.Response(404)


def recorder(store: Store, clock: SimulatedClock | SystemClock, run: str) -> Recorder:
    import httpx2

    transport = httpx2.MockTransport(gone)  # type: ignore[arg-type]
    return Recorder(store, clock, run=run, epoch="live:one", transport=transport, limits=Limits(interval=0.0))


URL = "https://example.org/code"


@pytest.mark.fault("clock steps", "second looks")
def test_a_day_that_only_the_clock_shows_makes_nothing_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked twice within two minutes of one process; in between somebody set its clock a day ahead."""
    wall = Wall(monkeypatch)
    clock, store = SystemClock(), Store(tmp_path)
    first = recorder(store, clock, "one").ask("GET", URL)
    wall.shown += timedelta(days=1, minutes=5)
    wall.passes(120)
    second = recorder(store, clock, "two")
    second.ask("GET", URL)
    assert not second.gone_twice(first.exchange)


@pytest.mark.fault("clock steps", "second looks")
@pytest.mark.parametrize("ahead", [timedelta(days=1, minutes=1), YEAR], ids=str)
def test_a_clock_that_ran_ahead_and_was_put_right_makes_nothing_gone(ahead: timedelta, tmp_path: Path) -> None:
    """What was seen at a time that is yet to come counts for nothing: else a minute would be a day."""
    store = Store(tmp_path)
    recorder(store, SimulatedClock(NOW + ahead), "wrong").ask("GET", URL)
    minute = recorder(store, SimulatedClock(NOW + timedelta(minutes=1)), "right")
    answer = minute.ask("GET", URL)
    assert not minute.gone_twice(answer.exchange)
    assert [s.run for s in minute.record.seen(_key(answer))] == ["right", "wrong"]  # it was asked again
    day = recorder(store, SimulatedClock(NOW + timedelta(hours=12)), "later")
    day.ask("GET", URL)
    assert not day.gone_twice(answer.exchange)


@pytest.mark.fault("clock steps", "second looks")
def test_two_machines_a_few_minutes_apart_share_what_they_saw(tmp_path: Path) -> None:
    store = Store(tmp_path)
    recorder(store, SimulatedClock(NOW + timedelta(minutes=5)), "ahead").ask("GET", URL)
    behind = recorder(store, SimulatedClock(NOW), "behind")
    answer = behind.ask("GET", URL)
    assert [s.run for s in behind.record.seen(_key(answer))] == ["ahead"]


def _key(answer: object) -> str:
    from pipeline.record import request_of

    return request_of(answer.exchange)  # type: ignore[attr-defined]


@pytest.mark.fault("clock steps", "lanes")
def test_nobody_waits_for_a_moment_that_a_clock_ahead_has_set() -> None:
    """A host's turn, rest and budget, a year from now: no clock of ours may have put them there."""
    now, year = NOW.timestamp(), YEAR.total_seconds()
    rule, limits = Rule(host="h", lane="h", interval=1.0, budget=(10, 3600.0), named=True), Limits()
    width = 3600.0 / 60
    far = Lane(free_at=now + year, rest_until=now + year, failures=99, counts=((int((now + year) // width), 10),))
    _, _, turn = take(far, far, rule, now, limits)
    assert turn.waits == 0
    held = Lane(until=now + 3600, why="its own words")
    assert take(Lane(), held, rule, now, limits)[2].waits == 3600  # what a host said is waited for
    assert take(Lane(), Lane(until=now + year), rule, now, limits)[2].waits == 0


def said(number: int, at: datetime, who: str = "ada") -> Event:
    return Event(
        paper="2505.10001",
        kind="answer",
        who=who,
        at=at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        why=f"read it {number}",
        guide=1,
        phase="revised",
        question="code_available",
        value=True,
        row_hash="0" * 64,
    )


@pytest.mark.fault("clock steps", "ledger")
def test_events_of_clocks_that_step_and_differ_are_all_kept_in_one_order(tmp_path: Path) -> None:
    """The chain is in the order of writing, whatever the times; the fold in one order on every machine."""
    here = Ledger(Store(tmp_path / "here").engine, "clocks", "here")
    there = Ledger(Store(tmp_path / "there").engine, "clocks", "there")
    steps = [timedelta(), HOUR, -HOUR, YEAR, -YEAR, timedelta(seconds=1)]
    for number, step in enumerate(steps):
        here.append([said(number, NOW + step)])
        there.append([said(number + 100, NOW + step - 2 * HOUR, "grace")])
    for ledger in (here, there):
        entries = ledger.entries()
        assert verify_chain(entries, "clocks") == []
        assert sorted(e.seq for e in entries) == list(range(1, len(steps) + 1))
    one, other = merge(here.entries(), there.entries()), merge(there.entries(), here.entries())
    assert fold_order(one) == fold_order(other)
    assert len({e.event.id for e in one}) == 2 * len(steps)


@pytest.mark.slow
@pytest.mark.fault("clock steps", "build")
def test_a_build_whose_machine_is_set_back_and_ahead_freezes_the_same_release(
    copy: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every stage under another time of day; an offline edition has a time of its own."""
    before = contents(copy.root / "releases")
    for table in ("rows", "bundles", "papers"):
        copy.store.table_path(copy.name, table).unlink()
    real = time.time
    for upto, step in (("corpus", -HOUR), ("bundles", YEAR), ("classification", -YEAR), ("release", HOUR)):
        monkeypatch.setattr(time, "time", lambda step=step: real() + step.total_seconds())
        drive(copy, upto=upto)
    assert contents(copy.root / "releases") == before
