"""The SQL database of a store: how it is opened, what it says when it fails, and what is done again where it went away.

A database that is full, cannot be written, is damaged or does not answer is the store's fault and no paper's: a
`StoreError` that says what to do. Whatever else a statement can fail with stays what it is.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect, ExceptionContext

from pipeline.files import StoreError

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")

INFRASTRUCTURE: tuple[type[Exception], ...] = (StoreError, sa.exc.SQLAlchemyError, MemoryError)
"""What is no paper's fault: it ends the run, which goes on from its checkpoints once it is mended."""

PATIENCE = 30.0
"""Seconds for which a database that once answered is waited for: a server restarts in fewer."""
_BETWEEN_CONNECTS = 0.2
_TURN, _BETWEEN_TURNS = 60.0, 0.001
"""Seconds for which a turn is waited for, and between two looks at whether it has come."""
_TRIES = 4
"""How often a transaction is begun in all where the database goes away during it."""

_ON = "the same command goes on from there"
_RESTORE = (
    "restore it from a copy. Without one, move it away, build again, and take people's decisions back from a release "
    "or an export (reclaim audit adopt)"
)
_FAULTS = (
    (r"disk is full|no space left|disk full", f"make room on its disk; {_ON}"),
    (r"disk i/o error|could not (write|read|extend)", f"make room on its disk, or mend that disk; {_ON}"),
    (r"readonly database|read-only", "make the file and its folder writable, or name another store with --store"),
    (r"unable to open database file", "its folder is not there or cannot be written; make it so"),
    (r"malformed|is not a database|invalid page", _RESTORE),
    (r"database is locked", f"another process holds it for long; stop that one, or wait for it; {_ON}"),
    (r"too many (clients|connections)|connection slots", f"let it take more connections; {_ON}"),
)


class Disconnected(StoreError):
    """The database went away during a transaction, which may or may not have been kept."""


def engine_at(url: str) -> sa.Engine:
    """An engine for any SQLAlchemy URL. SQLite: in WAL mode, and read without a trace where it cannot be written."""
    if url.startswith("sqlite"):
        engine = _sqlite(url)
    else:
        engine = sa.create_engine(url, pool_pre_ping=True)
        _patient(engine)
    name = engine.url.database or url if url.startswith("sqlite") else engine.url.render_as_string()

    @sa.event.listens_for(engine, "handle_error")
    def named(context: ExceptionContext) -> StoreError | None:
        if context.is_pre_ping:
            return None  # a connection that was kept is found to be dead, and another one is made
        said = str(context.original_exception).strip().partition("\n")[0][:300]
        silent = f"database {name} does not answer ({said}); once it does, {_ON}"
        if context.is_disconnect:
            return Disconnected(silent)
        if context.connection is None and context.dialect.name != "sqlite":
            return StoreError(silent)
        found = (mend for pattern, mend in _FAULTS if re.search(pattern, said, re.IGNORECASE))
        mend = next(found, None)
        return None if mend is None else StoreError(f"database {name}: {said}; {mend}")

    return engine


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that writes often and beside others. SQLite has one writer, and who waits for it sleeps and looks
    again; here the threads and processes of a machine stand in a queue."""
    queue: _Queue | None = engine.get_execution_options().get("queue")
    if queue is None:
        with engine.begin() as connection:
            yield connection
    else:
        with queue.turn(), engine.begin() as connection:
            yield connection


class _Queue:
    """Whose turn it is to write, among threads by a lock, among processes by one on a file: the system ends that with
    its holder. Where the file cannot be had, or not in a minute, SQLite's own waiting is left, which says what holds
    it."""

    def __init__(self, place: Path) -> None:
        self._place, self._threads = place, threading.RLock()
        self._file: int | None = None
        self._within = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        until = time.monotonic() + _TURN
        if not self._threads.acquire(timeout=_TURN):
            yield
            return
        try:
            if self._within:  # the connection of a transaction that has its turn is only opened now
                yield
                return
            held, self._within = self._held(until), True
            try:
                yield
            finally:
                self._within = False
                if held is not None:
                    fcntl.flock(held, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def _held(self, until: float) -> int | None:
        try:
            if self._file is None:
                self._file = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                weakref.finalize(self, os.close, self._file)
            while time.monotonic() < until:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return self._file
                except BlockingIOError:
                    time.sleep(_BETWEEN_TURNS)
        except OSError:
            pass
        return None


def again(method: Callable[P, T]) -> Callable[P, T]:
    """A method that changes the same when it is done twice: begun anew where the database went away on the way."""

    @wraps(method)
    def patient(*given: P.args, **named: P.kwargs) -> T:
        for _ in range(_TRIES - 1):
            try:
                return method(*given, **named)
            except Disconnected:
                continue
        return method(*given, **named)

    return patient


def steady(class_: type[C]) -> type[C]:
    """A class all of whose public methods are as `again` says."""
    for name, method in list(vars(class_).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(class_, name, again(method))
    return class_


def _patient(engine: sa.Engine) -> None:
    """Wait for a server that answered before: it restarts. One that never did is not waited for."""
    answered = False

    @sa.event.listens_for(engine, "do_connect")
    def connect(dialect: Dialect, record: Any, arguments: Any, named: Any) -> Any:
        nonlocal answered
        until = time.monotonic() + PATIENCE
        while True:
            try:
                made = dialect.connect(*arguments, **named)
            except dialect.loaded_dbapi.OperationalError:
                if not answered or time.monotonic() >= until:
                    raise
                time.sleep(_BETWEEN_CONNECTS)
            else:
                answered = True
                return made


def _sqlite(url: str) -> sa.Engine:
    database = sa.make_url(url).database
    place = Path(database) if database else None
    if place is not None and place.is_file() and not os.access(place.parent, os.W_OK):
        read = _reading(place)

        def opened() -> sqlite3.Connection:
            return sqlite3.connect(read, uri=True, timeout=60, check_same_thread=False)

        return sa.create_engine(url, creator=opened)
    queue = _Queue(place.with_name(f"{place.name}-queue")) if place else None
    engine = sa.create_engine(
        url, connect_args={"timeout": 60, "check_same_thread": False}, execution_options={"queue": queue}
    )

    @sa.event.listens_for(engine, "connect")
    def pragmas(connection: Any, _: Any) -> None:
        # WAL: readers never wait for the one writer; of several who turn it on at once, all but one fail and do not
        # wait. NORMAL: a process killed loses nothing, a power cut at most the last commits.
        if queue is not None and connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            with queue.turn():
                connection.execute("PRAGMA journal_mode=WAL")
        for pragma in ("synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _reading(place: Path) -> str:
    """The address of a SQLite file in a folder that cannot be written. What a killed process left beside it is
    read too, where that can be without writing; without it the file is a state of before."""
    log, shared = (place.with_name(place.name + end) for end in ("-wal", "-shm"))
    if not log.is_file() or not log.stat().st_size:
        return f"{place.absolute().as_uri()}?immutable=1"
    if shared.is_file():
        return f"{place.absolute().as_uri()}?mode=ro"
    raise StoreError(
        f"database {place}: its last commits lie in {log.name}, which cannot be read without writing beside it; make "
        "the folder writable once, or copy it to one that is"
    )
