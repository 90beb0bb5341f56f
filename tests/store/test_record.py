"""The record: idempotent, shared by threads and processes, nothing lost to a kill but the call in hand."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO

import pytest

from pipeline import database
from pipeline.evidence import Exchange, Outcome, Receipt
from pipeline.record import Record, request_key, stamp, unstamp
from pipeline.store import Store

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(Store(tmp_path).engine)


def exchange(url: str = "https://example.org/a", status: int = 200) -> Exchange:
    return Exchange(method="GET", url=url, status=status, headers=(("content-type", "text/html"),), final_url=url)


def receipt(reason: str = "page read") -> Receipt:
    return Receipt(
        paper="2505.00001",
        tool="fetch_url",
        arguments={"url": "https://example.org/a"},
        exchanges=(exchange().id,),
        outcome=Outcome.AVAILABLE,
        reason=reason,
        subject="url:https://example.org/a",
        facts={"title": "A"},
    )


def test_an_exchange_is_kept_once_however_often_it_is_seen(record: Record) -> None:
    seen = exchange()
    for hours in (0, 30, 30):
        record.put_exchange(seen, seen_at=NOW + timedelta(hours=hours), attempt=1, run="r", epoch="e")
    assert record.get_exchange(seen.id) == seen
    sightings = record.seen(request_key("GET", seen.url, None, False))
    assert [s.seen_at for s in sightings] == [NOW, NOW + timedelta(hours=30)]
    assert record.last_seen_at() == NOW + timedelta(hours=30)
    assert record.seen_span([seen.id]) == (NOW, NOW + timedelta(hours=30))
    assert record.seen_span(["0" * 64]) is None


def test_requests_with_credentials_are_other_requests(record: Record) -> None:
    record.put_exchange(exchange(), seen_at=NOW, attempt=1, run="r", epoch="e")
    assert record.seen(request_key("GET", "https://example.org/a", None, True)) == []


def test_times_keep_their_order_as_text_and_need_a_zone() -> None:
    late = datetime(2026, 12, 1, 1, tzinfo=timezone(timedelta(hours=-5)))
    assert stamp(NOW) > stamp(late)
    assert unstamp(stamp(late)) == late
    with pytest.raises(ValueError, match="time zone"):
        stamp(datetime(2026, 12, 1))


def test_a_receipt_read_anew_replaces_its_reading(record: Record) -> None:
    for key, words in (("k1", "old words"), ("k2", "page read")):
        record.put_episode(key, edition="e", paper="2505.00001", seq=0, value={}, read=[receipt(words)])
    assert record.get_receipt(receipt().id) == receipt()
    assert record.get_receipt("0" * 64) is None


def test_episodes_come_back_in_sample_order(record: Record) -> None:
    for key, seq in (("k2", 2), ("k1", 1), ("k3", 3)):
        record.put_episode(key, edition="sample", paper=f"p{seq}", seq=seq, value={"seq": seq})
    record.put_episode("k9", edition="other", paper="p", seq=0, value={})
    record.put_episode("k2", edition="sample", paper="p2", seq=2, value={"seq": 2, "again": True})
    assert record.episode_keys("sample") == ["k1", "k2", "k3"]
    assert record.get_episodes(["k3", "k0", "k2"]) == {"k3": {"seq": 3}, "k2": {"seq": 2, "again": True}}
    assert record.get_episode("k0") is None


def test_an_episode_and_its_receipts_are_kept_together(record: Record) -> None:
    told = {"edition": "e", "paper": "2505.00001", "seq": 0}
    record.put_episode("k", **told, value={"a": 1}, read=[receipt()])  # type: ignore[arg-type]
    assert (record.get_receipt(receipt().id), record.get_episode("k")) == (receipt(), {"a": 1})
    other = replace(receipt(), subject="github:other/place", arguments={"repo": "other/place"})
    with pytest.raises(TypeError):
        record.put_episode("k2", **told, value={"a": object()}, read=[other])  # type: ignore[arg-type]
    assert (record.get_receipt(other.id), record.get_episode("k2")) == (None, None)


def test_threads_may_share_a_record(record: Record) -> None:
    def put(number: int) -> None:
        record.put_exchange(exchange(f"https://example.org/{number % 20}"), seen_at=NOW, attempt=1, run="r", epoch="e")
        record.put_episode(f"k{number}", edition="e", paper="p", seq=number, value=number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(200)))
    assert len(record.episode_keys("e")) == 200


def test_a_new_store_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def opened(store: Store) -> list[str]:
        together.wait(30)
        return Record(store.engine).episode_keys("e")

    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            stores = [Store(tmp_path / str(number)) for _ in range(8)]
            assert list(pool.map(opened, stores)) == [[]] * 8


def test_a_turn_to_write_that_never_comes_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record(Store(tmp_path).engine)
    monkeypatch.setattr(database, "_TURN", 0.05)
    with (tmp_path / "store.sqlite-queue").open("r+b") as stopped:
        fcntl.flock(stopped, fcntl.LOCK_EX)  # as by a process that was suspended between two writes
        record.put_episode("k", edition="e", paper="p", seq=0, value={})
    assert record.episode_keys("e") == ["k"]


def test_one_who_writes_at_a_time_holds_the_turn_and_gives_it_back_when_it_fails(tmp_path: Path) -> None:
    engine = Store(tmp_path).engine
    Record(engine)

    def fails(other: BinaryIO) -> None:
        with database.writing(engine):
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise ZeroDivisionError

    with (tmp_path / "store.sqlite-queue").open("r+b") as other:
        with pytest.raises(ZeroDivisionError):
            fails(other)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _write(root: Path, name: str, count: int, ready: multiprocessing.synchronize.Barrier) -> None:
    record = Record(Store(root).engine)
    ready.wait(60)
    for number in range(count):
        record.put_episode(f"{name}-{number}", edition="e", paper=name, seq=number, value=number)
        if name == "victim" and number == 30:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_processes_may_share_a_record_and_a_killed_one_loses_nothing_it_had_put(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    workers = [context.Process(target=_write, args=(tmp_path, name, 60, ready)) for name in ("steady", "victim")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    keys = Record(Store(tmp_path).engine).episode_keys("e")
    assert [w.exitcode for w in workers] == [0, -signal.SIGKILL]
    assert len(keys) == 60 + 31
