"""A disk that is full ends a command with what to do; once there is room, the same command ends as if nothing was."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from assets import release
from assets.stages import prints
from assets.workplace import workplace
from pipeline.events import verify_chain
from pipeline.record import Record
from pipeline.store import Store, StoreError
from tests.e2e import tiny
from tests.e2e.tiny import Tiny, contents
from tests.faults.driving import drive, one_line, told

SEED = 2025


def started(finished: Tiny, folder: Path) -> Tiny:
    """World, edition and decisions of the finished edition, and a store that is still to be made."""
    folder.mkdir()
    for name in ("world", "tiny.toml", "decisions.jsonl"):
        place = finished.folder / name
        shutil.copytree(place, folder / name) if place.is_dir() else shutil.copy(place, folder)
    return Tiny(folder)


def ended(one: Tiny) -> str | None:
    """Run what is stale; what a failure said, or None for the end."""
    try:
        drive(one)
    except StoreError as failure:
        return str(failure)
    return None


def leftovers(root: Path) -> list[Path]:
    return list(root.rglob("*.part"))


# Real disks


class Disk:
    """A file system of its own, of a few kilobytes."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True)
        if made.returncode:
            pytest.skip(f"no file system can be mounted here ({made.stderr.decode().strip()})")

    def room(self, kilobytes: int) -> None:
        options = f"remount,size={kilobytes}k"
        subprocess.run(["mount", "-o", options, str(self.place)], check=True, capture_output=True)

    def used(self) -> int:
        found = os.statvfs(self.place)
        return (found.f_blocks - found.f_bfree) * found.f_frsize // 1024

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.place)], check=True, capture_output=True)


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Callable[[str], Disk]]:
    made: list[Disk] = []

    def disk(name: str) -> Disk:
        made.append(Disk(tmp_path / name))
        return made[-1]

    yield disk
    for one in made:
        one.close()


@pytest.mark.slow
@pytest.mark.fault("disk full", "a whole build")
def test_a_build_on_a_disk_that_fills_again_and_again_ends_in_the_same_release(
    finished: Tiny,
    tmp_path: Path,
    disks: Callable[[str], Disk],
    capsys: pytest.CaptureFixture[str],
    record_property: Callable[[str, object], None],
) -> None:
    """Room comes in portions that were drawn, each too little for the rest. Dagster's runs lie on a disk of their own,
    which is full first."""
    one, draw = started(finished, tmp_path / "tiny"), random.Random(SEED)
    disk, runs = disks("disk"), disks("runs")
    one.root.symlink_to(disk.place)
    (disk.place / "dagster").symlink_to(runs.place)
    decisions = ("audit", "import", str(one.folder / "decisions.jsonl"), "--edition", str(one.toml))
    room, failures, imported, told_of = 64, 0, False, set()
    while True:
        code, said = told(one, capsys, *(("build", str(one.toml)) if imported else decisions))
        assert leftovers(disk.place) == []
        if code == 0 and imported:
            break
        if code == 0:
            imported = True
            assert len(one.ledger()) == len(finished.ledger())
            continue
        failures += 1
        assert failures < 40, said
        assert code in (1, tiny.EXIT_BLOCKED), said
        last = [line for line in said.splitlines() if line.startswith(("reclaim: ", "blocked: "))][-1]
        assert re.search(r"make room .*disk|make room there", last), said
        assert str(disk.place) in last.replace(str(one.root), str(disk.place)), said
        assert not imported or verify_chain(one.ledger(), one.name) == []
        assert not (disk.place / "releases" / "tiny-v1").exists()
        if "Dagster cannot keep its runs" in last:
            runs.room(32 * 1024)
            told_of.add("runs")
        else:
            room = max(room, disk.used()) + draw.randrange(600, 2000)
            disk.room(room)
            told_of.add("store")
    assert told_of == {"runs", "store"}
    assert failures >= 3
    assert contents(one.root / "releases") == contents(finished.root / "releases")
    record_property("cases", failures)


# The same, injected: wherever tests run


