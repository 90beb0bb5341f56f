"""Files written whole or not at all, small ones read back, and what helps where a file system refuses.

Everything is written beside its place and renamed, so a kill never leaves a half-written file under a whole one's name;
what fails is removed, so that a full disk is no fuller for it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_REMEDIES = {
    errno.ENOSPC: "make room on that disk; the same command goes on from there",
    errno.EDQUOT: "make room in that quota; the same command goes on from there",
    errno.EFBIG: "raise the limit on the size of files; the same command goes on from there",
    errno.EROFS: "make it writable, or name another store with --store",
    errno.EACCES: "make it writable for this user, or name another store with --store",
    errno.EPERM: "make it writable for this user, or name another store with --store",
    errno.EIO: "mend or replace that disk; the same command goes on from there",
}
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


class StoreError(Exception):
    """Something in the store is missing, damaged or held by another process; the message names the file and what to
    do."""


def remedy(cause: OSError) -> str:
    """What helps against an error of the file system, or "" where its own words have to do."""
    return _REMEDIES.get(cause.errno or 0, "")


def unwritable(place: Path, cause: OSError) -> StoreError:
    """A StoreError about a file or folder that cannot be written."""
    said = os.strerror(cause.errno) if cause.errno else str(cause)
    return StoreError(f"{place} cannot be written ({said}); {remedy(cause) or 'look at that place, and do it again'}")


def staging(place: Path) -> Path:
    """A sibling of `place` that no other thread or process uses; a left-over of a killed process is overwritten or
    ignored."""
    return place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}.part")


@contextmanager
def guarded(place: Path, staged: Path) -> Iterator[None]:
    """Around whatever makes `staged` and renames it to `place`, files or folders: StoreError where the file system
    refuses, and whatever is raised, nothing staged is left."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as cause:
        with suppress(OSError):
            shutil.rmtree(staged) if staged.is_dir() else staged.unlink(missing_ok=True)
        if isinstance(cause, OSError):
            raise unwritable(place, cause) from cause
        raise


@contextmanager
def writing(place: Path) -> Iterator[Path]:
    """Give the sibling of `place` to be written, and rename it when it is whole."""
    staged = staging(place)
    with guarded(place, staged):
        yield staged
        staged.replace(place)


def write(place: Path, data: bytes | str) -> None:
    """Write a whole file; text as UTF-8."""
    with writing(place) as staged:
        staged.write_bytes(data.encode() if isinstance(data, str) else data)


def json_object(place: Path, mend: str) -> dict[str, Any]:
    """What a small JSON file says; StoreError with `mend` where it is not what was written."""
    try:
        told = json.loads(place.read_bytes())
    except ValueError as cause:
        raise StoreError(f"{place} is damaged ({cause}); {mend}") from None
    if not isinstance(told, dict):
        raise StoreError(f"{place} is damaged (it holds no JSON object); {mend}")
    return told
