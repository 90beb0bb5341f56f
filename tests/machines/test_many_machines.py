"""Papers read in shards by other processes give the same bytes, whatever happens to those processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from assets import orders
from assets.episodes import Item
from assets.workplace import Say, Workplace
from pipeline.record import Record
from tests.e2e import tiny
from tests.e2e.tiny import ROOT, Tiny, contents, environment, process

WATCHED = str(Path(__file__).with_name("watched.py"))


@pytest.fixture
def decided(finished: Tiny, tmp_path: Path) -> Tiny:
    """A store with nothing in it but the finished edition's decisions, once they are imported."""
    fresh = tiny.make(tmp_path / "elsewhere")
    shutil.copy(finished.folder / "decisions.jsonl", fresh.folder)
    return fresh


def built(decided: Tiny, *arguments: str, **variables: str) -> str:
    """Import the decisions, build in one go, and give what the build said."""
    edition = str(decided.toml)
    decisions = decided.arguments("audit", "import", str(decided.folder / "decisions.jsonl"), "--edition", edition)
    imported = process(decisions, **variables)
    assert imported.returncode == 0, imported.stderr
    done = process(decided.arguments("build", edition, *arguments), **variables)
    assert done.returncode == tiny.EXIT_RELEASED, done.stdout + done.stderr
    return done.stderr


# ---------------------------------------------------------------------------------------------------- several machines


@pytest.fixture
def databases(postgres_url: str) -> Iterator[dict[str, str]]:
    """PostgreSQL databases of this test's own, one for the record and the ledger, one for Dagster."""
    server = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    names = {v: f"machines_{uuid.uuid4().hex[:12]}" for v in ("RECLAIM_DATABASE", "RECLAIM_DAGSTER_DATABASE")}
    with server.connect() as connection:
        for name in names.values():
            connection.execute(sa.text(f"create database {name}"))
    url = sa.make_url(postgres_url)
    yield {v: url.set(database=name).render_as_string(hide_password=False) for v, name in names.items()}
    with server.connect() as connection:
        for name in names.values():
            connection.execute(sa.text(f"drop database {name} with (force)"))
    server.dispose()


