"""Where things lie: tables (Parquet), record and ledger (SQL), blobs (content-addressed), releases.

Everything is written beside its place and renamed, so a kill never leaves a half-written file under a whole file's
name.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from filelock import FileLock, Timeout

from pipeline.database import engine_at
from pipeline.files import READ_ONLY, StoreError, json_object, unwritable, write

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Blobs", "FolderBlobs", "RemoteBlobs", "Store", "StoreError", "blobs_at", "damaged"]

# polars and fsspec are imported where they are used: whoever wants the record or a lock need not wait for them.

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PRINT_KEY, _TABLE_KEY = "reclaim.print", "reclaim.table"


def _checked(kind: str, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise StoreError(f"{kind} {name!r} is not a plain name (letters, digits, '.', '_', '-')")
    return name


class Blobs(Protocol):
    """Bytes by their SHA-256, as 64 hex digits."""

    def put(self, data: bytes) -> str:
        """Keep the bytes, whole or not at all. What lies damaged in their place is replaced."""
        ...

    def get(self, sha256: str) -> bytes:
        """The bytes, hashed again on the way out. StoreError where they are missing or are not what their name says."""
        ...

    def has(self, sha256: str) -> bool: ...


class FolderBlobs:
    """Blobs in a local folder, two hex digits a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def _place(self, sha256: str) -> Path:
        return self.root / sha256[:2] / sha256[2:]

    def put(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        place = self._place(sha256)
        if not self._holds(place, data):
            write(place, data)  # a full disk is a StoreError, and no paper's fault
        return sha256

    def _holds(self, place: Path, data: bytes) -> bool:
        """A power cut leaves a file of another length, a failing disk one of other bytes: neither counts."""
        try:
            return place.stat().st_size == len(data) and place.read_bytes() == data
        except OSError:
            return False

    def get(self, sha256: str) -> bytes:
        place = self._place(sha256)
        try:
            data = place.read_bytes()
        except FileNotFoundError:
            raise StoreError(f"blob {sha256} is not in {self.root}; fetch it again or restore the folder") from None
        except OSError as cause:
            raise StoreError(f"blob {place} is damaged ({cause}); delete it and fetch it again") from cause
        return _verified(sha256, data, str(place))

    def has(self, sha256: str) -> bool:
        return self._place(sha256).exists()


class RemoteBlobs:
    """Blobs in any fsspec file system whose single-object writes are atomic (`s3://bucket/prefix`, `memory://x`). Where
    they are not, half a blob is damaged: found at its next reading, and replaced."""

    def __init__(self, url: str) -> None:
        import fsspec

        try:
            self.fs, self.root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as cause:
            raise StoreError(f"blobs at {url}: {cause}; install what it needs, or name another place") from None

    def _place(self, sha256: str) -> str:
        return f"{self.root}/{sha256[:2]}/{sha256[2:]}"

    def put(self, data: bytes) -> str:
        """Always written: to look whether the same bytes lie there already costs as much."""
        sha256 = hashlib.sha256(data).hexdigest()
        with self._named(sha256):
            self.fs.makedirs(f"{self.root}/{sha256[:2]}", exist_ok=True)
            self.fs.pipe_file(self._place(sha256), data)
        return sha256

    def get(self, sha256: str) -> bytes:
        with self._named(sha256):
            data: bytes = self.fs.cat_file(self._place(sha256))
        return _verified(sha256, data, self._place(sha256))

    def has(self, sha256: str) -> bool:
        with self._named(sha256):
            return bool(self.fs.exists(self._place(sha256)))

    @contextmanager
    def _named(self, sha256: str) -> Iterator[None]:
        """What a file system raises, as a StoreError that says where: each has exceptions of its own."""
        try:
            yield
        except FileNotFoundError:
            raise StoreError(f"blob {sha256} is not in {self.root}; fetch it again or restore it") from None
        except Exception as cause:
            said = f"{type(cause).__name__}: {cause}"[:300]
            raise StoreError(f"blob {sha256}: {self.root} does not answer as it should ({said})") from cause


def blobs_at(place: str | Path) -> Blobs:
    """Blobs in a folder (a path, or a `file://` URL), or at any other fsspec URL."""
    if isinstance(place, Path) or "://" not in place:
        return FolderBlobs(Path(place))
    if place.startswith(("file://", "local://")):
        return FolderBlobs(Path(place.split("://", 1)[1]))
    return RemoteBlobs(place)


def _verified(sha256: str, data: bytes, place: str) -> bytes:
    if hashlib.sha256(data).hexdigest() != sha256:
        raise StoreError(f"blob {place} is damaged (its bytes do not hash to its name); delete it and fetch it again")
    return data


class Store:
    """One folder, or one folder plus a PostgreSQL database and an object store.

    `database_url`: any SQLAlchemy URL; default a SQLite file (WAL) in `root`. `blobs`: an fsspec URL; default
    `root/blobs`.
    """

    def __init__(self, root: Path, database_url: str | None = None, blobs: str | None = None) -> None:
        self.root = Path(root)
        self.releases = self.root / "releases"
        self.dagster_home = self.root / "dagster"
        for folder in (self.root / "tables", self.releases, self.root / "locks"):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as cause:
                if cause.errno not in READ_ONLY or not self.root.is_dir():  # a store may be there to be read alone
                    raise unwritable(folder, cause) from cause
        self.blobs: Blobs = blobs_at(blobs or self.root / "blobs")
        self.engine = engine_at(database_url or f"sqlite:///{self.root / 'store.sqlite'}")

    @classmethod
    def open(cls, root: Path) -> Store:
        """The store of this machine: `RECLAIM_DATABASE` and `RECLAIM_BLOBS` say where SQL and blobs lie, if not in
        `root`."""
        return cls(root, os.environ.get("RECLAIM_DATABASE"), os.environ.get("RECLAIM_BLOBS"))

    # Tables

    def table_path(self, edition: str, name: str) -> Path:
        return self.root / "tables" / _checked("edition", edition) / f"{_checked('table', name)}.parquet"

    def write_table(self, edition: str, name: str, frame: pl.DataFrame, print_: str) -> Path:
        """Write a table with its fingerprint inside the same file, so that one rename makes both true at once."""
        place, made = self.table_path(edition, name), io.BytesIO()
        frame.write_parquet(made, metadata={_PRINT_KEY: print_, _TABLE_KEY: f"{edition}/{name}"})
        write(place, made.getvalue())  # ourselves: polars says of a full disk now this, now that
        return place

    def read_table(self, edition: str, name: str) -> pl.DataFrame:
        place = self.table_path(edition, name)
        if not place.exists():
            raise StoreError(f"table {name} of {edition} does not exist ({place}); build the stage that makes it")
        import polars as pl

        try:
            is_of = pl.read_parquet_metadata(place).get(_TABLE_KEY)
            frame = pl.read_parquet(place, use_pyarrow=False, memory_map=False)
        except BaseException as cause:  # polars panics (a BaseException) on some damaged files
            raise damaged(place, cause) from cause
        if is_of != f"{edition}/{name}":
            raise damaged(place, ValueError(f"it says that it is {is_of or 'none of ours'}"))
        return frame

    def table_print(self, edition: str, name: str) -> str | None:
        """The fingerprint written with the table, or None where there is no table, not a whole one, or another's."""
        place = self.table_path(edition, name)
        if not place.exists():
            return None
        import polars as pl

        try:
            told = pl.read_parquet_metadata(place)
        except BaseException as cause:
            damaged(place, cause)
            return None
        return told.get(_PRINT_KEY) if told.get(_TABLE_KEY) == f"{edition}/{name}" else None

    # Registration

    def register(self, edition: str, hash_: str) -> None:
        """Fix an edition's settings before its first episode. StoreError where they were fixed otherwise."""
        place = self.root / "registered" / f"{_checked('edition', edition)}.json"
        if place.exists():
            mend = f"restore it from a copy, or delete it to register the settings that {edition} has now"
            known = json_object(place, mend).get("edition_hash")
            if known != hash_:
                raise StoreError(
                    f"edition {edition} was registered with settings {str(known)[:12]} before its first episode and "
                    f"has {hash_[:12]} now; give the changed settings a name of their own (extends = {edition!r}), or "
                    f"delete {place} and what was built on it"
                )
            return
        write(place, json.dumps({"edition": edition, "edition_hash": hash_}))

    # One builder an edition

    @contextmanager
    def lock(self, edition: str) -> Iterator[None]:
        """Hold the edition for this process; StoreError says who holds it otherwise. The OS frees it when we are
        killed."""
        place = self.root / "locks" / f"{_checked('edition', edition)}.lock"
        holder = place.with_suffix(".holder")
        lock = FileLock(place, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            try:
                who = json.loads(holder.read_text())
                said = f"process {who['pid']} on {who['host']}"
            except (OSError, ValueError, KeyError, TypeError):
                said = "another process"
            raise StoreError(f"edition {edition} is held by {said} ({place}); wait for it or stop it") from None
        except OSError as cause:
            raise unwritable(place, cause) from cause
        try:
            write(holder, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
            yield
        finally:
            with suppress(OSError):  # whose lock it was matters only while the lock is held
                holder.unlink(missing_ok=True)
            lock.release()


def damaged(place: Path, cause: BaseException) -> StoreError:
    """A StoreError about a table; what is not about the file (Ctrl-C, exit) is raised on."""
    if isinstance(cause, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
        raise cause
    first = str(cause).splitlines()[0][:200] if str(cause) else type(cause).__name__
    return StoreError(f"table {place} is damaged ({first}); delete it and build again")
