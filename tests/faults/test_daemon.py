"""Dagster's daemon, killed with everything it started in the middle of a run that it launched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.store import StoreError
from tests.e2e import tiny
from tests.e2e.tiny import ROOT, Tiny, contents, environment
from tests.faults.scenes import faults, statuses, under_way

PATIENCE = 240
"""Seconds for what takes ten on a quiet machine."""


def until(done: Callable[[], Any], what: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, f"waited {PATIENCE} s for {what}\n{log.read_text()[-3000:]}"
        time.sleep(0.1)


@contextmanager
def daemon(made: Tiny, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`dagster-daemon run` over the store's own instance, in a process group of its own with all it starts."""
    with log.open("w") as out:
        started = subprocess.Popen(
            [sys.executable, "-m", "dagster._daemon", "run", "-w", str(made.root / "dagster" / "workspace.yaml")],
            cwd=ROOT, env=variables(made), stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    try:
        yield started
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()


def variables(made: Tiny) -> dict[str, str]:
    return {**environment(ROOT), "DAGSTER_HOME": str(made.root / "dagster"), "RECLAIM_STORE": str(made.root)}


def is_free(made: Tiny) -> bool:
    """Whether nobody holds the edition: the run dies beside its daemon, a moment later on a busy machine."""
    try:
        with made.store.lock(made.name):
            return True
    except StoreError:
        return False


@pytest.mark.slow
@pytest.mark.fault("kill -9", "Dagster's daemon and the run that it launched")
def test_a_run_whose_daemon_was_killed_is_finished_by_a_build_and_shown_as_failed(
    finished: Tiny, tmp_path: Path
) -> None:
    made, log = tiny.make(tmp_path / "tiny"), tmp_path / "log"
    (made.root / "editions").mkdir(parents=True)  # where any process finds it by its name
    text = made.toml.read_text().replace('world = "world"', f"world = {json.dumps(str(made.world))}")
    (made.root / "editions" / "tiny.toml").write_text(text)
    assert made.run("audit", "import", str(finished.folder / "decisions.jsonl"), "--edition", "tiny") == 0
    shutil.copytree(finished.root / "dagster", made.root / "dagster")
    before = statuses(made)
    with daemon(made, log) as running:
        launched = subprocess.run(
            [sys.executable, "-m", "dagster", "job", "launch", "-j", "build_edition",
             "-w", str(made.root / "dagster" / "workspace.yaml"),
             "--tags", json.dumps({"dagster/partition": made.name})],
            cwd=ROOT, env=variables(made), capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert launched.returncode == 0, launched.stdout + launched.stderr
        until(lambda: "episodes" in tables(made) and made.count("episodes") >= 2, "the run to read papers", log)
        assert running.poll() is None
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert under_way(made) == {"STARTED": 1}
    assert not list((made.root / "releases").iterdir())
    until(lambda: is_free(made), "the killed run to let go of the edition", log)
    assert made.run("build", "tiny") == tiny.EXIT_RELEASED
    assert faults(made, contents(finished.root / "releases"), finished.ledger()) == ([], 0)
    assert statuses(made).get("FAILURE", 0) == before.get("FAILURE", 0) + 1


def tables(made: Tiny) -> set[str]:
    return set(sa.inspect(made.store.engine).get_table_names())


@pytest.mark.slow
def test_dagster_is_served_without_dead_runs_and_with_those_that_somebody_works_on(copy: Tiny) -> None:
    import dagster as dg

    from assets.build import bury_all_dead_runs, instance
    from assets.definitions import EDITIONS, Shop, build_defs

    job = build_defs(Shop(root=copy.root)).resolve_implicit_global_asset_job_def()
    with instance(copy.root / "dagster") as home:
        home.add_dynamic_partitions(str(EDITIONS.name), ["dead", "held"])
        started = [
            home.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags={"dagster/partition": edition}).run_id
            for edition in ("dead", "held")
        ]
        with copy.store.lock("held"):
            bury_all_dead_runs(home, copy.store)
        found = [home.get_run_by_id(id_) for id_ in started]
        assert [run and run.status for run in found] == [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.STARTED]
