"""What a share is: a part of the papers, of the time and of the money, and nothing that another build would read
otherwise."""

from __future__ import annotations

import dataclasses
import time
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets import episodes, orders
from assets.episodes import Item
from assets.orders import Order, OrderError
from assets.workplace import Workplace
from classifiers.budget import Budget, Purse, Spent
from pipeline import editions
from pipeline.record import Turn, stamp
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.lanes import Lanes
from pipeline.sources.pacing import Limits, rule_of
from pipeline.store import Store
from tests.e2e.tiny import Tiny


@given(st.lists(st.integers()), st.integers(1, 12))
def test_shares_hold_everything_once_in_order_and_are_of_one_size(things: list[int], parts: int) -> None:
    found = orders.shares(list(enumerate(things)), parts)
    assert len(found) == parts
    assert sorted(one for share in found for one in share) == list(enumerate(things))
    assert all(share == sorted(share) for share in found)
    assert max(map(len, found)) - min(map(len, found)) <= 1


counts = st.none() | st.integers(0, 10**9)
spent = st.builds(
    Spent,
    requests=st.integers(0, 10**6),
    tool_calls=st.integers(0, 10**6),
    input_tokens=st.integers(0, 10**9),
    output_tokens=st.integers(0, 10**6),
    micro_usd=st.integers(0, 10**12),
)
budgets = st.builds(
    Budget,
    requests=counts,
    tool_calls=counts,
    tokens=counts,
    seconds=st.none() | st.floats(0, 1e6),
    usd=st.none() | st.floats(0, 1e6),
)


@given(budgets, spent, st.floats(0, 1e6), st.integers(1, 1000))
def test_shares_may_spend_together_what_is_left_and_no_more(
    budget: Budget, gone: Spent, seconds: float, parts: int
) -> None:
    part = orders.split(budget, gone, seconds, parts)
    for bound, used, own in (
        (budget.requests, gone.requests, part.requests),
        (budget.tool_calls, gone.tool_calls, part.tool_calls),
        (budget.tokens, gone.tokens, part.tokens),
        (budget.micro_usd, gone.micro_usd, part.micro_usd),
    ):
        assert (own is None) == (bound is None)
        if bound is not None and own is not None:
            left = max(0, bound - used)
            assert 0 <= own * parts <= left
            assert left - own * parts < 2 * parts  # all but what does not divide, and a rounded millionth each
    assert (part.seconds is None) == (budget.seconds is None)
    if part.seconds is not None and budget.seconds is not None:
        assert part.seconds == max(0.0, budget.seconds - seconds)


# ------------------------------------------------------------------------------------------------- on another machine


