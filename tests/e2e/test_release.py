"""One command from an index to a release: it waits for people, goes on when they have decided, and then has nothing
to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e import tiny
from tests.e2e.tiny import Tiny, contents, process

QUICK = """
import sys
from assets.cli import main
code = main(sys.argv[1:])
print("code", code, "dagster", "dagster" in sys.modules)
"""


@pytest.mark.slow
def test_a_build_without_decisions_freezes_nothing_and_says_how_many_rows_wait(
    finished: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh = tiny.make(tmp_path / "fresh")
    assert fresh.build() == tiny.EXIT_WAITING
    said = capsys.readouterr()
    waiting = len(fresh.rows("audited"))
    assert waiting == len(finished.rows("audited")) > 0
    assert f"waiting for people: {waiting} pool rows are not decided ({waiting} waiting)" in said.out
    assert fresh.releases() == []
    assert "Warning" not in said.err


def test_a_decided_edition_is_released_and_its_folder_proves_itself(finished: Tiny) -> None:
    (folder,) = finished.releases()
    done = process(["verify", str(folder), "--json"])
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert sum(check["checked"] > 0 for check in report["checks"]) > 10
    assert not any(check["failures"] for check in report["checks"])


def test_the_last_lines_name_the_release_and_say_that_its_papers_are_fictional(
    finished: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    assert finished.build() == tiny.EXIT_RELEASED
    out = capsys.readouterr().out
    assert f"reclaim verify {finished.releases()[0]}" in out
    sealed = json.loads((finished.releases()[0] / "manifest.json").read_bytes())["manifest_sha256"]
    assert f"\n  manifest {sealed}\n" in out
    assert "All papers of this edition are fictional" in out
    assert "reclaim build --world FOLDER" in out


def test_every_paper_of_the_index_ends_in_exactly_one_place(finished: Tiny) -> None:
    ends = [row["arxiv_id"] for row in finished.rows("rows")]
    ends += [
        row["key"] for stage in ("corpus", "bundle", "classification") for row in finished.rows(f"{stage}_exclusions")
    ]
    assert len(ends) == len(set(ends)) == len(finished.rows("index")) == len(tiny.PAPERS)


def test_a_second_build_asks_nothing_runs_no_episode_imports_no_dagster_and_changes_no_byte(copy: Tiny) -> None:
    assert copy.build() == tiny.EXIT_RELEASED
    before = contents(copy.root / "releases"), contents(copy.root / "tables")
    asked = copy.count("sightings"), copy.count("episodes")
    done = process(copy.arguments("build", str(copy.toml)), run=("-c", QUICK))
    assert done.stdout.endswith("code 0 dagster False\n"), done.stdout + done.stderr
    assert "stale" not in done.stderr
    assert (contents(copy.root / "releases"), contents(copy.root / "tables")) == before
    assert (copy.count("sightings"), copy.count("episodes")) == asked


@pytest.mark.slow
def test_building_anew_from_nothing_gives_the_same_bytes(finished: Tiny, tmp_path: Path) -> None:
    again = tiny.make(tmp_path / "again")
    assert again.run("audit", "import", str(finished.folder / "decisions.jsonl"), "--edition", str(again.toml)) == 0
    assert again.build() == tiny.EXIT_RELEASED
    assert contents(again.root / "releases") == contents(finished.root / "releases")


def test_importing_the_same_decisions_again_changes_nothing(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert copy.run("audit", "import", str(copy.folder / "decisions.jsonl"), "--edition", str(copy.toml)) == 0
    assert capsys.readouterr().out.startswith("0 of ")
    assert copy.build() == tiny.EXIT_RELEASED
    assert [path.name for path in copy.releases()] == ["tiny-v1"]


@pytest.mark.slow
def test_a_release_whose_folder_was_moved_away_is_frozen_again(copy: Tiny, tmp_path: Path) -> None:
    before = contents(copy.root / "releases")
    (copy.root / "releases" / "tiny-v1").rename(tmp_path / "away")
    assert copy.build() == tiny.EXIT_RELEASED
    assert contents(copy.root / "releases") == before
