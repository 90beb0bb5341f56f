"""A store that cannot be written: what only reads it works, and what would write says so in one line."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.ledger import Ledger
from pipeline.store import Store, StoreError
from tests.e2e.tiny import Tiny, contents
from tests.faults.driving import one_line, told


@pytest.fixture
def sealed(finished: Tiny, tmp_path: Path) -> Iterator[Tiny]:
    """The finished edition, mounted read-only: chmod does not stop root."""
    place, whole = tmp_path / "sealed", finished.copy(tmp_path / "whole")
    place.mkdir()
    made = subprocess.run(["mount", "--bind", str(whole.folder), str(place)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"nothing can be mounted here ({made.stderr.decode().strip()})")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True, capture_output=True)
        yield Tiny(place)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


@pytest.mark.fault("read-only", "store")
def test_what_only_reads_works_on_a_store_that_cannot_be_written(
    sealed: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(sealed.root)
    edition, (folder,) = str(sealed.toml), sealed.releases()
    for command, expected in (
        (("status", edition), "6 decided"),
        (("sql", "select count(*) from rows", "--edition", edition), "10"),
        (("audit", "status", "--edition", edition), "6 rows in the pool: 6 decided"),
        (("audit", "export", str(tmp_path / "chains.jsonl"), "--edition", edition), "66 entries of 1 sites"),
        (("evidence", "export", str(tmp_path / "pack.zip"), "--edition", edition), "sources of 10 papers"),
        (("verify", str(folder), "--evidence", str(tmp_path / "pack.zip")), "ok"),
        (("task", str(folder), "2505.90011"), ""),
        (("inspect", str(sealed.paper("2505.90011").parent)), ""),
    ):
        code, said = told(sealed, capsys, *command)
        assert code == 0, f"{command}: {said}"
        assert expected in said
    assert contents(sealed.root) == before


@pytest.mark.fault("read-only", "store")
@pytest.mark.parametrize("command", ["build", "import"])
def test_what_would_write_says_so_in_one_line(
    command: str, sealed: Tiny, finished: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new.jsonl"
    text = (finished.folder / "decisions.jsonl").read_text(encoding="utf-8")
    new.write_text(text.replace('"ada"', '"grace"'), encoding="utf-8")
    wanted = {"build": ("build",), "import": ("audit", "import", str(new), "--edition")}[command]
    code, said = told(sealed, capsys, *wanted, str(sealed.toml))
    assert code == 1
    line = one_line(said)
    assert str(sealed.root) in line
    assert "make it writable, or name another store" in line or "make the file and its folder writable" in line


@pytest.mark.fault("read-only", "database")
def test_what_a_killed_process_left_in_the_log_is_read_or_said_and_never_left_out(
    finished: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last commits lie in SQLite's log until the last connection closes: without them the ledger would look whole,
    and shorter."""
    living, left = tmp_path / "living", tmp_path / "left"
    living.mkdir()
    shutil.copy(finished.root / "store.sqlite", living)
    writer = sqlite3.connect(living / "store.sqlite")
    writer.execute("pragma wal_autocheckpoint = 0")
    writer.execute("create table later (x)")
    writer.commit()
    shutil.copytree(living, left)  # as a kill leaves it: with its log
    writer.close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    engine = Store(left).engine
    assert len(Ledger(engine, finished.name).entries()) == len(finished.ledger())
    with engine.connect() as connection:
        assert connection.exec_driver_sql("select count(*) from later").scalar() == 0
    engine.dispose()
    (left / "store.sqlite-shm").unlink()
    with pytest.raises(StoreError, match=r"its last commits lie in store\.sqlite-wal.*make the folder writable once"):
        Store(left)
