"""Runs commands in forked children that die at a chosen moment.

A moment is one step of one write: before it, half way through it, after it. Everything is imported once, here; no
product code knows of this. Reads orders as JSON lines,

    {"arguments": […] or "page": {"root", "edition", "port"}, "environment": {…}, "log": path,
     "moment": n or null, "after": seconds or null}

and answers each with `{"pid": …}` when it has begun and `{"status", "moments", "seconds"}` when it has ended, where a
status of minus nine is a kill.
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
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster  # noqa: F401
import sqlalchemy as sa

import assets.cli
import assets.definitions
from assets.stages import code_of, stages
from pipeline import ledger, record, store
from pipeline.release import freeze
from pipeline.sources import hub_release
from tests.faults import served_page

SINGLE = (
    (store.Store, "write_table"),
    (store.FolderBlobs, "put"),
    (record.Record, "put_exchange"),
    (record.Record, "put_episode"),
    (ledger.Ledger, "append"),
    (Path, "replace"),
    (freeze, "verify"),
    (hub_release.Hub, "create"),
    (hub_release.Hub, "commit"),
    (hub_release.Hub, "tag"),
)
TORN = ((Path, "write_bytes"), (Path, "write_text"))
WRITES = ("INSERT", "UPDATE", "DELETE", "CREATE")

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


def written(kill: int | None) -> None:
    """Every statement that writes, Dagster's own among them, and every commit: between them a transaction is open."""

    def stated(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if statement.lstrip()[:6].upper() in WRITES and moment(kill):
            die()

    def committing(connection: Any) -> None:
        if moment(kill):
            die()

    sa.event.listen(sa.Engine, "before_cursor_execute", stated)
    sa.event.listen(sa.Engine, "commit", committing)


def child(order: dict[str, Any]) -> int:
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(order["environment"])
    kill = order["moment"]
    for owner, name in SINGLE:
        single(owner, name, kill)
    for owner, name in TORN:
        torn(owner, name, kill)
    written(kill)
    if order["page"] is not None:
        served_page.serve(**order["page"])
        return 0
    code = assets.cli.main(order["arguments"])
    sys.stdout.flush()
    Path(order["log"]).with_suffix(".modules").write_text("\n".join(list(sys.modules)))
    return code


def say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def main() -> None:
    for stage in stages():
        code_of(stage)  # computed here once, and found by every child
    known: set[str] = set()
    for line in sys.stdin:
        order = json.loads(line)
        counter[:8] = bytes(8)
        begun = time.monotonic()
        pid = os.fork()
        if pid == 0:
            status = 99
            try:
                status = child(order)
            finally:
                os._exit(status)
        say(pid=pid)
        if order["after"] is not None:
            signal.signal(signal.SIGALRM, lambda *_, pid=pid: os.kill(pid, signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, order["after"])
        _, status = os.waitpid(pid, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        seconds = time.monotonic() - begun
        # What a child imported on its way, later children find imported.
        listed = Path(order["log"]).with_suffix(".modules")
        if listed.exists():
            for name in sorted(set(listed.read_text().split("\n")) - known - sys.modules.keys()):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
                known.add(name)
            listed.unlink()
        say(status=os.waitstatus_to_exitcode(status), moments=int.from_bytes(counter[:8], "little"), seconds=seconds)


if __name__ == "__main__":
    main()
