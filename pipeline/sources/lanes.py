"""Lanes and leases in the record's database: what all processes of a store must know to be polite together, and to
ask nothing twice. Waits on the injected clock alone."""

from __future__ import annotations

import json
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from pipeline.database import again, writing
from pipeline.evidence import canonical
from pipeline.record import Record, write_alone
from pipeline.record_tables import lanes, leases
from pipeline.sources.clocks import Clock
from pipeline.sources.pacing import Lane, Limits, Rule, Turn, heard, held, take

T = TypeVar("T")
_BETWEEN_LOOKS = 0.25
"""Seconds between two looks at a question that another process is asking."""

# Statements of every question are built once: to build one costs more than to run it.
_BOTH = (
    sa.select(lanes.c.key, lanes.c.state)
    .where(sa.or_(lanes.c.key == sa.bindparam("host"), lanes.c.key == sa.bindparam("lane")))
    .order_by(lanes.c.key)
    .with_for_update()
)
_STATE = sa.select(lanes.c.state).where(lanes.c.key == sa.bindparam("place"))
_CHANGE = sa.update(lanes).where(lanes.c.key == sa.bindparam("place"))
_HOLDER = sa.select(leases.c.owner).where(leases.c.request == sa.bindparam("question"))
_MINE = sa.and_(leases.c.request == sa.bindparam("question"), leases.c.owner == sa.bindparam("holder"))
_PROLONG = sa.update(leases).where(_MINE)
_GIVE_BACK = sa.delete(leases).where(_MINE)


class Lanes:
    """One rhythm, one budget and one breaker for all threads and processes of a record.

    `line` keeps simulated time apart from real time. Every change is one transaction that locks the rows it reads.
    """

    def __init__(self, record: Record, clock: Clock, limits: Limits, line: str = "") -> None:
        self._record = record
        self._clock = clock
        self._limits = limits
        self._line = line
        self._lock = threading.Lock()  # threads wait here for their turn, and not each with a connection

    def wait(self, rule: Rule, before: Callable[[float], None] = lambda until: None) -> Turn:
        """Take the next free moment of a lane and sleep till then, or say that it is left alone for now.

        `before` hears of a wait before it begins. A hold that comes in the meantime is waited out too.
        """
        while True:
            turn = self._change(rule, lambda host, lane: take(host, lane, rule, self._now(), self._limits))
            if not turn.waits:
                return turn
            before(turn.until)
            self._clock.sleep(turn.waits)
            if self.state(rule.lane).until <= self._now():
                return turn

    def hold(self, rule: Rule, seconds: float, why: str) -> None:
        """The host said "not now": nobody asks in this lane before `seconds` from now."""
        until = self._now() + seconds
        self._change(rule, lambda host, lane: (host, held(lane, until, why), None))

    def heard(self, rule: Rule, *, failed: bool) -> None:
        """Whether the host answered at all; worth saying where it did not, or where it had failed before."""
        now = self._now()
        self._change(rule, lambda host, lane: (heard(host, failed, now, self._limits), lane, None))

    @again
    def state(self, key: str) -> Lane:
        with self._record.engine.connect() as connection:
            found = connection.execute(_STATE, {"place": self._line + key}).scalar()
        return _lane(found)

    def held_until(self, rule: Rule) -> datetime | None:
        """Until when this lane is held, or None where it is not."""
        until = self.state(rule.lane).until
        return datetime.fromtimestamp(until, UTC) if until > self._now() else None

    def _now(self) -> float:
        return self._clock.now().timestamp()

    @again
    def _change(self, rule: Rule, change: Callable[[Lane, Lane], tuple[Lane, Lane, T]]) -> T:
        """Apply a rule to host and lane as they are now. Where they are one row, its halves do not touch."""
        host_key, lane_key = self._line + rule.host, self._line + rule.lane
        with self._lock, writing(self._record.engine) as connection:
            if connection.dialect.name == "sqlite":  # which locks no rows
                write_alone(connection)
            known = self._known(connection, host_key, lane_key)
            if len(known) < len({host_key, lane_key}):
                rows = [{"key": key, "state": "{}"} for key in sorted({host_key, lane_key})]
                connection.execute(self._record.insert(lanes).values(rows).on_conflict_do_nothing())
                known = self._known(connection, host_key, lane_key)
            host, lane, result = change(known[host_key], known[lane_key])
            if host_key == lane_key:
                host = Lane(
                    **{**asdict(lane), "failures": host.failures, "rests": host.rests, "rest_until": host.rest_until}
                )
            for key, state in {lane_key: lane, host_key: host}.items():
                if state != known[key]:
                    connection.execute(_CHANGE, {"place": key, "state": canonical(asdict(state))})
        return result

    def _known(self, connection: sa.Connection, host_key: str, lane_key: str) -> dict[str, Lane]:
        found = connection.execute(_BOTH, {"host": host_key, "lane": lane_key})
        return {key: _lane(text) for key, text in found}


