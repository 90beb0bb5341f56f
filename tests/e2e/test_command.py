"""Errors of the command are one line that says what is wrong and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.tiny import Tiny


@pytest.fixture
def empty(tmp_path: Path) -> Tiny:
    return Tiny(tmp_path)


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("reclaim: ")
    return line


def test_an_unknown_edition_is_named_with_the_nearest(empty: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert empty.run("build", "sample-2026") == 1
    assert line_of(capsys) == "reclaim: no edition 'sample-2026': did you mean sample-2025?"


def test_an_edition_with_an_unknown_key_is_named_with_file_and_key(
    empty: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    empty.toml.write_text('extends = "sample-2025"\npool_sise = 3\n')
    assert empty.run("build", str(empty.toml)) == 1
    line = line_of(capsys)
    assert str(empty.toml) in line
    assert "pool_sise: unknown key; did you mean pool_size?" in line


def test_a_world_that_is_no_folder_is_named(empty: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert empty.run("build", "--world", str(empty.folder / "nowhere")) == 1
    line = line_of(capsys)
    assert str(empty.folder / "nowhere") in line
    assert "name a world folder" in line


def test_a_folder_that_is_no_world_is_named(empty: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    (empty.folder / "plain").mkdir()
    assert empty.run("build", "--world", str(empty.folder / "plain")) == 1
    line = line_of(capsys)
    assert str(empty.folder / "plain") in line


def test_an_index_below_its_floor_is_a_blocked_build_and_no_small_conference(
    copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    copy.toml.write_text(copy.toml.read_text().replace("min_papers = 1", "min_papers = 40"))
    assert copy.build() == 3
    out = capsys.readouterr().out
    assert "blocked: corpus: " in out
    assert "fewer than min_papers 40" in out


@pytest.mark.parametrize("command", [("audit", "status"), ("audit", "form", "form.jsonl"), ("what-if",)])
def test_a_question_before_the_first_build_says_to_build(
    command: tuple[str, ...], empty: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(empty.folder)
    assert empty.run(*command) == 1
    assert "build" in line_of(capsys)
    assert not (empty.folder / "form.jsonl").exists()


def test_a_missing_decisions_file_is_named(empty: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert empty.run("audit", "import", str(empty.folder / "decisions.jsonl")) == 1
    assert str(empty.folder / "decisions.jsonl") in line_of(capsys)


def test_bad_decisions_are_named_line_by_line_and_none_is_taken(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    good = (copy.folder / "decisions.jsonl").read_text().splitlines()
    new = {**json.loads(good[0]), "who": "grace"}
    bad = copy.folder / "bad.jsonl"
    bad.write_text("\n".join([json.dumps(new), "{", json.dumps(new | {"row_hash": "12"})]))
    events = len(copy.ledger())
    assert copy.run("audit", "import", str(bad), "--edition", str(copy.toml)) == 1
    said = capsys.readouterr().err
    assert f"{bad}:2: " in said
    assert f"{bad}:3: " in said
    assert f"{bad}:1: " not in said
    assert "nothing was imported" in said
    assert "Traceback" not in said
    assert len(copy.ledger()) == events


def test_verifying_what_is_no_release_fails_and_says_so(empty: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert empty.run("verify", str(empty.folder)) == 1
    said = capsys.readouterr()
    assert "this is no release folder" in said.out + said.err
    assert "Traceback" not in said.err


def test_what_if_with_a_cap_that_contradicts_itself_is_one_line(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    assert copy.run("what-if", str(copy.toml), "--weights", "1") == 1
    assert "band_weights" in line_of(capsys)


@pytest.mark.parametrize("weights", ["5/x", ""])
def test_weights_that_are_no_numbers_are_refused_with_an_example(
    copy: Tiny, weights: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        copy.run("what-if", str(copy.toml), "--weights", weights)
    assert ended.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"argument --weights: {weights!r} is no list of whole numbers like 5/7/8" in last


def test_a_store_that_cannot_be_written_is_one_line(empty: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    (empty.folder / "store").write_text("a file, not a folder")
    assert empty.run("build") == 1
    assert str(empty.folder / "store") in line_of(capsys)
