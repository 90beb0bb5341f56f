"""What `reclaim verify` proves beyond the folder: by replaying the evidence, and by asking the world again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from classifiers.replay import CHECK as READINGS
from classifiers.replay import readings
from pipeline.evidence import Receipt
from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldTransport
from pipeline.release import extraction
from pipeline.release.case import Case
from pipeline.release.pack import Pack
from pipeline.release.report import Report
from pipeline.release.verify import verify
from pipeline.sources import live, replay
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.recorder import Recorder
from pipeline.store import Store
from tests.e2e.tiny import ROOT, Tiny

IMPORTS = """
import sys
from assets.cli import main
code = main(sys.argv[1:])
print(code, *(m for m in ("dagster", "sqlalchemy", "pipeline.sources", "pipeline.offline") if m in sys.modules))
"""


@pytest.fixture(scope="module")
def pack(finished: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pack") / "pack.zip"
    assert finished.run("evidence", "export", str(place), "--edition", str(finished.toml)) == 0
    return place


def report_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def checks_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in report["checks"]}


@pytest.mark.slow
def test_every_receipt_of_a_release_is_replayed_without_a_network(
    finished: Tiny, pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = finished.releases()
    capsys.readouterr()
    assert finished.run("verify", str(folder), "--evidence", str(pack), "--replay", "--json") == 0
    report = report_of(capsys)
    checks = checks_of(report)
    assert checks[replay.CHECK]["checked"] == len(finished.rows("receipts")) > 20
    assert checks[READINGS]["checked"] >= len(finished.rows("rows")) > 5
    assert checks[replay.CHECK]["failures"] == checks[READINGS]["failures"] == []
    assert {(label["derived"], label["replayed"]) for label in report["labels"]} == {(True, "replayed")}


def test_an_episode_that_its_evidence_does_not_give_is_told_apart(finished: Tiny, pack: Path, tmp_path: Path) -> None:
    """An answer changed by hand, and a receipt that no call of the reading made."""
    opened = Pack.open(pack)
    try:
        sound = [one for one in opened.episodes.values() if one.answer is not None and len(one.receipts) > 2]
        said, asked = sorted(sound, key=lambda one: one.paper)[:2]
        assert said.answer is not None
        forged = {
            said.paper: replace(said, answer=said.answer.model_copy(update={"mre_config": "another one"})),
            asked.paper: replace(asked, receipts=asked.receipts[1:]),
        }
        lying = replace(opened, episodes={p: forged.get(p, e) for p, e in opened.episodes.items()})
        report = verify(finished.releases()[0], also=(lambda case, _: readings(case, lying),))
    finally:
        opened.archive.close()
    (check,) = [check for check in report.checks if check.name == READINGS]
    assert {failure.where for failure in check.failures} == {said.paper, asked.paper}
    assert any(f.where == said.paper and f.message.startswith("answer is") for f in check.failures)


def test_every_row_of_a_release_is_read_again_from_sources_and_episodes(
    finished: Tiny, pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = finished.releases()
    capsys.readouterr()
    assert finished.run("verify", str(folder), "--evidence", str(pack), "--json") == 0
    check = checks_of(report_of(capsys))[extraction.CHECK]
    assert check["checked"] >= len(finished.rows("rows")) > 5
    assert check["failures"] == []


def test_a_replay_without_a_pack_says_what_to_give(finished: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert finished.run("verify", str(finished.releases()[0]), "--replay") == 1
    assert "give one with --evidence" in capsys.readouterr().out


@pytest.mark.slow
def test_verify_alone_loads_neither_dagster_nor_a_database_nor_the_sources(finished: Tiny, pack: Path) -> None:
    command = [sys.executable, "-c", IMPORTS, "verify", str(finished.releases()[0]), "--evidence", str(pack), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0", done.stdout


def test_receipts_probed_anew_in_the_same_world_say_the_same(
    finished: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = finished.releases()
    capsys.readouterr()
    command = ("verify", str(folder), "--live", "8", "--world", str(finished.world), "--json")
    assert finished.run(*command) == 0
    report = report_of(capsys)
    assert checks_of(report)[live.CHECK] | {"failures": []} == {"name": live.CHECK, "checked": 8, "failures": []}
    (note,) = report["notes"]
    assert note.startswith("8 of ")
    assert note.endswith("(seed sample-2025): 8 the same")


def test_an_edition_whose_world_is_elsewhere_says_how_to_name_it(
    finished: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert finished.run("verify", str(finished.releases()[0]), "--live", "2") == 1
    assert "name its folder with --world" in capsys.readouterr().err
    assert finished.run("verify", str(finished.releases()[0]), "--live", "2", "--world", str(tmp_path)) == 1
    assert "is no world" in capsys.readouterr().err


Ask = Callable[..., Report]


@pytest.fixture
def asked(finished: Tiny, tmp_path: Path) -> Ask:
    """The live checks over a changed copy of the world."""

    def ask(
        change: Callable[[Path], None], count: int = 1000, seed: str = "s", forge: Any = lambda case: case
    ) -> Report:
        world = tmp_path / "world"
        shutil.rmtree(world, ignore_errors=True)
        shutil.copytree(finished.world, world)
        change(world)
        clock = SimulatedClock(datetime(2026, 2, 1, tzinfo=UTC))

        def look(case: Case, pack: Pack | None) -> Report:
            with OfflineWorld(world) as served:
                store = Store(tmp_path / f"store-{len(list(tmp_path.iterdir()))}")
                recorder = Recorder(store, clock, run="live", epoch="live", transport=WorldTransport(served))
                return live.live(forge(case) if forge else case, pack, recorder, count, seed)

        return verify(finished.releases()[0], also=(look,))

    return ask


def failed(report: Report) -> list[str]:
    return [str(failure) for check in report.checks if check.name == live.CHECK for failure in check.failures]


def set_in(place: Path, **facts: str) -> None:
    """Settings of a repository, before its tables."""
    text = "".join(f"{key} = {value}\n" for key, value in facts.items())
    place.write_text(text + place.read_text(encoding="utf-8"), encoding="utf-8")


def the_code(finished: Tiny) -> Receipt:
    """The receipt of the repository that makes a split row's code available."""
    receipts = [Receipt.from_json(row) for row in finished.rows("receipts")]
    rows = (finished.releases()[0] / "eval.jsonl").read_text(encoding="utf-8").splitlines()
    chosen = {json.loads(line)["custom_id"] for line in rows}
    code = {
        (row["arxiv_id"], url.lower().replace("https://github.com/", "github:"))
        for row in finished.rows("rows")
        for url in row["inputs"]["links"]["code"]
        if row["arxiv_id"] in chosen
    }
    mine = [r for r in receipts if (r.paper, r.subject) in code and r.tool == "github_repo"]
    return min((r for r in mine if r.facts.get("code_files")), key=lambda r: r.id)


