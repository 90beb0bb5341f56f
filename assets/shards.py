"""Readings in shards: a Dagster job whose ops each read their share of an edition's papers into the record.

Any executor of Dagster's can run it: in one process, in several of this machine, or on the workers of a Dask scheduler.
Ops pass nothing to each other, and append to what takes many writers. The job runs for the first readings, and then for
each later look at what stayed undetermined. Classification comes after them as ever: what a shard did not do, it does
itself, so that a release does not know how it was read.
"""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg

from assets import classification, episodes, orders
from assets.episodes import Item
from assets.shop import EDITIONS, Shop
from assets.stages import prints, stale
from assets.workplace import Workplace, store_root, to_stderr

LOOKS = 5.0
"""Seconds between two looks at whether the run still wants its shards."""
PRELOADED = (
    *("assets.shards", "classifiers.agent", "classifiers.models", "classifiers.pool", "classifiers.prompt"),
    *("pipeline.offline.server", "pipeline.sources.probes", "pipeline.sources.recorder"),
)
"""What a reading imports, imported once for all processes of this machine."""
_ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)


def job_of(count: int, executor: str) -> dg.JobDefinition:
    """The job of `count` shards. `executor`: in-process, multiprocess, or dask (extra `machines`). A function of its
    arguments alone, so that a worker can make the same job."""

    @dg.graph(description="Papers read in shards; classification collects what they read, and reads the rest.")
    def first_readings() -> None:
        for part in range(count):
            _shard(part, count)()

    return first_readings.to_job(
        executor_def=_executor(count, executor), partitions_def=EDITIONS, resource_defs={"shop": _shop}
    )


@dg.resource
def _shop() -> Shop:
    return Shop()


def _executor(count: int, executor: str) -> dg.ExecutorDefinition:
    if executor == "in-process":
        return dg.in_process_executor
    if executor == "multiprocess":
        forked = {"forkserver": {"preload_modules": list(PRELOADED)}}
        at_once = min(count, orders.cores())
        return dg.multiprocess_executor.configured({"start_method": forked, "max_concurrent": at_once})
    from dagster_dask import dask_executor

    return dask_executor


def _shard(part: int, count: int) -> dg.OpDefinition:
    @dg.op(
        name=f"shard_{part + 1}",
        config_schema={
            "order": dg.Field(str, default_value="", description="hash of a build's work order"),
            "store": dg.Field(str, default_value="", description="the store's folder; default: this machine's"),
        },
        out=dg.Out(dg.Nothing),
    )
    def shard(context: dg.OpExecutionContext, shop: dg.ResourceParam[Shop]) -> None:
        """Read one share: what an order names, or else a part of this store's sample."""

        def say(line: str) -> None:
            context.log.info(line)
            if context.op_config["store"]:
                to_stderr(f"shard {part + 1} of {count}: {line}")

        with _share(context, shop, part, count, say) as (work, items, look), _while_wanted(context, work):
            asyncio.run(episodes.read_papers(work, items, passes=look))
            read = sum(episodes.looked(work, item, look) for item in items)
            context.log.info(f"{read} of {len(items)} papers read{f'; {work.stopped}' if work.stopped else ''}")

    return shard


@contextmanager
def _share(
    context: dg.OpExecutionContext, shop: Shop, part: int, count: int, say: Any
) -> Iterator[tuple[Workplace, list[Item], int]]:
    told, root = context.op_config, shop.root or store_root()
    if told["order"]:
        with orders.at_work(told["order"], Path(told["store"]) if told["store"] else root, say) as found:
            yield found
        return
    with shop.look(context.partition_key, say) as work:
        behind = [s.name for s in stale(work, prints(work)) if s.name in ("corpus", "bundles")]
        if behind:
            raise dg.Failure(f"{' and '.join(behind)} of {work.edition.name} must be materialized first")
        work.store.register(work.edition.name, work.edition.hash)
        # Of all papers, read or not: shares that begin at other times must fit together.
        mine = orders.shares(episodes.items(work), count)[part]
        yield work, [item for item in mine if episodes.recorded(work, item) is None], 1