def _lane(text: str | None) -> Lane:
    value = json.loads(text or "{}")
    return Lane(**{**value, "counts": tuple((place, count) for place, count in value.get("counts", ()))})


class Leases:
    """Who is asking a question now. A lease runs out; that of a dead process of this machine is taken over at once."""

    def __init__(self, record: Record, clock: Clock, line: str = "") -> None:
        self._record = record
        self._clock = clock
        self._line = line
        self._owner = f"{_machine()} {os.getpid()} {uuid.uuid4().hex}"
        upsert = record.insert(leases)
        mine = {name: upsert.excluded[name] for name in ("owner", "until")}
        # Nobody's, run out (`now`), or that of an owner who is dead.
        free = sa.or_(leases.c.until <= sa.bindparam("now"), leases.c.owner == sa.bindparam("dead"))
        self._upsert = upsert.on_conflict_do_update(index_elements=["request"], set_=mine, where=free).returning(
            leases.c.owner
        )

    @contextmanager
    def asking(self, request: str, seconds: float) -> Iterator[Callable[[float], None]]:
        """Hold the question while it is asked, waiting for whoever asks it now. Gives a function that prolongs the
        hold until `seconds` after a moment, for waits before the next try."""
        key = self._line + request
        while not self._taken(key, seconds):
            self._clock.sleep(_BETWEEN_LOOKS)
        try:
            yield lambda at: self._prolong(key, at + seconds)
        finally:
            self._give_back(key)

    @again
    def _give_back(self, key: str) -> None:
        with writing(self._record.engine) as connection:
            connection.execute(_GIVE_BACK, {"question": key, "holder": self._owner})

    def _taken(self, key: str, seconds: float) -> bool:
        holder = self._take(key, seconds)
        if holder != self._owner and _dead(holder):
            holder = self._take(key, seconds, dead=holder)
        return holder == self._owner

    @again
    def _take(self, key: str, seconds: float, dead: str = "") -> str:
        """Take the lease where it is free; returns who holds it now."""
        now = self._clock.now().timestamp()
        mine = {"request": key, "owner": self._owner, "until": now + seconds}
        with writing(self._record.engine) as connection:
            taken = connection.execute(self._upsert, {**mine, "now": now, "dead": dead}).scalar()
            return taken or connection.execute(_HOLDER, {"question": key}).scalar() or ""

    @again
    def _prolong(self, key: str, until: float) -> None:
        with writing(self._record.engine) as connection:
            connection.execute(_PROLONG, {"question": key, "holder": self._owner, "until": until})


def _machine() -> str:
    """This host and its process numbers: containers may share a name, and count their processes apart."""
    try:
        return f"{socket.gethostname()}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _dead(owner: str) -> bool:
    """Whether an owner was a process of this machine that is no more. Of other machines nothing is known."""
    parts = owner.split(" ")
    if len(parts) != 3 or parts[0] != _machine():
        return False
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError):
        return False
    return False
