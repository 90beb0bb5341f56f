"""`reclaim build`: compare fingerprints, run what is stale under Dagster, and end in one of five ways.

Nothing stale: no request, no episode, no Dagster. The run lands in the instance that the UI shows.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sqlalchemy import make_url

from assets.stages import UNFINISHED, Stage, prints, read_rows, stages, stale
from assets.workplace import Workplace
from pipeline.files import StoreError, write

if TYPE_CHECKING:
    from dagster import DagsterInstance

    from pipeline.store import Store

Name = Literal["released", "blocked", "out of budget", "waiting for people", "paused"]
EXIT: dict[Name, int] = {"released": 0, "blocked": 3, "out of budget": 4, "waiting for people": 5, "paused": 6}

_INSTANCE = """\
telemetry: {enabled: false}
nux: {enabled: false}
python_logs: {python_log_level: INFO}
"""
_SHARED = """\
storage: {postgres: {postgres_url: {env: RECLAIM_DAGSTER_DATABASE}}}
local_artifact_storage:
  module: dagster._core.storage.root
  class: LocalArtifactStorage
  config: {base_dir: {env: DAGSTER_HOME}}
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager
"""
"""Addresses and places are each process's own, since the configuration travels to workers on other machines; there what
a step prints stays in the worker's own log."""
DATABASE = "RECLAIM_DAGSTER_DATABASE"
_WORKSPACE = """\
load_from:
  - python_module: {module_name: assets.definitions, location_name: reclaim}
"""
"""The name is part of every link into a launchpad (`assets.approvals.LOCATION`); `dg dev` gives the same one."""


@dataclass(frozen=True, slots=True)
class End:
    """How a build ended: its name, why or how many, and the release where there is one."""

    name: Name
    detail: str
    release: Path | None = None

    @property
    def exit_code(self) -> int:
        return EXIT[self.name]


def build(work: Workplace) -> End:
    """Bring one edition up to date. Holds the edition's lock; raises StoreError where another build holds it."""
    from assets import audit, episodes, orders

    orders.division(work.environ)  # what cannot be is said before anything is done
    with work.store.lock(work.edition.name):
        new = audit.import_shipped(work)
        if new:
            work.say(f"audit {new} shipped decisions imported")
        present = prints(work)
        # What a refresh asks again may change any stage's output without changing what it is made from.
        todo = list(stages()) if work.mode == "refresh" else stale(work, present)
        if any(stage.name == "classification" for stage in todo) and not episodes.askable(work):
            return stopped(work)
        if todo and not work.offline:
            from assets import plan

            work.say(plan.text(work, plan.plan(work)))
        if todo or work.runs_begun.exists():
            try:
                failed = _run(work, todo)
            except Exception as cause:  # stages fail inside their runs: what is raised here is about keeping those
                raise _unkept(work.store.dagster_home, cause) from cause
            if failed:
                return End("blocked", failed)
        work.keep_world()
        return end(work)


def unfinished(work: Workplace) -> str:
    """The first stage whose tables are not its last word, or ""."""
    for stage in stages():
        made = (work.store.table_print(work.edition.name, table) or "" for table in stage.tables)
        if any(print_.endswith(UNFINISHED) for print_ in made):
            return stage.name
    return ""


def stopped(work: Workplace) -> End:
    """Where a classifier that may be asked no more leaves an edition. The same command goes on once that is mended."""
    assert work.stopped is not None
    budget = work.stopped.reason.startswith("run_") or work.stopped.reason == "no_budget"
    return End("out of budget" if budget else "paused", str(work.stopped))


def end(work: Workplace) -> End:
    """Where the tables of an up-to-date edition leave it."""
    from assets import release
    from assets.classification import NOT_CLASSIFIED

    open_ = unfinished(work)
    if open_ == "classification" and work.stopped is not None:
        return stopped(work)
    if open_ in ("corpus", "bundles"):
        again = "build again later" + (", or --take-prefix to end the sample before it" if open_ == "bundles" else "")
        return End("blocked", f"{open_}: a service gave no answer for some papers (listed as undetermined); {again}")
    if open_:
        behind = [row for row in read_rows(work, "classification_exclusions") if row["reason"] == NOT_CLASSIFIED]
        if behind:
            more = "build again to go on, or --take-prefix to leave them out"
            return End("out of budget", f"{len(behind)} papers are not classified; {more}")
        hours = work.edition.second_look_hours
        when = f"{hours:g} hours after the first"
        return End("blocked", f"undetermined answers want a second look {when}; build again then")
    verdict = release.verdict(work)
    return End(verdict.name, verdict.detail, verdict.release)