@contextmanager
def running(log: Path, *command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process group of its own, as a machine is one; killed at the end."""
    with log.open("wb") as out:
        found = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env={**environment(ROOT), **variables},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield found
    finally:
        with suppress(ProcessLookupError):
            os.killpg(found.pid, signal.SIGKILL)
        found.wait(30)


def episode_keys(tiny_: Tiny) -> list[str]:
    return Record(tiny_.store.engine).episode_keys(tiny_.name)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def read_by(machine: Path, look: int = 1) -> list[str]:
    place = machine / "read.txt"
    told = [line.split() for line in place.read_text().splitlines()] if place.exists() else []
    return [paper for paper, passes in told if passes == str(look)]


@pytest.mark.slow
def test_a_machine_killed_in_the_middle_of_its_share_changes_no_byte(
    decided: Tiny, finished: Tiny, databases: dict[str, str], tmp_path: Path
) -> None:
    from distributed import Client

    address = f"tcp://127.0.0.1:{free_port()}"
    shared = {**databases, "RECLAIM_BLOBS": f"dir::file://{tmp_path / 'blobs'}"}  # to us an object store like any other
    preload = json.dumps(["assets.shards", WATCHED])
    victim, survivor = tmp_path / "victim", tmp_path / "survivor"
    (tmp_path / "blobs").mkdir()

    @contextmanager
    def machine(place: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
        variables = {**shared, "DASK_DISTRIBUTED__WORKER__PRELOAD": preload, **more}
        command = ("assets.cli", "--store", str(place), "worker", address)
        with running(place.with_suffix(".log"), *command, **variables) as found:
            yield found

    scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2])
    with (
        running(tmp_path / "scheduler.log", *scheduler, "--no-dashboard"),
        machine(victim, TEST_DIES_AFTER="2") as killed,
        machine(survivor) as alive,
    ):
        with Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
        said = built(decided, "--shards", "4", "--executor", f"dask:{address}", **shared)
        assert killed.wait(30) == -signal.SIGKILL
        assert alive.poll() is None
    assert contents(decided.root / "releases") == contents(finished.root / "releases")
    sampled = {row["arxiv_id"] for row in finished.rows("bundles")}
    assert len(read_by(victim)) == 2, "the killed machine had begun"
    assert len(read_by(survivor)) == len(sampled) - 2, "the other one took its share over, and read nothing twice"
    assert {*read_by(victim), *read_by(survivor)} == sampled
    again = read_by(survivor, look=2)
    assert 0 < len(again) == len(set(again)) < len(sampled), "what stayed open was looked at again, there and once"
    assert "left to this process" not in said
    for place in (victim, survivor):
        assert (
            not list(place.glob("*.sqlite")) + list((place / "tables").rglob("*.parquet")) + list(place.glob("blobs"))
        ), "a worker needs no store of its own"
    assert not (decided.root / "store.sqlite").exists()
    dagster = sa.create_engine(databases["RECLAIM_DAGSTER_DATABASE"])
    with dagster.connect() as connection:
        runs = connection.execute(sa.text("select pipeline_name, status from runs")).all()
    dagster.dispose()
    assert ("first_readings", "SUCCESS") in [tuple(run) for run in runs]


# ---------------------------------------------------------------------------------------------------------- one machine


@pytest.mark.slow
def test_shards_in_processes_of_one_machine_change_no_byte(decided: Tiny, finished: Tiny) -> None:
    said = built(decided, "--shards", "3")
    assert contents(decided.root / "releases") == contents(finished.root / "releases")
    shards = re.findall(r"^shard \d of 3: classification( \(look 2\))? ", said, re.MULTILINE)
    assert sorted(shards) == [""] * 3 + [" (look 2)"] * 3, said
    assert "left to this process" not in said


@pytest.mark.slow
def test_the_job_reads_a_store_s_sample_without_the_edition_s_lock(copy: Tiny) -> None:
    """As it is launched from Dagster's UI: by the edition's partition, without a work order."""
    import dagster as dg

    from assets.build import instance
    from assets.shards import job_of

    name, kept = copy.name, copy.root / "editions"
    kept.mkdir()
    text = copy.toml.read_text().replace('world = "world"', f"world = {json.dumps(str(copy.world))}")
    (kept / f"{name}.toml").write_text(text)
    keys = episode_keys(copy)
    assert len(keys) == 10
    with copy.store.engine.begin() as connection:
        connection.execute(sa.text("delete from episodes"))
    with instance(copy.root / "dagster") as home, copy.store.lock(name), pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECLAIM_STORE", str(copy.root))
        done = job_of(3, "in-process").execute_in_process(partition_key=name, instance=home)
        assert done.success
        assert episode_keys(copy) == keys
        copy.store.table_path(name, "bundles").unlink()
        refused = job_of(1, "in-process").execute_in_process(partition_key=name, instance=home, raise_on_error=False)
        (failure,) = (e for e in refused.all_events if e.is_step_failure)
        assert "bundles of tiny must be materialized first" in str(failure.step_failure_data)
    assert dg.DagsterRunStatus.SUCCESS is done.dagster_run.status


@pytest.mark.slow
def test_what_a_shard_does_not_do_the_build_does_and_says_so(
    decided: Tiny, finished: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, opened = orders.at_work, []

    def at_work(sha256: str, root: Path, say: Say) -> AbstractContextManager[tuple[Workplace, list[Item], int]]:
        opened.append(sha256)
        if len(opened) == 2:
            raise orders.OrderError("the code here (0) is not the build's")
        return whole(sha256, root, say)

    monkeypatch.setattr(orders, "at_work", at_work)
    edition = str(decided.toml)
    assert decided.run("audit", "import", str(decided.folder / "decisions.jsonl"), "--edition", edition) == 0
    assert decided.run("build", edition, "--shards", "3", "--executor", "in-process") == tiny.EXIT_RELEASED
    assert len(set(opened)) == 3
    said = capsys.readouterr().err
    assert re.search(r"first readings: shard_2 failed: .*the code here \(0\) is not the build's", said), said
    assert "3 of 10 papers are left to this process" in said
    assert contents(decided.root / "releases") == contents(finished.root / "releases")
