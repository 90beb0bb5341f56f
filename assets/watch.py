"""What Dagster does by the calendar: the links of frozen releases watched monthly, a new edition built yearly.

Both schedules are off until somebody turns them on: the one asks many strangers, the other may cost money.
"""

import json
from pathlib import Path
from typing import Any

import dagster as dg

from assets.shop import Shop
from assets.workplace import store_root
from pipeline import editions
from pipeline.release.freeze import version_of
from pipeline.store import Store

LOOK_DAY, SECOND_LOOK_DAY = 1, 3
"""Of a month: a look at every release, and another at what was gone or silent then."""


@dg.op(
    config_schema={"release": dg.Field(str, description="its name in this store, as sample-2025-v1")},
    out=dg.Out(dg.Nothing),
)
def drift(context: dg.OpExecutionContext, shop: dg.ResourceParam[Shop]) -> None:
    """Probe the links of one frozen release again and write the report."""
    from assets import drift as drifting

    looked = drifting.look_at(Store.open(shop.root or store_root()), context.op_config["release"], context.log.info)
    context.log.info("\n".join(drifting.told(looked)))
    report = looked.report
    context.add_output_metadata({**report["counts"], "links": len(report["links"]), "report": str(looked.place)})


@dg.job(description="What became of the links of one frozen release; the release itself is never changed.")
def drift_report() -> None:
    drift()


@dg.op(
    config_schema={
        "edition": dg.Field(str, description="the new edition: shipped name or .toml file"),
        "previous": dg.Field(str, description="the last edition, or a folder of its release"),
        "cutoffs": dg.Field([str], default_value=[], description="months up to which models were trained"),
    },
    out=dg.Out(dg.Nothing),
)
def refresh(context: dg.OpExecutionContext, shop: dg.ResourceParam[Shop]) -> None:
    """Build a new edition as `reclaim build` does, in runs of its own, and write the report beside the last one."""
    from assets import refresh as refreshing

    told = context.op_config
    with shop.look(told["edition"], context.log.info) as work:
        end, page = refreshing.run(work, told["previous"], told["cutoffs"])
    context.add_output_metadata({"end": end.name, "detail": end.detail, **({"report": str(page)} if page else {})})
    if page is None:
        raise dg.Failure(f"{told['edition']}: {end.name}: {end.detail}", allow_retries=False)


@dg.job(description="The yearly run: a new edition from nothing but its own settings, and how it differs.")
def refresh_edition() -> None:
    refresh()


def newest(store: Store) -> list[str]:
    """The last frozen version of each edition in a store."""
    last: dict[str, int] = {}
    for name, version in (version_of(place.name) for place in store.releases.iterdir() if place.is_dir()):
        if version:
            last[name] = max(version, last.get(name, 0))
    return [f"{name}-v{version}" for name, version in sorted(last.items())]


@dg.schedule(
    job=drift_report,
    cron_schedule=f"0 6 {LOOK_DAY},{SECOND_LOOK_DAY} * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    required_resource_keys={"shop"},
)
def monthly_drift(context: dg.ScheduleEvaluationContext) -> Any:
    """A look at the last version of every edition; two days later one at those with links that want a second."""
    from assets.drift import open_looks

    store = Store.open(context.resources.shop.root or store_root())
    now = context.scheduled_execution_time
    names = newest(store) if now.day == LOOK_DAY else open_looks(store)
    if not names:
        return dg.SkipReason("nothing is frozen" if now.day == LOOK_DAY else "no link wants a second look")
    return [
        dg.RunRequest(
            run_key=f"{name} {now:%Y-%m-%d}",
            run_config={"ops": {"drift": {"config": {"release": name}}}},
            tags={"reclaim/release": name},
        )
        for name in names
    ]


@dg.schedule(
    job=refresh_edition,
    cron_schedule="0 6 1 12 *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    required_resource_keys={"shop"},
)
def yearly_refresh(context: dg.ScheduleEvaluationContext) -> Any:
    """Once a year, when a conference's papers are out: the editions in the store's `editions` folder that have no
    release yet, each after the last one of its conference."""
    root: Path = context.resources.shop.root or store_root()
    due = due_editions(Store.open(root))
    if not due:
        return dg.SkipReason(f"no edition in {root / 'editions'} is new and has an earlier one of its conference")
    return [
        dg.RunRequest(
            run_key=f"{name} {context.scheduled_execution_time:%Y}",
            run_config={"ops": {"refresh": {"config": {"edition": name, "previous": previous}}}},
            tags={"reclaim/edition": name},
        )
        for name, previous in due
    ]


def due_editions(store: Store) -> list[tuple[str, str]]:
    """(edition, the last release of its conference) for every edition of the store that has no release of its own."""
    told = [json.loads((store.releases / name / "edition.json").read_text(encoding="utf-8")) for name in newest(store)]
    released = {edition["name"]: name for edition, name in zip(told, newest(store), strict=True)}
    found: list[tuple[str, str]] = []
    for path in sorted((store.root / "editions").glob("*.toml")):
        edition = editions.load(str(path))
        earlier = [e for e in told if e["conference"] == edition.conference and e["as_of"] < edition.as_of.isoformat()]
        if edition.name not in released and earlier:
            last = max(earlier, key=lambda e: (e["as_of"], e["name"]))
            found.append((edition.name, released[last["name"]]))
    return found


JOBS = (drift_report, refresh_edition)
SCHEDULES = (monthly_drift, yearly_refresh)
