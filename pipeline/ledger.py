"""The ledger in SQL: append-only, one chain a site, one table for all editions. Events are `pipeline.events`' own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    RowMapping,
    String,
    Table,
    Text,
    and_,
    func,
    insert,
    or_,
    select,
)
from sqlalchemy import event as sql_events
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.schema import DDL

from pipeline.database import Disconnected, again
from pipeline.events import Entry, Event, LedgerError, chained, fold, fold_order, genesis, head, merge, verify_chain
from pipeline.evidence import canonical

__all__ = ["Entry", "Event", "Ledger", "LedgerError", "fold", "head", "merge", "verify_chain"]

Beside = Callable[[Connection, Sequence[Entry]], None]
"""Writes that belong to an append: given its transaction and the new entries."""

TRIES = 8
"""How often an append is tried anew when another process takes the same place of the chain first."""

metadata = MetaData()
entry_table = Table(
    "ledger",
    metadata,
    Column("edition", String(128), primary_key=True),
    Column("site", String(64), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("id", String(64), nullable=False, index=True),
    Column("prev_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("paper", String(64), nullable=False, index=True),
    Column("at", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("event", Text, nullable=False),
)
for _verb in ("UPDATE", "DELETE"):
    _refuse = DDL(  # type: ignore[no-untyped-call]
        f"CREATE TRIGGER IF NOT EXISTS ledger_no_{_verb.lower()} BEFORE {_verb} ON ledger "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    )
    sql_events.listen(entry_table, "after_create", _refuse.execute_if(dialect="sqlite"))
sql_events.listen(
    entry_table,
    "after_create",
    DDL(  # type: ignore[no-untyped-call]
        "CREATE FUNCTION ledger_append_only() RETURNS trigger AS $$ "
        "BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$ LANGUAGE plpgsql; "
        "CREATE TRIGGER ledger_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger "
        "EXECUTE FUNCTION ledger_append_only()"
    ).execute_if(dialect="postgresql"),
)


def single_reads(engine: Engine) -> Engine:
    """The same database for reads of one statement each, which need no transaction: on PostgreSQL that saves the way
    there and back twice."""
    return engine.execution_options(isolation_level="AUTOCOMMIT")


class Ledger:
    """One edition's ledger in a database; appends go to `site`'s chain. Creates its table at first use."""

    def __init__(self, engine: Engine, edition: str, site: str = "main") -> None:
        self.engine, self.edition, self.site = engine, edition, site
        self._reads = single_reads(engine)
        try:
            metadata.create_all(engine, tables=[entry_table])
        except DBAPIError:  # another process made it between our look and our CREATE
            metadata.create_all(engine, tables=[entry_table])

    @again
    def entries(self) -> list[Entry]:
        """All sites' entries in fold order. Raises LedgerError where a stored entry is not what its hash says."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(entry_table).where(entry_table.c.edition == self.edition)).mappings().all()
        return fold_order(map(self._entry, rows))

    def _entry(self, row: RowMapping) -> Entry:
        try:
            return Entry.from_json({**row, "event": json.loads(row["event"])})
        except ValueError as cause:
            fault = str(cause) if isinstance(cause, LedgerError) else f"entry {row['site']} {row['seq']}: {cause}"
            raise LedgerError(
                f"the ledger of {self.edition} is damaged: {fault}; restore it from a copy before anything is built on "
                "it"
            ) from None

    @again
    def after(self, known: Mapping[str, int]) -> list[Entry]:
        """Entries behind place `known[site]` of each chain (0 where the site is not named), in fold order.

        Nothing before them can have changed, so a reader that keeps what it read needs no more than these.
        """
        site, seq = entry_table.c.site, entry_table.c.seq
        newer = [and_(site == name, seq > place) for name, place in sorted(known.items())]
        mine = and_(entry_table.c.edition == self.edition, or_(site.notin_(list(known)), *newer))
        with self._reads.connect() as connection:
            rows = connection.execute(select(entry_table).where(mine)).mappings().all()
        return fold_order(map(self._entry, rows))

    @again
    def reach(self) -> dict[str, int]:
        """The last place of each site's chain."""
        site, seq = entry_table.c.site, func.max(entry_table.c.seq)
        query = select(site, seq).where(entry_table.c.edition == self.edition).group_by(site)
        with self._reads.connect() as connection:
            return dict(tuple(row) for row in connection.execute(query))

    def events(self) -> list[Event]:
        """The events that count, in fold order; see `fold`."""
        return fold(self.entries())

    def append(self, events: Iterable[Event], beside: Beside | None = None) -> list[Entry]:
        """Add what is new to this site's chain, all or nothing, and return it; what any site holds is left out.

        `beside` writes what goes with the new entries in the same transaction; what it raises leaves nothing behind.
        Raises LedgerError for an undo of an event that this ledger does not hold or that another person made.
        """
        wanted = list({e.id: e for e in events}.values())
        for attempt in range(TRIES):
            new: list[Entry] = []
            try:
                with self.engine.begin() as connection:
                    self._wait_for_the_chain(connection)
                    new = self._append(connection, wanted)
                    if beside is not None:
                        beside(connection, new)
                return new
            except IntegrityError:
                # Another process took the same place first; its entries are read and the chain goes on behind them.
                if attempt == TRIES - 1:
                    raise
            except Disconnected:
                # The database went away: before the commit, or only before it could say that it was done.
                if self._kept(new):
                    return new
                if attempt == TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    @again
    def _kept(self, new: Sequence[Entry]) -> bool:
        """Whether these entries are in the database: they are all there, or none."""
        if not new:
            return False
        place = (entry_table.c.edition == self.edition) & (entry_table.c.site == new[-1].site)
        query = select(entry_table.c.hash).where(place & (entry_table.c.seq == new[-1].seq))
        with self.engine.connect() as connection:
            return connection.execute(query).scalar() == new[-1].hash

    def _wait_for_the_chain(self, connection: Connection) -> None:
        """Twenty people write to one chain: each waits for the one before, instead of trying until it is lucky."""
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        elif connection.dialect.name == "postgresql":
            chain = func.hashtext(f"{self.edition} {self.site}")
            connection.execute(select(func.pg_advisory_xact_lock(7338, chain)))

    def _append(self, connection: Connection, wanted: Sequence[Event]) -> list[Entry]:
        mine = entry_table.c.edition == self.edition
        named = sorted({e.id for e in wanted} | {e.undoes for e in wanted if e.undoes is not None})
        held: dict[str, str] = {}
        for start in range(0, len(named), 500):  # SQLite bounds the number of parameters of a statement
            some = mine & entry_table.c.id.in_(named[start : start + 500])
            found = connection.execute(select(entry_table.c.id, entry_table.c.event).where(some))
            held.update((id_, json.loads(text)["who"]) for id_, text in found)
        makers = held | {e.id: e.who for e in wanted}
        for one in wanted:
            if one.undoes is not None and makers.get(one.undoes) != one.who:
                raise LedgerError(
                    f"paper {one.paper}: {one.who} cannot undo {one.undoes}: no event of theirs in this ledger"
                )
        here = mine & (entry_table.c.site == self.site)
        seq = connection.execute(select(func.max(entry_table.c.seq)).where(here)).scalar() or 0
        last = connection.execute(select(entry_table.c.hash).where(here & (entry_table.c.seq == seq))).scalar()
        unseen = [one for one in wanted if one.id not in held]
        new = chained(unseen, self.site, seq, last or genesis(self.edition, self.site))
        self._insert(connection, new)
        return new

    @again
    def adopt(self, entries: Iterable[Entry]) -> list[Entry]:
        """Take over another site's chain as it is, all or nothing; returns what was new.

        Raises LedgerError where the union of both would not be whole chains.
        """
        have = self.entries()
        union = merge(have, entries)
        if problems := verify_chain(union, self.edition):
            raise LedgerError(f"the other ledger does not fit this one: {problems[0]} ({len(problems)} in all)")
        known = {(e.site, e.seq) for e in have}
        new = [e for e in union if (e.site, e.seq) not in known]
        with self.engine.begin() as connection:
            self._insert(connection, new)
        return new

    def _insert(self, connection: Connection, entries: Sequence[Entry]) -> None:
        rows = [
            {
                **{k: v for k, v in e.to_json().items() if k != "event"},
                "edition": self.edition,
                "paper": e.event.paper,
                "at": e.event.at,
                "kind": e.event.kind,
                "event": canonical(e.event.to_json()),
            }
            for e in entries
        ]
        if rows:
            connection.execute(insert(entry_table), rows)
