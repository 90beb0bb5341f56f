"""What Dagster does by the calendar."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import tiny
from tests.e2e.tiny import Tiny

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return tiny.finished(tmp_path_factory)


def ticked(schedule: Any, root: Path, day: datetime) -> Any:
    import dagster as dg

    from assets.shop import Shop

    with dg.build_schedule_context(scheduled_execution_time=day, resources={"shop": Shop(root)}) as context:
        return schedule.evaluate_tick(context)


def test_both_schedules_are_off_until_somebody_turns_them_on() -> None:
    import dagster as dg

    from assets.definitions import defs

    schedules = {s.name: s for s in defs.schedules or ()}  # type: ignore[union-attr]
    assert schedules.keys() == {"monthly_drift", "yearly_refresh"}
    assert {s.default_status for s in schedules.values()} == {dg.DefaultScheduleStatus.STOPPED}  # type: ignore[union-attr]


def test_a_look_at_every_release_is_due_on_the_first_and_a_second_one_only_where_links_are_open(
    released: Tiny, tmp_path: Path
) -> None:
    from assets.watch import monthly_drift

    edition = released.copy(tmp_path / "copy")
    first = ticked(monthly_drift, edition.root, datetime(2026, 2, 1, 6, tzinfo=UTC))
    (request,) = first.run_requests
    assert request.run_config == {"ops": {"drift": {"config": {"release": "tiny-v1"}}}}
    third = datetime(2026, 2, 3, 6, tzinfo=UTC)
    assert ticked(monthly_drift, edition.root, third).skip_message == "no link wants a second look"
    looks = edition.root / "drift" / "tiny-v1" / "looks"
    looks.mkdir(parents=True)
    (looks / "2026-02-01.json").write_text(json.dumps({"pending": 2}))
    assert [r.run_key for r in ticked(monthly_drift, edition.root, third).run_requests] == ["tiny-v1 2026-02-03"]


def test_the_drift_job_writes_the_report_of_a_release(released: Tiny, tmp_path: Path) -> None:
    import dagster as dg

    from assets.shop import Shop
    from assets.watch import drift_report

    edition = released.copy(tmp_path / "copy")
    place = edition.root / "editions"
    place.mkdir(exist_ok=True)
    text = edition.toml.read_text(encoding="utf-8").replace('"world"', json.dumps(str(edition.world)))
    (place / "tiny.toml").write_text(text, encoding="utf-8")
    config = {"ops": {"drift": {"config": {"release": "tiny-v1"}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        result = drift_report.execute_in_process(
            run_config=config, resources={"shop": Shop(edition.root)}, instance=instance
        )
    assert result.success
    (look,) = (edition.root / "drift" / "tiny-v1" / "looks").iterdir()
    assert json.loads(look.read_text())["counts"].keys() == {"same"}


def test_a_new_edition_is_built_and_set_beside_the_last_one(
    released: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from assets.watch import yearly_refresh

    edition = released.copy(tmp_path / "copy")
    place = edition.root / "editions"
    place.mkdir(exist_ok=True)
    text = edition.toml.read_text(encoding="utf-8").replace('"world"', json.dumps(str(edition.world)))
    (place / "tiny-2026.toml").write_text(f"as_of = 2026-12-01\nyear = 2026\n{text}", encoding="utf-8")
    (request,) = ticked(yearly_refresh, edition.root, datetime(2026, 12, 1, 6, tzinfo=UTC)).run_requests
    assert request.run_config["ops"]["refresh"]["config"] == {"edition": "tiny-2026", "previous": "tiny-v1"}

    command = ("refresh", "tiny-2026", "--from", "tiny", "--cutoff", "2025-06")
    assert edition.run(*command) == tiny.EXIT_WAITING, "no decision is carried over"
    new = Tiny(edition.folder, "tiny-2026")
    form, filled = tmp_path / "form.jsonl", tmp_path / "filled.jsonl"
    assert new.run("audit", "form", str(form), "--edition", "tiny-2026") == 0
    filled.write_text(tiny.filled_in(form.read_text(), at="2026-12-02T10:00:00Z"))
    assert new.run("audit", "import", str(filled), "--edition", "tiny-2026") == 0
    assert edition.run(*command) == tiny.EXIT_RELEASED
    assert "beside   tiny:" in capsys.readouterr().out
    (folder,) = (edition.root / "refresh").iterdir()
    report = json.loads((folder / "report.json").read_text())
    assert report["carried"]["decisions"] == []
    assert report["before"]["edition"] == "tiny"
    assert report["after"]["edition"] == "tiny-2026"
    assert report["artifacts"] == []
    assert report["requests"]["asked"] >= report["requests"]["after"], "it asked for its own evidence"
    assert sum(report["contamination"]["2025-06"]["eval"].values()) == report["after"]["counts"]["eval"]
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
