"""Whatever else in a store is damaged is named with a remedy, and after the remedy the release is the same."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from assets.workplace import workplace
from pipeline.ledger import Ledger, LedgerError
from pipeline.release.verify import verify
from pipeline.store import Store, StoreError
from tests.e2e import tiny
from tests.e2e.tiny import Tiny, contents
from tests.faults.driving import drive, one_line, told

SEED = 2025
Cases = Callable[[str, object], None]


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :]


# The database


@pytest.mark.fault("damaged", "database")
@pytest.mark.parametrize("hurt", ["header", "first page", "text", "empty page"])
def test_a_damaged_database_is_named_with_what_to_do(hurt: str, copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    place = copy.root / "store.sqlite"
    whole = place.read_bytes()
    place.write_bytes(
        {
            "header": flipped(whole, 3),
            "first page": whole[:100] + bytes(len(whole[100:4096])) + whole[4096:],
            "text": b"not a database, but as long as one\n" * 200,
            "empty page": whole[:100] + b"\xff" * 3996 + whole[4096:],
        }[hurt]
    )
    code, said = told(copy, capsys, "audit", "status", "--edition", str(copy.toml))
    assert code == 1
    line = one_line(said)
    assert f"database {place}" in line
    assert "restore it from a copy" in line
    place.write_bytes(whole)
    assert told(copy, capsys, "audit", "status", "--edition", str(copy.toml))[0] == 0


@pytest.mark.slow
@pytest.mark.fault("damaged", "database")
def test_a_lost_database_is_made_again_and_the_decisions_come_back_from_a_release(copy: Tiny) -> None:
    """What the message tells where there is no copy: the ledger is in every release and every export."""
    before, chains = contents(copy.root / "releases"), copy.folder / "chains.jsonl"
    assert copy.run("audit", "export", str(chains), "--edition", str(copy.toml)) == 0
    for left in copy.root.glob("store.sqlite*"):
        left.unlink()
    assert copy.run("audit", "adopt", str(chains), "--edition", str(copy.toml)) == 0
    for table in ("bundles", "rows"):
        copy.store.table_path(copy.name, table).unlink()
    drive(copy)
    assert contents(copy.root / "releases") == before


# The ledger

LEDGER_DAMAGE = {
    "an event changed": "update ledger set event = replace(event, 'read it', 'misread') where seq = 7",
    "an event of another paper": "update ledger set event = (select event from ledger where seq = 40) where seq = 7",
    "an event that is none": "update ledger set event = '{}' where seq = 7",
    "an event cut short": "update ledger set event = substr(event, 1, 40) where seq = 7",
    "a hash changed": "update ledger set hash = replace(hash, substr(hash, 1, 1), 'x') where seq = 7",
    "a link changed": "update ledger set prev_hash = hash where seq = 7",
    "one deleted": "delete from ledger where seq = 7",
    "the first deleted": "delete from ledger where seq = 1",
    "two changed places": "update ledger set seq = case seq when 7 then 107 when 8 then 7 else seq end",
    "another site's name": "update ledger set site = 'other' where seq > 30",
}


@pytest.mark.fault("damaged", "ledger")
@pytest.mark.parametrize("damage", sorted(LEDGER_DAMAGE))
def test_nothing_is_built_on_a_damaged_ledger(damage: str, finished: Tiny, tmp_path: Path) -> None:
    """Whatever changed, went or moved within a chain: the site and the entry are named."""
    root = tmp_path / "store"
    root.mkdir()
    shutil.copy(finished.root / "store.sqlite", root)
    with workplace(str(finished.toml), root, say=lambda line: None) as work:
        with work.store.engine.begin() as connection:
            for verb in ("update", "delete"):
                connection.execute(sa.text(f"drop trigger ledger_no_{verb}"))
            connection.execute(sa.text(LEDGER_DAMAGE[damage]))
        from assets.audit import ledger_print

        with pytest.raises(LedgerError, match=r"(site|entry) (main|other)"):
            ledger_print(work)


@pytest.mark.fault("damaged", "ledger")
def test_a_ledger_whose_end_was_cut_off_is_held_against_the_frozen_release(
    copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    """A chain without its end is a whole chain: that it was longer, only what was frozen from it can tell."""
    before = contents(copy.root / "releases")
    rows = copy.ledger()
    with copy.store.engine.begin() as connection:
        connection.execute(sa.text("drop trigger ledger_no_delete"))
        connection.execute(sa.text("delete from ledger where seq > 60"))
    code, said = told(copy, capsys, "build", str(copy.toml))
    assert code == 1, said
    line = one_line(said)
    assert "the ledger of tiny lacks 6 entries that tiny-v1 was frozen with, first main 61" in line
    assert "reclaim audit adopt" in line
    assert contents(copy.root / "releases") == before
    Ledger(copy.store.engine, copy.name).adopt(rows)
    drive(copy)
    assert contents(copy.root / "releases") == before


# Small files

SMALL = {
    "registered/tiny.json": "restore it from a copy, or delete it",
    "worlds/tiny.json": "delete it and build again",
}


@pytest.mark.slow
@pytest.mark.fault("damaged", "small files")
def test_a_damaged_small_file_is_named_and_its_remedy_gives_the_same_release(
    copy: Tiny, record_property: Cases
) -> None:
    before, hurts = contents(copy.root / "releases"), (b'{"edition": "ti', b"[1, 2]", b"\xff\xfe\x00")
    for name, mend in SMALL.items():
        place = copy.root / name
        for hurt in hurts:
            place.write_bytes(hurt)
            copy.store.table_path(copy.name, "rows").unlink(missing_ok=True)
            with pytest.raises(StoreError) as told_:
                drive(copy, upto="classification")
            assert f"{place} is damaged" in str(told_.value)
            assert mend in str(told_.value)
        place.unlink()
    drive(copy)
    assert contents(copy.root / "releases") == before
    record_property("cases", len(SMALL) * len(hurts))


@pytest.mark.fault("damaged", "small files")
def test_a_damaged_note_of_who_holds_an_edition_changes_nothing_but_the_words(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.lock("tiny"):
        for hurt in (b"", b"[1, 2]", b"\xff\xfe\x00", b'{"pid": 1'):
            (tmp_path / "locks" / "tiny.holder").write_bytes(hurt)
            with pytest.raises(StoreError, match="edition tiny is held by another process"), store.lock("tiny"):
                pass


def test_a_print_changed_in_the_memory_of_parsed_modules_is_not_believed(tmp_path: Path) -> None:
    """It would make every stage stale, or worse, none."""
    from pipeline import fingerprints

    place = tmp_path / "parsed.json"
    fingerprints.code_print("pipeline.tiers")
    fingerprints.keep(place)
    told_ = json.loads(place.read_text(encoding="utf-8"))
    key = sorted(told_["parsed"])[0]
    told_["parsed"][key][0] = "0" * 64
    place.write_text(json.dumps(told_), encoding="utf-8")
    known = dict(fingerprints._known)
    fingerprints.remember(place)
    assert fingerprints._known == known


@pytest.mark.slow
@pytest.mark.fault("damaged", "Dagster's files")
@pytest.mark.parametrize("name", ["dagster.yaml", "history/runs.db"])
def test_damage_to_dagsters_own_files_is_named_and_costs_only_its_history(
    name: str, copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(copy.root / "releases")
    (copy.root / "dagster" / name).write_bytes(b"\x00: [not, what it was" * 300)
    copy.store.table_path(copy.name, "release").unlink()
    code, said = told(copy, capsys, "build", str(copy.toml))
    if code != tiny.EXIT_RELEASED:
        line = one_line("\n".join(line for line in said.splitlines() if line.startswith("reclaim: ")))
        assert f"Dagster cannot keep its runs in {copy.root / 'dagster'}" in line
        assert "move that folder away" in line
        shutil.move(copy.root / "dagster", copy.folder / "old")
        code, said = told(copy, capsys, "build", str(copy.toml))
    assert code == tiny.EXIT_RELEASED, said
    assert contents(copy.root / "releases") == before


# Blobs


@pytest.mark.slow
@pytest.mark.fault("damaged", "blobs")
def test_a_damaged_blob_of_a_source_or_a_supplement_is_named_and_fetched_again(
    copy: Tiny, record_property: Cases
) -> None:
    """Each damage to a file of a paper's source and of a supplement: named where it is read; deleted with the table
    that rests on it, as good as never fetched."""
    before, draw, cases = contents(copy.root / "releases"), random.Random(SEED), 0
    hurts: tuple[Callable[[bytes], bytes], ...] = (lambda d: flipped(d, draw.randrange(len(d))), lambda d: d[:-1])
    rows = copy.rows("bundles")
    for part in ("source_files", "supplement_files"):
        files = [f["sha256"] for row in rows for f in row[part] if f["size"]]
        for hurt in hurts:
            sha256 = draw.choice(files)
            place = copy.root / "blobs" / sha256[:2] / sha256[2:]
            place.write_bytes(hurt(place.read_bytes()))
            with pytest.raises(StoreError, match=rf"blob {place} is damaged.*delete it and fetch it again"):
                copy.store.blobs.get(sha256)
            copy.store.table_path(copy.name, "bundles").unlink()
            drive(copy)
            assert copy.store.blobs.get(sha256)
            cases += 1
    assert contents(copy.root / "releases") == before
    record_property("cases", cases)


# What was given away


@pytest.mark.slow
@pytest.mark.fault("damaged", "evidence pack")
def test_a_damaged_evidence_pack_proves_nothing_and_is_named(
    finished: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Cases
) -> None:
    pack, (folder,) = tmp_path / "pack.zip", finished.releases()
    assert finished.run("evidence", "export", str(pack), "--edition", str(finished.toml)) == 0
    whole, draw = pack.read_bytes(), random.Random(SEED)
    assert verify(folder, pack).ok
    hurts = [b"", whole[: len(whole) // 2], whole[:-10], b"PK\x03\x04" + bytes(200)]
    hurts += [flipped(whole, draw.randrange(len(whole))) for _ in range(8)]
    unseen = 0
    for hurt in hurts:
        pack.write_bytes(hurt)
        report = verify(folder, pack)
        if report.ok:  # a byte of a header that says nothing, such as a date
            unseen += 1
            continue
        assert any("pack" in line or "zip" in line or "evidence" in line for line in report.lines()), report.lines()
    assert unseen <= 2
    record_property("cases", len(hurts))


@pytest.mark.slow
@pytest.mark.fault("damaged", "release folder")
def test_no_changed_byte_of_any_file_of_a_release_verifies(
    finished: Tiny, tmp_path: Path, record_property: Cases
) -> None:
    (folder,) = finished.releases()
    place, draw = tmp_path / folder.name, random.Random(SEED)
    shutil.copytree(folder, place)
    names = sorted(path.name for path in place.iterdir())
    for name in names:
        whole = (place / name).read_bytes()
        (place / name).write_bytes(flipped(whole, draw.randrange(len(whole))) if whole else b"\n")
        report = verify(place)
        assert not report.ok, name
        assert any(name in line for line in report.lines()), name
        (place / name).write_bytes(whole)
    assert verify(place).ok
    record_property("cases", len(names))
