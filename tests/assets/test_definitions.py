"""The stages under Dagster: what the UI shows and runs is what `reclaim build` runs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace

import dagster as dg
import pytest

from assets import definitions, stages
from assets.build import instance
from assets.definitions import EDITIONS, Shop, build_defs
from assets.stages import Stage
from tests.e2e import tiny
from tests.e2e.tiny import Tiny

DEPENDENCIES = {
    "corpus": set(),
    "bundles": {"corpus"},
    "classification": {"bundles"},
    "selection": {"classification"},
    "audit": {"selection"},
    "release": {"corpus", "bundles", "classification", "selection", "audit"},
}


@pytest.fixture
def kept(copy: Tiny) -> Tiny:
    """An edition that any process finds in the store by its name, as the UI's runs do."""
    (copy.root / "editions").mkdir()
    text = copy.toml.read_text().replace('world = "world"', f"world = {json.dumps(str(copy.world))}")
    (copy.root / "editions" / "tiny.toml").write_text(text)
    return copy


@pytest.fixture
def home(kept: Tiny) -> Iterator[dg.DagsterInstance]:
    with instance(kept.root / "dagster") as found:
        found.add_dynamic_partitions(str(EDITIONS.name), [kept.name])
        yield found


def launch(kept: Tiny, home: dg.DagsterInstance, *names: str) -> dg.ExecuteInProcessResult:
    """Run assets as a run launched from the UI does: with the definitions and the instance alone."""
    defs = build_defs(Shop(root=kept.root))
    job = defs.resolve_implicit_global_asset_job_def()
    keys = [dg.AssetKey(name) for name in names]
    return job.execute_in_process(instance=home, partition_key=kept.name, asset_selection=keys, raise_on_error=False)


def cause(result: dg.ExecuteInProcessResult) -> str:
    (failure,) = [e for e in result.all_events if e.is_step_failure]
    return str(failure.step_failure_data)


def test_assets_their_order_and_their_checks_are_what_the_design_says() -> None:
    defs = build_defs()
    graph = defs.resolve_asset_graph()
    found = {
        key.to_user_string(): {up.to_user_string() for up in graph.get(key).parent_keys}
        for key in graph.get_all_asset_keys()
    }
    assert found == DEPENDENCIES | {"audit_decision": set()}
    checks = {key.name for key in graph.asset_check_keys}
    assert checks == {f"{name}_holds" for name in DEPENDENCIES}
    assert all(graph.get(dg.AssetKey(name)).partitions_def == EDITIONS for name in DEPENDENCIES)


def test_the_code_version_that_the_ui_shows_is_the_computed_one() -> None:
    graph = build_defs().resolve_asset_graph()
    for stage in stages.stages():
        assert graph.get(dg.AssetKey(stage.name)).code_version == stages.code_of(stage)[:16]


def test_loading_the_definitions_warns_of_nothing() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build_defs()
    assert [str(one.message) for one in caught] == []


@pytest.mark.slow
def test_a_run_launched_without_a_build_works_and_takes_the_lock(kept: Tiny, home: dg.DagsterInstance) -> None:
    kept.store.table_path(kept.name, "selection").unlink()
    with kept.store.lock(kept.name):
        blocked = launch(kept, home, "selection")
    assert not blocked.success
    assert "is held by process" in cause(blocked)
    result = launch(kept, home, "selection", "audit", "release")
    assert result.success
    assert kept.build() == tiny.EXIT_RELEASED
    assert [path.name for path in kept.releases()] == ["tiny-v1"]


def test_a_stage_above_stale_ones_is_refused_and_says_what_to_do(kept: Tiny, home: dg.DagsterInstance) -> None:
    kept.store.table_path(kept.name, "rows").unlink()
    before = kept.store.table_path(kept.name, "selection").read_bytes()
    result = launch(kept, home, "selection")
    assert not result.success
    assert "selection of tiny: classification upstream is stale; materialize it first" in cause(result)
    assert "reclaim build tiny" in cause(result)
    assert kept.store.table_path(kept.name, "selection").read_bytes() == before


