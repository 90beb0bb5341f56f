"""Starts builds in forked children that kill themselves at a chosen moment.

A moment is one step of one write: before it, half way through it, after it. Everything is imported once, here; no
product code knows of this. Reads orders as JSON lines, `{"arguments": […], "kill": n or null, "log": path}`; answers
`{"status": …, "moments": …}`, where a status of minus nine is a kill.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import mmap
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster  # noqa: F401

import assets.cli
import assets.definitions
from assets.stages import code_of, stages
from pipeline import ledger, record, store
from pipeline.release import freeze

SINGLE = (
    (store.Store, "write_table"),
    (store.FolderBlobs, "put"),
    (record.Record, "put_exchange"),
    (record.Record, "put_receipt"),
    (record.Record, "put_episode"),
    (ledger.Ledger, "append"),
    (Path, "replace"),
    (freeze, "verify"),
)
TORN = ((Path, "write_bytes"), (Path, "write_text"))

counter = mmap.mmap(-1, 8)
lock = threading.Lock()


def moment(kill: int | None) -> bool:
    """Count one moment; True where this is the one to die at."""
    with lock:
        now = int.from_bytes(counter[:8], "little")
        counter[:8] = (now + 1).to_bytes(8, "little")
    return kill is not None and now == kill


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def single(owner: Any, name: str, kill: int | None) -> None:
    whole: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(whole)
    def wrapped(*given: Any, **named: Any) -> Any:
        if moment(kill):
            die()
        result = whole(*given, **named)
        if moment(kill):
            die()
        return result

    setattr(owner, name, wrapped)


def torn(owner: Any, name: str, kill: int | None) -> None:
    whole: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(whole)
    def wrapped(self: Path, data: Any, *given: Any, **named: Any) -> Any:
        if moment(kill):
            whole(self, data[: len(data) // 2], *given, **named)
            die()
        return whole(self, data, *given, **named)

    setattr(owner, name, wrapped)


def child(order: dict[str, Any]) -> None:
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    for owner, name in SINGLE:
        single(owner, name, order["kill"])
    for owner, name in TORN:
        torn(owner, name, order["kill"])
    code = assets.cli.main(order["arguments"])
    sys.stdout.flush()
    Path(order["log"]).with_suffix(".modules").write_text("\n".join(list(sys.modules)))
    os._exit(code)


def main() -> None:
    for stage in stages():
        code_of(stage)  # computed here once, and found by every child
    learnt = False
    for line in sys.stdin:
        counter[:8] = bytes(8)
        pid = os.fork()
        if pid == 0:
            try:
                child(json.loads(line))
            finally:
                os._exit(99)
        _, status = os.waitpid(pid, 0)
        if not learnt and (listed := Path(json.loads(line)["log"]).with_suffix(".modules")).exists():
            # What the first whole build imported on its way, later children find imported.
            learnt = True
            for name in listed.read_text().split("\n"):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        moments = int.from_bytes(counter[:8], "little")
        print(json.dumps({"status": os.waitstatus_to_exitcode(status), "moments": moments}), flush=True)


if __name__ == "__main__":
    main()