def _run(work: Workplace, todo: Sequence[Stage]) -> str:
    """Run stale stages under Dagster, in order. Returns the first failure, or ""."""
    why = f"stale: {', '.join(s.name for s in todo)}" if todo else "runs that were killed may be left"
    work.say(f"{why}; starting Dagster")
    import dagster as dg

    from assets import shards
    from assets.definitions import EDITIONS, Shop, build_defs

    with instance(work.store.dagster_home) as home:
        bury_dead_runs(home, work.edition.name)
        work.runs_begun.touch()
        home.add_dynamic_partitions(str(EDITIONS.name), [work.edition.name])
        defs = build_defs(Shop(lent=work))
        for stage in (s for s in stages() if s in todo):
            work.say(f"{stage.name} …")
            if stage.name == "classification":
                shards.fan_out(work, home)
            result = dg.materialize(
                [*(defs.assets or []), *(defs.asset_checks or [])],  # type: ignore[list-item]
                selection=dg.AssetSelection.assets(stage.name),
                instance=home,
                partition_key=work.edition.name,
                resources={"shop": Shop(lent=work)},
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                tags={"reclaim/build": work.run, "reclaim/edition": work.edition.name},
                raise_on_error=False,
            )
            if not result.success:
                return _failure(stage, result)
            if any(s.name == stage.name for s in stale(work, prints(work))):
                break  # it is not done yet, and what comes after must not rest on it
    work.runs_begun.unlink(missing_ok=True)
    return ""


def _failure(stage: Stage, result: object) -> str:
    events = [e for e in result.all_events if e.is_step_failure]  # type: ignore[attr-defined]
    error = events[0].step_failure_data.error if events else None
    # Dagster's wrappers say nothing; what they wrap names paper, file and remedy, which its own causes do not.
    while error is not None and error.cause is not None and (error.cls_name or "").startswith("Dagster"):
        error = error.cause
    return f"{stage.name}: {error.message.strip() if error else 'failed; see the run in the UI'}"


def _unkept(home: Path, cause: Exception) -> Exception:
    """What to say where Dagster cannot keep its runs: the store's own trouble, if it lies behind that, or Dagster's.
    Anything else is a fault of ours, and stays what it is."""
    import dagster as dg
    from sqlalchemy.exc import SQLAlchemyError
    from yaml import YAMLError

    behind: BaseException | None = cause
    while behind is not None:
        if isinstance(behind, StoreError):
            return behind
        behind = behind.__cause__ or behind.__context__
    if not isinstance(cause, OSError | SQLAlchemyError | YAMLError | dg.DagsterError):
        return cause
    said = " ".join(str(cause).split())[:300]
    return StoreError(
        f"Dagster cannot keep its runs in {home} ({type(cause).__name__}: {said}); make room there, or move that "
        "folder away: it holds what the UI shows of earlier runs, and no release rests on it. Then build again"
    )


def instance(home: Path) -> DagsterInstance:
    """The instance of a store, with a quiet configuration written at first use. Its runs and events lie in `home`, or
    in the PostgreSQL database that RECLAIM_DAGSTER_DATABASE names, as the processes of several machines need it.
    """
    import dagster as dg

    shared = join_instance(home)
    settings, workspace = home / "dagster.yaml", home / "workspace.yaml"
    if not settings.exists() or settings.read_text(encoding="utf-8") in (_INSTANCE, _INSTANCE + _SHARED):
        write(settings, _INSTANCE + _SHARED * shared)
    if not workspace.exists():
        write(workspace, _WORKSPACE)
    return dg.DagsterInstance.get()


def join_instance(home: Path) -> bool:
    """Set what an instance's configuration reads from the environment; returns whether it is a shared one."""
    home.mkdir(parents=True, exist_ok=True)
    os.environ["DAGSTER_HOME"] = str(home)
    url = os.environ.get(DATABASE)
    if not url:
        return False
    if importlib.util.find_spec("dagster_postgres") is None:
        raise StoreError(f"{DATABASE} is set, which needs the extra `machines`: pip install 'reclaim[machines]'")
    # Dagster's event log listens through this driver alone.
    os.environ[DATABASE] = make_url(url).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)
    return True


def bury_dead_runs(home: DagsterInstance, edition: str) -> None:
    """Runs of this edition that a killed build, daemon or worker left unfinished. The caller holds its lock, so nobody
    works on them; a worker that is between two steps fails at the lock."""
    import dagster as dg

    status = dg.DagsterRunStatus
    left = [status.NOT_STARTED, status.STARTING, status.STARTED, status.CANCELING]
    for run in home.get_runs(dg.RunsFilter(statuses=left, tags={"dagster/partition": edition})):
        # What a sensor or a person asked for and nobody began yet is launched by the daemon.
        if run.status is not status.NOT_STARTED or "reclaim/build" in run.tags:
            home.report_run_failed(run, "whoever ran this was killed")


def bury_all_dead_runs(home: DagsterInstance, store: Store) -> None:
    """The same for every edition that nobody holds, before Dagster is served: its sensors wait for runs under way."""
    from assets.shop import EDITIONS

    for edition in home.get_dynamic_partitions(str(EDITIONS.name)):
        with suppress(StoreError), store.lock(edition):
            bury_dead_runs(home, edition)