@pytest.fixture
def elsewhere(work: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A worker's own empty store, beside a record without episodes and the builder's blobs."""
    monkeypatch.setenv("RECLAIM_DATABASE", f"sqlite:///{tmp_path / 'record.sqlite'}")
    monkeypatch.setenv("RECLAIM_BLOBS", str(work.store.root / "blobs"))
    return tmp_path / "worker"


def opened(sha256: str, root: Path) -> AbstractContextManager[tuple[Workplace, list[Item], int]]:
    return orders.at_work(sha256, root, lambda line: None)


def changed(work: Workplace, sha256: str, **fields: object) -> str:
    """The same order with other fields."""
    order = Order.from_bytes(work.store.blobs.get(sha256))
    return work.store.blobs.put(dataclasses.replace(order, **fields).to_bytes())  # type: ignore[arg-type]


def test_orders_bring_every_paper_to_machines_that_have_no_table(work: Workplace, elsewhere: Path) -> None:
    items = episodes.items(work)
    given = []
    for sha256 in orders.write(work, items, 3):
        with opened(sha256, elsewhere) as (there, share, _):
            assert there.edition.hash == work.edition.hash
            assert there.edition.world_path == work.edition.world_path
            assert there.world_print == work.world_print
            assert there.recorder().epoch == work.recorder().epoch
            assert there.run == work.run
            assert there.purse is there.minutes is None
            given += share
    assert sorted(given, key=lambda item: item.rank) == items
    assert not any((elsewhere / "tables").iterdir())


def test_papers_with_an_episode_are_not_read_again(
    work: Workplace, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sha256,) = orders.write(work, episodes.items(work), 1)
    monkeypatch.setenv("RECLAIM_DATABASE", f"sqlite:///{work.store.root / 'store.sqlite'}")
    with opened(sha256, elsewhere) as (_, share, _):
        assert share == []


def test_a_later_look_takes_who_had_none_yet_at_the_time_it_was_told(work: Workplace, elsewhere: Path) -> None:
    items = episodes.items(work)[:2]
    work.clock.sleep(86_400)
    (sha256,) = orders.write(work, items, 1, look=2)
    record = Workplace(edition=work.edition, store=Store.open(elsewhere)).record
    found = {item.key: episode for item in items if (episode := episodes.recorded(work, item))}
    for item, passes in zip(items, (1, 2), strict=True):
        seen = dataclasses.replace(found[item.key], passes=passes)
        record.put_episode(item.key, edition=work.edition.name, paper=seen.paper, seq=item.rank, value=seen.to_json())
    with opened(sha256, elsewhere) as (there, share, look):
        assert share == items[:1]
        assert look == 2
        assert there.clock.now() == there.started == there.recorder().started == work.clock.now()
        there.clock.sleep(60)
        assert there.recorder(again=True).started == work.clock.now(), "what another share was told is not asked anew"


def test_other_settings_code_world_or_keys_are_refused_and_named(work: Workplace, elsewhere: Path) -> None:
    (sha256,) = orders.write(work, episodes.items(work)[:1], 1)
    order = Order.from_bytes(work.store.blobs.get(sha256))
    other = order.edition["settings"] | {"second_look_hours": 25.0}
    cases = {
        "settings here": {"edition": {**order.edition, "settings": other}},
        "code here .* install the build's version": {"code": "0" * 64},
        "world here .* give this machine the build's world folder": {"world": "0" * 64},
        f"episode of {order.papers[0]['row']['arxiv_id']}": {"papers": ({**order.papers[0], "key": "0" * 64},)},
    }
    for said, fields in cases.items():
        with pytest.raises(OrderError, match=said), opened(changed(work, sha256, **fields), elsewhere):
            raise AssertionError("an order was opened that is not this machine's")


def test_an_order_that_is_lost_or_of_another_version_is_refused_and_named(work: Workplace, elsewhere: Path) -> None:
    with pytest.raises(OrderError, match="RECLAIM_BLOBS and RECLAIM_DATABASE must be those of the build"):
        opened("0" * 64, elsewhere).__enter__()
    for data in (b"no order", orders.zlib.compress(b'{"papers": []}')):
        with pytest.raises(OrderError, match="install the build's version"):
            opened(work.store.blobs.put(data), elsewhere).__enter__()


def test_a_share_gets_the_minutes_that_are_left(work: Workplace, elsewhere: Path) -> None:
    work.minutes, work.began = 10.0, time.monotonic() - 4 * 60
    (sha256,) = orders.write(work, episodes.items(work), 1)
    with opened(sha256, elsewhere) as (there, _, _):
        assert there.minutes is not None
        assert 5 < there.minutes <= 6
        assert not there.out_of_time()
    late = changed(work, sha256, deadline=stamp(datetime.now(UTC) - timedelta(seconds=1)))
    with opened(late, elsewhere) as (there, _, _):
        assert there.out_of_time()


def turn(work: Workplace, paper: str, number: int) -> Turn:
    costs = {"input_tokens": 90, "output_tokens": 10, "cached_tokens": 0, "micro_usd": 2_000}
    return Turn(key=f"{paper} {number}", edition=work.edition.name, paper=paper, model="m", response_sha256="", **costs)


def test_a_share_that_begins_anew_has_paid_what_its_killed_worker_paid(work: Workplace, elsewhere: Path) -> None:
    first, second = (item.record.arxiv_id for item in episodes.items(work)[:2])
    record = Workplace(edition=work.edition, store=Store.open(elsewhere)).record
    record.put_turn(turn(work, first, 1))
    here = Workplace(edition=work.edition, store=Store.open(work.store.root), run=work.run)  # its record is the same
    here.purse = Purse(
        budget=Budget(usd=1.0, requests=101), accepted=frozenset({"unpriced"}), spent=episodes.paid(here)
    )
    one, other = orders.write(here, episodes.items(work)[:2], 2)
    record.put_turn(turn(work, first, 2))
    with opened(one, elsewhere) as (there, _, _), opened(other, elsewhere) as (beside, _, _):
        assert there.purse is not None
        assert beside.purse is not None
        assert there.purse.budget == Budget(usd=0.499, requests=50)
        assert there.purse.accepted == {"unpriced"}
        assert there.purse.spent == Spent(requests=1, input_tokens=90, output_tokens=10, micro_usd=2_000)
        assert beside.purse.spent == Spent()
    assert second != first


@pytest.mark.parametrize("name", editions.shipped())
def test_an_edition_told_to_another_machine_is_the_same_there(name: str) -> None:
    edition = editions.load(name)
    there = editions.retold(edition.told())
    assert (there.hash, there.classifier, there.world_path) == (edition.hash, edition.classifier, edition.world_path)


# ------------------------------------------------------------------------------------------------- who reads, and how


def test_without_a_word_there_is_a_share_a_core_where_only_the_processor_is_busy_and_each_has_enough_to_do(
    work: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "cores", lambda: 6)
    work.environ = {}
    parts = {papers: orders.parts_of(work, papers) for papers in (0, 1, 119, 120, 359, 360, 10_000)}
    assert parts == {0: 1, 1: 1, 119: 1, 120: 2, 359: 5, 360: 6, 10_000: 6}
    work.edition = work.edition.variant({"classifier": {"model": "openai:m"}})
    assert orders.parts_of(work, 10_000) == 1
    live = Workplace(edition=editions.load("neurips-2025"), store=work.store, environ={})
    assert orders.parts_of(live, 10_000) == 1
    live.environ = {"RECLAIM_SHARDS": "7"}
    assert (orders.parts_of(live, 10_000), orders.parts_of(live, 3)) == (7, 3)


def test_the_environment_names_shares_and_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert orders.division({}) == (None, "multiprocess")
    assert orders.division({"RECLAIM_SHARDS": "5", "RECLAIM_EXECUTOR": "in-process"}) == (5, "in-process")
    for name in ("RECLAIM_DATABASE", "RECLAIM_BLOBS", "RECLAIM_DAGSTER_DATABASE"):
        monkeypatch.setenv(name, "anything")
    dask = {"RECLAIM_EXECUTOR": "dask:tcp://h:8786"}
    assert orders.division(dask | {"RECLAIM_SHARDS": "8"}) == (8, "dask:tcp://h:8786")
    with pytest.raises(editions.EditionError, match="with --shards"):
        orders.division(dask)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"RECLAIM_SHARDS": "0"}, "'0' is no number from 1 to 1000"),
        ({"RECLAIM_SHARDS": "1001"}, "'1001' is no number"),
        ({"RECLAIM_SHARDS": "two"}, "'two' is no number"),
        ({"RECLAIM_EXECUTOR": "celery"}, "give in-process, multiprocess or dask:tcp://HOST:PORT"),
        ({"RECLAIM_EXECUTOR": "dask:scheduler"}, "give in-process"),
        ({"RECLAIM_EXECUTOR": "dask:tcp://h:1"}, "RECLAIM_DATABASE, RECLAIM_BLOBS, RECLAIM_DAGSTER_DATABASE must name"),
    ],
)
def test_what_is_no_division_is_refused_and_named(
    environ: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RECLAIM_DATABASE", "RECLAIM_BLOBS", "RECLAIM_DAGSTER_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(editions.EditionError, match=said):
        orders.division(environ)


def test_a_build_says_so_before_it_does_anything(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert copy.run("build", str(copy.toml), "--shards", "none") == 1
    assert capsys.readouterr().err == "reclaim: shards: 'none' is no number from 1 to 1000\n"


# ------------------------------------------------------------------------------------------------------ several clocks


def test_simulated_clocks_of_several_processes_keep_one_rhythm(tmp_path: Path) -> None:
    record = Workplace(edition=editions.load("sample-2025"), store=Store(tmp_path / "store")).record
    start = datetime(2025, 12, 1, tzinfo=UTC)
    clocks = [SimulatedClock(start), SimulatedClock(start + timedelta(seconds=40))]
    limits = Limits(interval=3.0)
    lanes = [Lanes(record, clock, limits, "offline:") for clock in clocks]
    rule = rule_of("example.org", "/", "", limits)
    taken = []
    for turn_ in range(20):
        lanes[turn_ % 2].wait(rule)
        taken.append(clocks[turn_ % 2].now())
    gaps = [(b - a).total_seconds() for a, b in zip(sorted(taken), sorted(taken)[1:], strict=False)]
    assert min(gaps) >= 3.0 - 1e-6
    assert abs((clocks[0].now() - clocks[1].now()).total_seconds()) < 40
