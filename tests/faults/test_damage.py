"""What is damaged in the store is named and never trusted; two builds of one edition never mix."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from pipeline.release.verify import verify
from tests.e2e import tiny
from tests.e2e.tiny import ROOT, Tiny, contents, environment


def sql(tiny: Tiny, statement: str, **values: object) -> int:
    with tiny.store.engine.begin() as connection:
        return connection.execute(sa.text(statement), values).rowcount


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 0x20
    path.write_bytes(bytes(data))


def end_of(tiny: Tiny, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = tiny.build()
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.slow
def test_tables_cut_short_are_made_again_by_their_stages(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(copy.root / "releases")
    for table in ("bundle_exclusions", "rows", "audited"):
        place = copy.store.table_path(copy.name, table)
        place.write_bytes(place.read_bytes()[:-20])
    code, said = end_of(copy, capsys)
    assert code == tiny.EXIT_RELEASED, said
    assert "stale: bundles, classification, " in said
    assert contents(copy.root / "releases") == before


@pytest.mark.slow
def test_a_byte_changed_inside_a_table_is_an_error_that_names_it_or_a_table_made_again(
    copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(copy.root / "releases")
    place = copy.store.table_path(copy.name, "rows")
    whole = place.read_bytes()
    selection = copy.store.table_path(copy.name, "selection")
    for at in range(4, len(whole) - 8, max(len(whole) // 6, 1)):
        place.write_bytes(whole)
        flip(place, at)
        selection.unlink(missing_ok=True)  # whoever reads the damaged table next is stale
        code, said = end_of(copy, capsys)
        if code != tiny.EXIT_RELEASED:
            assert str(place) in said, said
            assert "delete it and build again" in said, said
            place.unlink()
            code, said = end_of(copy, capsys)
        assert code == tiny.EXIT_RELEASED, said
        assert contents(copy.root / "releases") == before


@pytest.mark.slow
def test_a_damaged_source_costs_no_release_and_is_named(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(r for r in copy.rows("bundles") if r["arxiv_id"] == "2505.90011")
    sha256 = row["source_files"][0]["sha256"]
    flip(copy.root / "blobs" / sha256[:2] / sha256[2:], 10)
    copy.store.table_path(copy.name, "release").unlink()
    code, said = end_of(copy, capsys)
    assert code == tiny.EXIT_BLOCKED, said
    assert "is damaged" in said
    assert sha256[2:] in said


@pytest.mark.slow
def test_damaged_pages_are_not_read_from_the_record_but_asked_for_again(
    copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    """No body hashes to its name any more: nothing rests on one, no paper is blamed, and the world is asked anew."""
    before, asked = contents(copy.root / "releases"), copy.count("sightings")
    for place in (copy.root / "blobs").rglob("*"):
        if place.is_file():
            flip(place, 7)
    sql(copy, "delete from episodes")
    for table in ("bundles", "rows"):
        copy.store.table_path(copy.name, table).unlink()
    code, said = end_of(copy, capsys)
    assert code == tiny.EXIT_RELEASED, said
    assert contents(copy.root / "releases") == before
    assert copy.count("sightings") > asked


@pytest.mark.slow
def test_damaged_episodes_are_named_and_run_again(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(copy.root / "releases")
    damage = {
        "2505.90011": "substr(json, 1, 200)",
        "2505.90177": '\'{"paper": "2505.90177"}\'',
        "2505.90046": "'[]'",
        "2505.90057": "(select json from episodes where paper = '2505.90038')",
    }
    for paper, value in damage.items():
        assert sql(copy, f"update episodes set json = {value} where paper = :paper", paper=paper) == 1
    copy.store.table_path(copy.name, "rows").unlink()
    code, said = end_of(copy, capsys)
    assert code == tiny.EXIT_RELEASED, said
    for paper in damage:
        assert f"classification {paper}: its recorded episode is damaged" in said
    assert "(it is about 2505.90038)" in said
    assert f"classification {len(damage)}/{len(damage)}" in said
    assert contents(copy.root / "releases") == before


def test_a_changed_ledger_row_is_named_and_blocks_the_build(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    sql(copy, "drop trigger ledger_no_update")
    changed = "update ledger set event = replace(event, 'read it', 'misread') where seq = 7"
    assert sql(copy, changed) == 1
    code, said = end_of(copy, capsys)
    assert code not in (tiny.EXIT_RELEASED, tiny.EXIT_WAITING)
    assert "its hash is not that of its content" in said
    assert "entry main 7" in said
    assert len(said.strip().splitlines()) == 1, said


def test_a_lost_ledger_row_blocks_the_release(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    sql(copy, "drop trigger ledger_no_delete")
    assert sql(copy, "delete from ledger where seq = 7") == 1
    code, said = end_of(copy, capsys)
    assert code == 1, said
    assert "the ledger of tiny is damaged: site main, entry 8" in said
    assert "entries are missing" in said
    assert len(said.strip().splitlines()) == 1, said


def test_a_changed_frozen_release_fails_verification_and_is_not_written_over(
    copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = copy.releases()
    flip(folder / "eval.jsonl", 100)
    report = verify(folder)
    assert not report.ok
    assert any("eval.jsonl" in line for line in report.lines())
    changed = contents(folder)
    copy.build()
    assert contents(folder) == changed


def test_who_holds_an_edition_is_named_and_the_other_build_does_nothing(
    copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(copy.root / "tables")
    with copy.store.lock(copy.name):
        code, said = end_of(copy, capsys)
    assert code == 1
    assert f"edition tiny is held by process {os.getpid()} on " in said
    assert "wait for it or stop it" in said
    assert len(said.strip().splitlines()) == 1, said
    assert contents(copy.root / "tables") == before
    assert copy.build() == tiny.EXIT_RELEASED


@pytest.mark.slow
@pytest.mark.fault("two at once", "builds of one edition")
def test_of_two_builds_at_once_one_releases_and_the_other_says_so_and_neither_spoils_anything(
    finished: Tiny, tmp_path: Path
) -> None:
    fresh = tiny.make(tmp_path / "fresh")
    assert fresh.run("audit", "import", str(finished.folder / "decisions.jsonl"), "--edition", str(fresh.toml)) == 0
    command = [sys.executable, "-m", "assets.cli", *fresh.arguments("build", str(fresh.toml))]
    both = [
        subprocess.Popen(command, cwd=ROOT, env=environment(ROOT), stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    ends = sorted((one.returncode, said) for one in both for said in [one.communicate(timeout=300)[1]])
    assert [code for code, _ in ends] == [tiny.EXIT_RELEASED, 1]
    assert "is held by process" in ends[1][1]
    assert contents(fresh.root / "releases") == contents(finished.root / "releases")
