"""The Dagster code location: stages as assets of one edition, their checks, and the jobs. Adapters only.

An asset opens the edition's workplace, refuses to run on stale tables upstream, runs its stage, and shows what the
stage says of itself. `reclaim build` runs the same definitions in the instance that the UI shows.
"""

import warnings
from typing import Any

import dagster as dg

from assets import approvals, orders, shards, watch
from assets.report import requests_of
from assets.shop import EDITIONS, Shop
from assets.stages import Stage, code_of, prints, stages, stale

GROUP = "reclaim"


def build_defs(shop: Shop | None = None) -> dg.Definitions:
    """All definitions; `shop` says where workplaces come from (default: the store of this machine)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.PreviewWarning)  # checks of one edition are a preview, and wanted
        assets, checks = [_asset(stage) for stage in stages()], [_check(stage) for stage in stages()]
    return dg.Definitions(
        assets=[*assets, approvals.RECORDS],
        asset_checks=checks,
        jobs=[
            dg.define_asset_job(
                "build_edition",
                selection=dg.AssetSelection.groups(GROUP),
                description="Every stage of one edition, from the index to the frozen release.",
            ),
            shards.job_of(orders.cores(), "multiprocess"),
            approvals.record_audit_decision,
            *watch.JOBS,
        ],
        schedules=watch.SCHEDULES,
        sensors=[approvals.ledger_sensor],
        resources={"shop": shop or Shop()},
        executor=dg.in_process_executor,
    )


def _asset(stage: Stage) -> dg.AssetsDefinition:
    @dg.asset(
        name=stage.name,
        deps=list(stage.after),
        partitions_def=EDITIONS,
        group_name=GROUP,
        code_version=code_of(stage)[:16],
        description=(stage.run.__doc__ or "").strip(),
        kinds={"python"},
    )
    def asset(context: dg.AssetExecutionContext, shop: dg.ResourceParam[Shop]) -> dg.MaterializeResult[Any]:
        with shop.open(context.partition_key, context.log.info) as work:
            present = prints(work)
            behind = [s.name for s in stale(work, present) if s.name in _above(stage)]
            if behind:
                raise dg.Failure(
                    f"{stage.name} of {work.edition.name}: {', '.join(behind)} upstream is stale; materialize it "
                    f"first, or run `reclaim build {work.edition.name}`"
                )
            summary = {**stage.run(work, present[stage.name]), **requests_of(work)}
            metadata = _metadata(summary) | approvals.shown(stage.name, work)
            for done in approvals.keep_list(stage.name, work, context.instance):
                context.log_event(done)
        return dg.MaterializeResult(metadata=metadata)

    return asset


def _above(stage: Stage) -> set[str]:
    by_name = {s.name: s for s in stages()}
    found: set[str] = set()
    todo = list(stage.after)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(by_name[name].after)
    return found


def _check(stage: Stage) -> dg.AssetChecksDefinition:
    """Shows whether a stage's own invariants hold; the gate decides what is frozen, not this."""

    @dg.asset_check(
        asset=stage.name, name=f"{stage.name}_holds", partitions_def=EDITIONS, description=stage.check.__doc__
    )
    def check(context: dg.AssetCheckExecutionContext, shop: dg.ResourceParam[Shop]) -> dg.AssetCheckResult:
        with shop.open(context.partition_key, context.log.info) as work:
            checked, faults = stage.check(work)
            more = approvals.waits(work) if stage.name == "audit" else {}
        passed = checked > 0 and not faults
        shown = "\n".join(f"- {fault}" for fault in faults[:50]) or "nothing was looked at" * (not checked)
        return dg.AssetCheckResult(
            passed=passed,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"checked": checked, "faults": len(faults), "list": dg.MetadataValue.md(shown), **more},
        )

    return check


def _metadata(summary: Any) -> dict[str, Any]:
    """Counts as numbers, lists of records as tables, the rest as JSON."""
    shown: dict[str, Any] = {}
    for name, value in summary.items():
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            shown[name] = dg.MetadataValue.table([dg.TableRecord(row) for row in value])
        elif isinstance(value, dict | list):
            shown[name] = dg.MetadataValue.json(value)
        else:
            shown[name] = value
    return shown


defs = build_defs()