def repo_file(world: Path, receipt: Receipt) -> Path:
    return world / "github" / receipt.facts["full_name"] / "repo.toml"


@pytest.mark.slow
def test_a_repository_that_is_gone_now_fails_by_the_label_it_would_change(finished: Tiny, asked: Ask) -> None:
    code = the_code(finished)
    report = asked(lambda world: set_in(repo_file(world, code), missing="true"))
    assert not report.ok
    where = f"{code.paper} github_repo {code.subject}"
    assert any(f"{where}: code_available would be False, not True" in line for line in failed(report)), failed(report)
    assert any(note.startswith(f"drifted: {where}: available, now unavailable") for note in report.notes)


@pytest.mark.slow
def test_trouble_on_the_way_changes_no_label(finished: Tiny, asked: Ask) -> None:
    code = the_code(finished)
    report = asked(lambda world: set_in(repo_file(world, code), fail_first="{status = 503, times = 99}"))
    assert failed(report) == []
    assert any(note.startswith(f"undetermined now: {code.paper} github_repo {code.subject}") for note in report.notes)


def test_drift_that_changes_no_label_is_a_note(finished: Tiny, asked: Ask) -> None:
    """The repository gained a script that makes data, of which no label speaks."""
    code = the_code(finished)

    def change(world: Path) -> None:
        (repo_file(world, code).parent / "files" / "make_data.py").write_text(
            "print('a row of data')\n" * 5, encoding="utf-8"
        )

    report = asked(change)
    assert report.ok, "\n".join(report.lines())
    assert any(
        note.startswith(f"drifted: {code.paper} github_repo {code.subject}: construction_scripts [], now")
        for note in report.notes
    )


@pytest.mark.slow
def test_a_forged_receipt_of_a_place_that_never_was_fails(finished: Tiny, asked: Ask) -> None:
    code = the_code(finished)
    forged = replace(code, arguments={"repo": "nobody/nothing"})

    def forge(case: Case) -> Case:
        sample = tuple(
            i.model_copy(update={"receipts": [forged.id if r == code.id else r for r in i.receipts]})
            for i in case.material.sample
        )
        audited = tuple(
            replace(a, derivation=replace(a.derivation, inputs=next(i for i in sample if i.arxiv_id == a.arxiv_id)))
            for a in case.made.audited
        )
        receipts = {**case.material.receipts, forged.id: forged}
        material = replace(case.material, receipts=receipts, sample=sample)
        return replace(case, material=material, made=replace(case.made, audited=audited))

    def change(world: Path) -> None:
        place = world / "github" / "nobody" / "nothing" / "repo.toml"
        place.parent.mkdir(parents=True)
        place.write_text("missing = true\n", encoding="utf-8")

    report = asked(change, forge=forge)
    assert [line for line in failed(report) if line.startswith(f"{code.paper} github_repo")], report.notes


@pytest.mark.slow
def test_a_draw_follows_its_seed(asked: Ask) -> None:
    def drawn(seed: str) -> list[str]:
        report = asked(lambda world: shutil.rmtree(world / "github"), count=6, seed=seed)
        return [note for note in report.notes if not note[0].isdigit()]

    assert drawn("a") == drawn("a")
    assert drawn("a") != drawn("b")
