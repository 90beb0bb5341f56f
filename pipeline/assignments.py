"""Who reads which row.

A row has two places: a first reader and, where a second reading is due (`second_readings`), a second one who works
blind of the first. Readers take a place when they begin; the database lets one reader into a place. Nothing of this is
a decision, so it lies beside the ledger, not in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import sqlalchemy as sa

from pipeline.database import steady
from pipeline.ledger import single_reads
from pipeline.record import stamp
from pipeline.second_readings import Row, Scope, lot

State = Literal["taken", "parked", "left", "conflict"]
FIRST, SECOND = 1, 2

metadata = sa.MetaData()
readings = sa.Table(
    "audit_readings",
    metadata,
    sa.Column("edition", sa.String(128), primary_key=True),
    sa.Column("paper", sa.String(64), primary_key=True),
    sa.Column("row_hash", sa.String(64), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("turn", sa.Integer, primary_key=True),
    sa.Column("who", sa.String(100), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("at", sa.String(32), nullable=False),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Who is in one place of a row, or was there last."""

    paper: str
    row_hash: str
    place: int
    who: str
    state: State
    scope: Scope

    @property
    def held(self) -> bool:
        return self.state in ("taken", "parked")


class Taken(Exception):
    """Another reader is in that place already."""


def next_for(
    me: str,
    rows: Sequence[Row],
    places: Iterable[Place],
    scopes: Mapping[str, str],
    finished: Collection[tuple[str, str]],
    seed: str,
) -> tuple[Row, int] | None:
    """The row a person reads next and their place in it, or None when nothing is left for them.

    What they began comes first. Then comes the free place in the stratum where they hold the smallest share, second
    readings before first ones of the same stratum; ties by lot, so that the order says nothing about a row. `finished`:
    pairs of paper and reader. Papers they parked or have a conflict with are passed over.
    """
    now = {(p.paper, p.row_hash, p.place): p for p in places}
    of_row: dict[tuple[str, str], list[Place]] = {}
    for one in now.values():
        of_row.setdefault((one.paper, one.row_hash), []).append(one)
    conflicts = {p.paper for p in now.values() if p.who == me and p.state == "conflict"}
    order = {paper: n for n, paper in enumerate(lot((r.paper for r in rows), seed + me))}
    sizes = Counter(r.stratum for r in rows)
    mine: Counter[tuple[str, str]] = Counter()
    begun: list[tuple[Row, int]] = []
    free: list[tuple[Row, int]] = []
    for row in rows:
        there = of_row.get((row.paper, row.row_hash), [])
        own = [p for p in there if p.who == me and p.held]
        if own:
            mine[row.stratum] += 1
            if own[0].state == "taken" and (row.paper, me) not in finished:
                begun.append((row, own[0].place))
        elif row.paper not in conflicts:
            holders = {p.place for p in there if p.held}
            if FIRST not in holders:
                free.append((row, FIRST))
            elif SECOND not in holders and scopes.get(row.paper):
                free.append((row, SECOND))
    if begun:
        return min(begun, key=lambda found: order[found[0].paper])
    if not free:
        return None
    return min(free, key=lambda f: (mine[f[0].stratum] / sizes[f[0].stratum], -f[1], order[f[0].paper]))


def latest(turns: Iterable[Place]) -> list[Place]:
    """Who is in each place, or was there last."""
    return list({(p.paper, p.row_hash, p.place): p for p in turns}.values())


def conflicts(turns: Iterable[Place]) -> set[tuple[str, str]]:
    """Pairs of paper and person that do not go together, whatever happened to the row since."""
    return {(p.paper, p.who) for p in turns if p.state == "conflict"}


@steady
class Assignments:
    """The places of one edition, appended to and never changed; the latest turn of a place says who is in it."""

    def __init__(self, engine: sa.Engine, edition: str) -> None:
        self.engine, self.edition, self._reads = engine, edition, single_reads(engine)
        self._held: list[Place] = []
        try:
            metadata.create_all(engine)
        except sa.exc.DBAPIError:  # another process made it between our look and our CREATE
            metadata.create_all(engine)

    def turns(self) -> list[Place]:
        """Every turn of every place there ever was, in order; read again where there are more."""
        mine = readings.c.edition == self.edition
        with self._reads.connect() as connection:
            count = connection.execute(sa.select(sa.func.count()).where(mine)).scalar() or 0
            if count != len(self._held):
                query = sa.select(readings).where(mine).order_by(readings.c.turn)
                self._held = [_place(row) for row in connection.execute(query).mappings()]
        return self._held

    def places(self) -> list[Place]:
        """The latest turn of every place."""
        return latest(self.turns())

    def conflicts(self) -> set[tuple[str, str]]:
        return conflicts(self.turns())

    def take(self, row: Row, place: int, who: str, scope: Scope, at: datetime) -> None:
        """Enter a place. Raises Taken where somebody else is in it; one's own place is kept."""
        last, turn = self._last(row, place)
        if last is not None and last.held:
            if last.who == who and last.state == "taken":
                return
            if last.who != who:
                raise Taken(f"{row.paper} is being read by another person")
        self._write(row, place, turn + 1, who, "taken", scope, at)

    def change(self, row: Row, place: int, who: str, state: State, at: datetime) -> None:
        """Park a place one is in, or leave it. Raises Taken where somebody else is in it."""
        last, turn = self._last(row, place)
        if last is not None and last.held and last.who != who:
            raise Taken(f"{row.paper} is being read by another person")
        self._write(row, place, turn + 1, who, state, "full" if last is None else last.scope, at)

    def _last(self, row: Row, place: int) -> tuple[Place | None, int]:
        here = (
            (readings.c.edition == self.edition)
            & (readings.c.paper == row.paper)
            & (readings.c.row_hash == row.row_hash)
            & (readings.c.place == place)
        )
        query = sa.select(readings).where(here).order_by(readings.c.turn.desc()).limit(1)
        with self._reads.connect() as connection:
            found = connection.execute(query).mappings().one_or_none()
        return (None, 0) if found is None else (_place(found), int(found["turn"]))

    def _write(self, row: Row, place: int, turn: int, who: str, state: State, scope: Scope, at: datetime) -> None:
        line = {
            "edition": self.edition,
            "paper": row.paper,
            "row_hash": row.row_hash,
            "place": place,
            "turn": turn,
            "who": who,
            "state": state,
            "scope": scope,
            "at": stamp(at),
        }
        try:
            with self.engine.begin() as connection:
                connection.execute(sa.insert(readings).values(line))
        except sa.exc.IntegrityError:
            raise Taken(f"{row.paper} was taken by another person just now") from None


def _place(row: sa.RowMapping) -> Place:
    return Place(
        paper=row["paper"],
        row_hash=row["row_hash"],
        place=row["place"],
        who=row["who"],
        state=row["state"],
        scope=row["scope"],
    )