def full_after(monkeypatch: pytest.MonkeyPatch, below: Path, writes: int, code: int = errno.ENOSPC) -> list[int]:
    """From the `writes`-th write of a file below a folder on, only half of it fits. Returns a counter of writes."""
    whole, count = Path.write_bytes, [0]

    def written(self: Path, data: bytes) -> int:
        if self.is_relative_to(below):
            count[0] += 1
            if count[0] > writes:
                whole(self, bytes(data)[: len(data) // 2])
                raise OSError(code, os.strerror(code))  # as write() does: without the file's name
        return whole(self, data)

    monkeypatch.setattr(Path, "write_bytes", written)
    return count


@pytest.mark.slow
@pytest.mark.fault("disk full", "release folder")
def test_a_freeze_that_finds_no_room_leaves_nothing_and_is_made_later(
    copy: Tiny, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    before = contents(copy.root / "releases")
    (folder,) = copy.releases()
    shutil.rmtree(folder)
    draw, cases = random.Random(SEED), 2
    with workplace(str(copy.toml), copy.root, say=lambda line: None) as work:
        print_ = prints(work)["release"]
        for after in draw.sample(range(len(before)), cases):
            with monkeypatch.context() as patched:
                full_after(patched, copy.root / "releases", after)
                with pytest.raises(StoreError, match=re.escape(f"{folder} cannot be written (No space left")) as told_:
                    release.run(work, print_)
            assert "make room on that disk; the same command goes on from there" in str(told_.value)
            assert list((copy.root / "releases").iterdir()) == []
        release.run(work, print_)
    assert contents(copy.root / "releases") == before
    record_property("cases", cases)


@pytest.mark.slow
@pytest.mark.fault("disk full", "blobs and tables")
def test_a_build_without_room_for_its_files_goes_on_where_it_stopped(
    finished: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """At each attempt one folder takes only so many files as were drawn: blobs of papers and pages, tables, release."""
    one, draw = started(finished, tmp_path / "tiny"), random.Random(SEED)
    assert one.run("audit", "import", str(one.folder / "decisions.jsonl"), "--edition", str(one.toml)) == 0
    most = {"blobs": 5, "tables": 4, "registered": 1, "releases": 40}
    cases = ("tables", "blobs", "registered", "blobs", "tables", "releases")
    for folder in cases:
        with monkeypatch.context() as patched:
            code = draw.choice([errno.ENOSPC, errno.EDQUOT, errno.EIO])
            full_after(patched, one.root / folder, draw.randrange(most[folder]), code)
            said = ended(one)
        assert said is not None
        place = re.escape(str(one.root / folder))
        assert re.search(rf"^{place}/\S+ cannot be written \(.*\); (make room|mend)", said), said
        assert leftovers(one.root) == []
    drive(one)
    assert contents(one.root / "releases") == contents(finished.root / "releases")
    record_property("cases", len(cases))


@pytest.mark.fault("disk full", "ledger")
def test_a_full_database_takes_all_of_an_import_or_none_and_says_what_to_do(
    finished: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself says that it is full: it may have no more pages than it has."""
    one = started(finished, tmp_path / "tiny")
    decisions = ("audit", "import", str(one.folder / "decisions.jsonl"), "--edition", str(one.toml))
    assert one.run("audit", "status", "--edition", str(one.toml)) == 1  # makes the ledger's table
    assert one.ledger() == []
    with monkeypatch.context() as patched:
        _no_more_pages(patched, 4)
        line = one_line(told(one, capsys, *decisions)[1])
    assert f"database {one.root / 'store.sqlite'}: database or disk is full; make room on its disk" in line
    assert "the same command goes on from there" in line
    assert one.ledger() == []
    code, said = told(one, capsys, *decisions)
    assert (code, len(one.ledger())) == (0, len(finished.ledger())), said


@pytest.mark.slow
@pytest.mark.fault("disk full", "record")
def test_a_full_record_blames_no_paper_and_loses_no_answer(
    finished: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """At each attempt the database may grow by as many pages as were drawn."""
    one, draw, failures = started(finished, tmp_path / "tiny"), random.Random(SEED), 0
    assert one.run("audit", "import", str(one.folder / "decisions.jsonl"), "--edition", str(one.toml)) == 0
    Record(one.store.engine)  # makes its tables
    seen = 0
    while True:
        with monkeypatch.context() as patched:
            _no_more_pages(patched, draw.randrange(12, 35))
            said = ended(one)
        if said is None:
            break
        assert "store.sqlite: database or disk is full; make room on its disk" in said
        failures += 1
        assert failures < 60
        assert one.count("sightings") >= seen
        seen = one.count("sightings")
    assert failures >= 2
    assert contents(one.root / "releases") == contents(finished.root / "releases")
    # Nothing that was kept is asked again; an answer that had no room may have been half of what a look needed.
    assert 0 <= one.count("sightings") - finished.count("sightings") <= failures
    record_property("cases", failures)


def _no_more_pages(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    """Every store opened from now on may grow by so many pages in all."""
    made = Store.__init__
    most: dict[Path, int] = {}

    def limited(self: Store, root: Path, *given: str | None) -> None:
        made(self, root, *given)

        @sa.event.listens_for(self.engine, "connect")
        def limit(connection: object, _: object) -> None:
            (now,) = connection.execute("pragma page_count").fetchone()  # type: ignore[attr-defined]
            connection.execute(f"pragma max_page_count = {most.setdefault(root, now + more)}")  # type: ignore[attr-defined]

    monkeypatch.setattr(Store, "__init__", limited)