def test_what_a_stage_says_of_itself_is_shown_with_its_materialization(kept: Tiny, home: dg.DagsterInstance) -> None:
    assert launch(kept, home, "selection").success
    event = home.get_latest_materialization_event(dg.AssetKey("selection"))
    assert event is not None
    shown = event.asset_materialization.metadata  # type: ignore[union-attr]
    taken = [row for row in kept.rows("selection") if row["status"] == "taken"]
    assert shown["pool"].value == len(taken) > 0
    assert len(shown["strata"].records) == len(kept.rows("strata"))


def test_each_check_looks_at_something_and_says_what_it_found(kept: Tiny, home: dg.DagsterInstance) -> None:
    result = launch(kept, home, *DEPENDENCIES)
    found = {one.check_name: one for one in result.get_asset_check_evaluations()}
    assert set(found) == {f"{name}_holds" for name in DEPENDENCIES}
    assert all(one.metadata["checked"].value > 0 for one in found.values())  # type: ignore[operator]
    open_ = [row for row in kept.rows("rows") if any("unverified" in why for why in row["ineligible"])]
    assert open_
    assert not found["classification_holds"].passed
    assert all(row["arxiv_id"] in str(found["classification_holds"].metadata["list"].value) for row in open_)
    assert found["release_holds"].passed
    assert found["audit_holds"].passed


@pytest.mark.parametrize(("looked", "faults", "passed"), [(0, [], False), (3, [], True), (3, ["one is wrong"], False)])
def test_a_check_that_looked_at_nothing_has_failed(
    looked: int, faults: list[str], passed: bool, kept: Tiny, home: dg.DagsterInstance
) -> None:
    stage: Stage = replace(stages.stages()[0], run=lambda work, print_: {}, check=lambda work: (looked, faults))
    asset, check = definitions._asset(stage), definitions._check(stage)
    result = dg.materialize(
        [asset, check],
        instance=home,
        partition_key=kept.name,
        resources={"shop": Shop(root=kept.root)},
    )
    (one,) = result.get_asset_check_evaluations()
    assert one.passed is passed
    assert one.metadata["checked"].value == looked
    assert ("nothing was looked at" in str(one.metadata["list"].value)) is (looked == 0)


@pytest.mark.slow
def test_a_stage_that_fails_ends_the_build_blocked_with_stage_and_cause(
    copy: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from assets import selection

    def fails(work: object) -> None:
        raise ArithmeticError("a tier of minus one papers")

    copy.store.table_path(copy.name, "selection").unlink()
    with monkeypatch.context() as patched:
        patched.setattr(selection, "select", fails)
        assert copy.build() == tiny.EXIT_BLOCKED
    said = capsys.readouterr()
    assert "blocked: selection: ArithmeticError: a tier of minus one papers" in said.out
    assert "Traceback" not in said.out + said.err
    assert copy.build() == tiny.EXIT_RELEASED


@pytest.mark.slow
def test_runs_of_killed_builds_daemons_and_workers_are_buried_even_by_a_build_with_nothing_to_do(
    kept: Tiny, home: dg.DagsterInstance
) -> None:
    status = dg.DagsterRunStatus
    job = build_defs(Shop(root=kept.root)).resolve_implicit_global_asset_job_def()

    def run(at: dg.DagsterRunStatus, partition: str = kept.name, **tags: str) -> str:
        return home.create_run_for_job(job, status=at, tags={"dagster/partition": partition, **tags}).run_id

    dead = [run(at) for at in (status.STARTING, status.STARTED, status.CANCELING)]
    dead += [run(at, **{"reclaim/build": "abc"}) for at in (status.NOT_STARTED, status.STARTED)]
    # Not begun by anybody yet, or not about this edition; a run that builds an edition has its name, but no partition.
    other = [run(status.NOT_STARTED), run(status.STARTED, "another")]
    other.append(home.create_run_for_job(job, status=status.STARTED, tags={"reclaim/edition": kept.name}).run_id)
    with Shop(root=kept.root).open(kept.name, lambda _: None):
        pass
    assert kept.build() == tiny.EXIT_RELEASED
    found = {id_: home.get_run_by_id(id_) for id_ in (*dead, *other)}
    assert all(record is not None for record in found.values())
    assert {record.status for id_, record in found.items() if record and id_ in dead} == {status.FAILURE}
    left = [record.status for id_, record in found.items() if record and id_ in other]
    assert left == [status.NOT_STARTED, status.STARTED, status.STARTED]
