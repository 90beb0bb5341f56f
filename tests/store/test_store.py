"""The store: whole files or none, damage named, one builder an edition."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import time
from pathlib import Path

import polars as pl
import pytest

from pipeline.store import FolderBlobs, RemoteBlobs, Store, StoreError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(params=["folder", "memory"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    blobs = None if request.param == "folder" else f"memory://{tmp_path.name}"
    return Store(tmp_path / "store", blobs=blobs)


def test_a_blob_comes_back_by_the_hash_of_its_bytes(any_store: Store) -> None:
    sha256 = any_store.blobs.put(b"evidence")
    assert sha256 == hashlib.sha256(b"evidence").hexdigest()
    assert any_store.blobs.has(sha256)
    assert any_store.blobs.put(b"evidence") == sha256
    assert any_store.blobs.get(sha256) == b"evidence"


def test_a_missing_blob_is_named(any_store: Store) -> None:
    missing = "0" * 64
    assert not any_store.blobs.has(missing)
    with pytest.raises(StoreError, match=missing):
        any_store.blobs.get(missing)


def test_a_blob_whose_bytes_changed_is_never_given(store: Store) -> None:
    sha256 = store.blobs.put(b"evidence")
    place = next((store.root / "blobs").rglob(sha256[2:]))
    place.write_bytes(b"Evidence")
    with pytest.raises(StoreError, match="damaged"):
        store.blobs.get(sha256)


def test_a_damaged_blob_of_the_same_length_is_replaced_at_the_next_put(any_store: Store) -> None:
    sha256 = any_store.blobs.put(b"evidence")
    if isinstance(any_store.blobs, RemoteBlobs):
        any_store.blobs.fs.pipe_file(any_store.blobs._place(sha256), b"evidenca")
    else:
        next((any_store.root / "blobs").rglob(sha256[2:])).write_bytes(b"evidenca")
    with pytest.raises(StoreError, match="damaged"):
        any_store.blobs.get(sha256)
    any_store.blobs.put(b"evidence")
    assert any_store.blobs.get(sha256) == b"evidence"


def test_blobs_at_a_file_url_are_staged_and_renamed_as_in_a_folder(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", blobs=f"file://{tmp_path}/elsewhere")
    assert isinstance(store.blobs, FolderBlobs)
    sha256 = store.blobs.put(b"evidence")
    assert (tmp_path / "elsewhere" / sha256[:2] / sha256[2:]).read_bytes() == b"evidence"


def test_a_place_for_blobs_that_nobody_can_open_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere://"):
        Store(tmp_path, blobs="nowhere://bucket")


def test_whatever_a_file_system_raises_is_a_fault_of_the_store(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> bytes:
        raise PermissionError("expired credentials")

    if isinstance(any_store.blobs, RemoteBlobs):
        monkeypatch.setattr(any_store.blobs.fs, "cat_file", broken, raising=False)
        monkeypatch.setattr(any_store.blobs.fs, "pipe_file", broken, raising=False)
    else:
        monkeypatch.setattr(Path, "read_bytes", broken)
        monkeypatch.setattr(Path, "write_bytes", broken)
    with pytest.raises(StoreError, match="expired credentials"):
        any_store.blobs.put(b"evidence")
    with pytest.raises(StoreError):
        any_store.blobs.get("0" * 64)


def test_a_blob_cut_short_by_a_power_loss_is_written_again(store: Store) -> None:
    sha256 = store.blobs.put(b"evidence")
    next((store.root / "blobs").rglob(sha256[2:])).write_bytes(b"evi")
    store.blobs.put(b"evidence")
    assert store.blobs.get(sha256) == b"evidence"


def test_a_table_carries_its_fingerprint(store: Store) -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "hours": [1.5, None]})
    store.write_table("sample", "rows", frame, "print-1")
    assert store.read_table("sample", "rows").equals(frame)
    assert store.table_print("sample", "rows") == "print-1"
    store.write_table("sample", "rows", frame.head(1), "print-2")
    assert store.table_print("sample", "rows") == "print-2"
    assert store.read_table("sample", "rows").height == 1


def test_a_table_that_does_not_exist_has_no_fingerprint_and_is_named(store: Store) -> None:
    assert store.table_print("sample", "rows") is None
    with pytest.raises(StoreError, match="rows of sample"):
        store.read_table("sample", "rows")


@pytest.mark.parametrize("keep", [0, 4, 100, -8, -1])
def test_a_table_cut_short_is_not_trusted(store: Store, keep: int) -> None:
    place = store.write_table("sample", "rows", pl.DataFrame({"id": list(range(1000))}), "print")
    place.write_bytes(place.read_bytes()[:keep])
    assert store.table_print("sample", "rows") is None
    with pytest.raises(StoreError, match=r"rows\.parquet is damaged"):
        store.read_table("sample", "rows")


def _read_or_said(store: Store) -> str:
    try:
        store.read_table("sample", "rows")
    except StoreError as error:
        return str(error)
    return "rows.parquet read"


def test_damage_inside_a_table_never_escapes_as_a_panic(store: Store) -> None:
    place = store.write_table("sample", "rows", pl.DataFrame({"id": [f"paper-{n}" for n in range(500)]}), "print")
    whole = place.read_bytes()
    said = []
    for at in range(0, len(whole), 97):
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        said.append(_read_or_said(store))
    assert all("rows.parquet" in text for text in said)
    assert any("damaged" in text for text in said)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a\\b"])
def test_names_cannot_lead_out_of_the_store(store: Store, name: str) -> None:
    with pytest.raises(StoreError):
        store.table_path("sample", name)
    with pytest.raises(StoreError), store.lock(name):
        pass


def _hold(root: Path, ready: multiprocessing.synchronize.Event) -> None:
    with Store(root).lock("sample"):
        ready.set()
        time.sleep(60)


def test_an_edition_has_one_builder_and_the_other_is_told_who_until_it_is_killed(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=_hold, args=(store.root, ready))
    holder.start()
    try:
        assert ready.wait(30)
        with pytest.raises(StoreError, match=rf"held by process {holder.pid} on"), store.lock("sample"):
            pass
        with store.lock("other"):
            pass
        assert holder.pid is not None
        os.kill(holder.pid, signal.SIGKILL)
        holder.join(30)
        with store.lock("sample"):
            pass
    finally:
        holder.kill()
        holder.join(30)


def test_a_lock_is_free_after_an_error_inside_it(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.lock("sample"):
        raise ZeroDivisionError
    with store.lock("sample"):
        pass