@contextmanager
def _while_wanted(context: dg.OpExecutionContext, work: Workplace) -> Iterator[None]:
    """Let no further paper begin once the run has ended: a build that was killed may be building again."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOKS):
            run = context.instance.get_run_by_id(context.run_id)
            if run is None or run.status in _ENDED:
                work.minutes = 0.0
                return

    watch = threading.Thread(target=look, name="wanted", daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()


def fan_out(work: Workplace, home: dg.DagsterInstance) -> None:
    """Read what has no episode yet in shards, and look again at what stayed undetermined, if that is wanted. The caller
    holds the edition's lock. Whatever goes wrong here is said and costs time alone, since classification reads what is
    lacking.
    """
    if work.mode == "refresh":  # reads few, and only after it asked for their evidence
        return
    items = episodes.items(work)
    if work.edition.until:  # no further than any filled sample goes
        items = items[: sum(work.edition.until.values())]
    if orders.parts_of(work, len(items)) < 2:
        return
    work.store.register(work.edition.name, work.edition.hash)
    if _in_shards(work, home, [item for item in items if episodes.recorded(work, item) is None], 1):
        work.extracts |= classification.extracts(work)
        classification.look_later(work, items, partial(_in_shards, work, home))


def _in_shards(work: Workplace, home: dg.DagsterInstance, items: Sequence[Item], look: int) -> bool:
    """Run the job for one look at these papers, if they are enough for that. Whether all of them had it: a later look
    comes after all of one."""
    count, (_, executor) = orders.parts_of(work, len(items)), orders.division(work.environ)
    if count < 2 or work.out_of_time():
        return not items
    what = "first readings" if look == 1 else f"look {look}"
    config: dict[str, Any] = {}
    for number, order in enumerate(orders.write(work, items, count, look), start=1):
        here = "" if executor.startswith(orders.DASK) else str(work.store.root)
        config[f"shard_{number}"] = {"config": {"order": order, "store": here}}
    work.say(f"{what} of {len(items)} papers in {count} shards, {executor}")
    kind = executor.partition(":")[0]
    run_config: dict[str, Any] = {"ops": config, "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    if kind == "dask":
        cluster = {"existing": {"address": executor.removeprefix(orders.DASK)}}
        run_config["execution"] = {"config": {"cluster": cluster}}
    result = dg.execute_job(
        dg.build_reconstructable_job("assets.shards", "job_of", (count, kind)),  # type: ignore[arg-type]
        instance=home,
        run_config=run_config,
        tags={
            "dagster/partition": work.edition.name,
            "reclaim/build": work.run,
            "reclaim/edition": work.edition.name,
            "reclaim/look": str(look),
        },
    )
    if any(event.event_type is dg.DagsterEventType.RUN_CANCELED for event in result.all_events):
        raise KeyboardInterrupt
    if work.purse is not None:
        # The record knows what was paid, and not how often tools were called: as often as there are receipts.
        ended = (episodes.recorded(work, item) for item in items)
        called = sum(len(one.receipts) for one in ended if one is not None and one.passes >= look)
        before = work.purse.spent.tool_calls
        work.purse.spent = replace(episodes.paid(work), tool_calls=before + called)
    work.catch_up()
    faults = [e for e in result.all_events if e.is_step_failure or e.is_job_failure]
    for event in faults:
        work.say(f"{what}: {event.step_key or 'the run'} failed: {_cause(event)}")
    if left := sum(not episodes.looked(work, item, look) for item in items):
        work.say(f"{what}: {left} of {len(items)} papers are left to this process")
    return not left


def _cause(event: dg.DagsterEvent) -> str:
    data: Any = event.event_specific_data
    error = getattr(data, "error", None)
    while error is not None and error.cause is not None and (error.cls_name or "").startswith("Dagster"):
        error = error.cause
    return str(error.message).strip() if error else "failed; see the run in the UI"
