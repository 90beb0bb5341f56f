"""The record in SQL: exchanges, their sightings, receipts, episodes, model turns; what waits, and what was sent.
Bodies lie beside it, as blobs.

Every put is idempotent and commits by itself, so threads and processes may share one record and a kill loses at most
the call in hand. Times are UTC, in ISO 8601 with fixed width, so that text order is time order.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from pipeline.database import steady, writing
from pipeline.evidence import Exchange, Json, Receipt, canonical, digest
from pipeline.record_tables import episodes, exchanges, metadata, receipts, sightings, traffic, turns, waiting


def request_key(method: str, url: str, request_sha256: str | None, authenticated: bool) -> str:
    """What makes two requests the same one: an anonymous answer never stands in for one made with credentials."""
    return digest([method, url, request_sha256, authenticated])


def request_of(exchange: Exchange) -> str:
    """The key of the request that an exchange answers."""
    return request_key(exchange.method, exchange.url, exchange.request_sha256, exchange.authenticated)


def stamp(at: datetime) -> str:
    """An aware time as fixed-width UTC text."""
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone")
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def unstamp(text: str) -> datetime:
    return datetime.fromisoformat(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """When, at which attempt and by which run an exchange was seen; `headers` are the volatile ones of that answer."""

    exchange: Exchange
    seen_at: datetime
    attempt: int
    run: str
    epoch: str
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One answer of a language model. `key` is hash(model, settings, messages, tool schemas), `edition` and `paper`
    those it was first paid for; the answer is the blob `response_sha256`. Money in millionths of a dollar."""

    key: str
    edition: str
    paper: str
    model: str
    response_sha256: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    micro_usd: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """One request as a host saw it: every attempt and every redirect counts. `outcome`: answered, unchanged,
    redirected, gone, limited or failed; `size` bytes of body were read."""

    host: str
    outcome: str
    size: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A question that is not settled and was put off. `not_before` None: asked on as many days as the limits allow, and
    given up until the next refresh. `tries` counts those days. `paper` "" where no paper asked."""

    request: str
    method: str
    url: str
    paper: str
    reason: str
    epoch: str
    put_off_at: datetime
    not_before: datetime | None
    tries: int

    def due(self, now: datetime) -> bool:
        return self.not_before is not None and self.not_before <= now


@dataclass(frozen=True, kw_only=True, slots=True)
class Total:
    requests: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """What was sent, in all and by host, by paper ("" where no paper asked) and by outcome, each with its largest
    first."""

    all: Total
    hosts: Mapping[str, Total]
    papers: Mapping[str, Total]
    outcomes: Mapping[str, Total]


def _receipt_row(receipt: Receipt) -> dict[str, str]:
    return {"id": receipt.id, "paper": receipt.paper, "json": canonical(receipt.to_json())}


def write_alone(connection: sa.Connection) -> None:
    """At the beginning of a transaction: what it reads, nobody else changes before it ends. On PostgreSQL one asks for
    this lock in order to make tables; rows have locks of their own there."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7337)")


_SEEN = (
    sa.select(exchanges.c.json, sightings)
    .join(sightings, sightings.c.exchange_id == exchanges.c.id)
    .where(exchanges.c.request == sa.bindparam("asked"))
    .order_by(sightings.c.seen_at, sightings.c.attempt, sightings.c.exchange_id, sightings.c.run)
)


# Of a commit whose answer was lost, what was sent is counted twice: counts are shown, and nothing rests on them.
@steady
class Record:
    """Puts and gets over one database. Creates its tables where they are missing."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        if not metadata.tables.keys() <= set(sa.inspect(engine).get_table_names()):
            with engine.begin() as connection:
                write_alone(connection)
                metadata.create_all(connection)
        # What every question needs is built once: to build a statement costs more than to run it.
        self._put_exchange = self.insert(exchanges).on_conflict_do_nothing()
        self._put_sighting = self.insert(sightings).on_conflict_do_nothing()
        counted = self.insert(traffic)
        more = {name: traffic.c[name] + counted.excluded[name] for name in ("requests", "bytes")}
        place = [column.name for column in traffic.primary_key]
        self._put_traffic = counted.on_conflict_do_update(index_elements=place, set_=more)
        read = self.insert(receipts)
        self._put_receipt = read.on_conflict_do_update(index_elements=["id"], set_={"json": read.excluded.json})
        ended = self.insert(episodes)
        changed = {name: ended.excluded[name] for name in ("edition", "paper", "seq", "json")}
        self._put_episode = ended.on_conflict_do_update(index_elements=["key"], set_=changed)

    def insert(self, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
        """An INSERT of this database's kind, which knows ON CONFLICT."""
        if self.engine.dialect.name == "postgresql":
            return postgresql.insert(table)
        return sqlite.insert(table)

    # Exchanges and sightings

    def put_exchange(
        self,
        exchange: Exchange,
        *,
        seen_at: datetime,
        attempt: int,
        run: str,
        epoch: str,
        headers: Mapping[str, str] | None = None,
        paper: str = "",
        sent: Sequence[Sent] = (),
    ) -> None:
        """Keep an exchange and this sighting of it, and count what was `sent` for it on behalf of `paper`."""
        row = {
            "id": exchange.id,
            "request": request_of(exchange),
            "method": exchange.method,
            "url": exchange.url,
            "json": canonical(exchange.to_json()),
        }
        seen = {
            "exchange_id": exchange.id,
            "seen_at": stamp(seen_at),
            "attempt": attempt,
            "run": run,
            "epoch": epoch,
            "url": exchange.url,
            "headers": canonical(dict(headers or {})),
        }
        with writing(self.engine) as connection:
            connection.execute(self._put_exchange, row)
            connection.execute(self._put_sighting, seen)
            self._count(connection, run, paper, sent)

    def _count(self, connection: sa.Connection, run: str, paper: str, sent: Sequence[Sent]) -> None:
        sums: dict[tuple[str, str], Total] = {}
        for one in sent:
            held = sums.get((one.host, one.outcome), Total())
            sums[one.host, one.outcome] = Total(requests=held.requests + 1, bytes=held.bytes + one.size)
        for (host, outcome), total in sorted(sums.items()):  # in one order, so that no two processes wait in a ring
            row = {"run": run, "host": host[:255], "paper": paper, "outcome": outcome, **asdict(total)}
            connection.execute(self._put_traffic, row)

    def totals(self, run: str | None = None) -> Totals:
        """What was sent by one run, or by all there were."""
        query = sa.select(traffic)
        with self.engine.connect() as connection:
            rows = connection.execute(query if run is None else query.where(traffic.c.run == run)).all()

        def by(name: str) -> dict[str, Total]:
            sums: dict[str, Total] = {}
            for row in rows:
                key = str(getattr(row, name))
                held = sums.get(key, Total())
                sums[key] = Total(requests=held.requests + row.requests, bytes=held.bytes + row.bytes)
            return dict(sorted(sums.items(), key=lambda item: (-item[1].requests, item[0])))

        all_ = Total(requests=sum(row.requests for row in rows), bytes=sum(row.bytes for row in rows))
        return Totals(all=all_, hosts=by("host"), papers=by("paper"), outcomes=by("outcome"))

    # What waits

    def put_off(self, line: str, question: Waiting) -> None:
        """A question is not settled and is asked again later. A put anew replaces it."""
        row = {
            **{name: getattr(question, name) for name in ("request", "method", "url", "paper", "reason", "epoch")},
            "line": line,
            "put_off_at": stamp(question.put_off_at),
            "not_before": None if question.not_before is None else stamp(question.not_before),
            "tries": question.tries,
        }
        insert = self.insert(waiting).values(row)
        changed = {name: insert.excluded[name] for name in row if name not in ("line", "request")}
        with writing(self.engine) as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=["line", "request"], set_=changed))

    def settled(self, line: str, request: str) -> None:
        """A question has its answer and waits no longer."""
        with writing(self.engine) as connection:
            connection.execute(sa.delete(waiting).where(waiting.c.line == line, waiting.c.request == request))

    def waits(self, line: str, request: str) -> Waiting | None:
        """What is known of one question that waits."""
        found = self._waiting(sa.select(waiting).where(waiting.c.line == line, waiting.c.request == request))
        return found[0] if found else None

    def waiting(self, now: datetime, line: str = "live:") -> list[Waiting]:
        """All that waits: what is due first, then by when it is due, then what was given up. `line` is "offline:" for
        the clock of offline worlds."""
        found = self._waiting(sa.select(waiting).where(waiting.c.line == line))
        late = datetime.max.replace(tzinfo=UTC)
        return sorted(found, key=lambda w: (not w.due(now), w.not_before or late, w.paper, w.url, w.request))

    def _waiting(self, query: sa.Select[Any]) -> list[Waiting]:
        with self.engine.connect() as connection:
            rows = connection.execute(query).all()
        names = ("request", "method", "url", "paper", "reason", "epoch", "tries")
        return [
            Waiting(
                **{name: getattr(row, name) for name in names},
                put_off_at=unstamp(row.put_off_at),
                not_before=None if row.not_before is None else unstamp(row.not_before),
            )
            for row in rows
        ]

    # Answers

    def get_exchange(self, id_: str) -> Exchange | None:
        with self.engine.connect() as connection:
            text = connection.execute(sa.select(exchanges.c.json).where(exchanges.c.id == id_)).scalar()
        return None if text is None else Exchange.from_json(json.loads(text))

    def seen(self, request: str) -> list[Sighting]:
        """Every sighting of a request (see `request_key`), oldest first."""
        with self.engine.connect() as connection:
            rows = connection.execute(_SEEN, {"asked": request}).all()
        return [
            Sighting(
                exchange=Exchange.from_json(json.loads(row[0])),
                seen_at=unstamp(row.seen_at),
                attempt=row.attempt,
                run=row.run,
                epoch=row.epoch,
                headers=json.loads(row.headers),
            )
            for row in rows
        ]

    def last_seen_at(self, line: str = "") -> datetime | None:
        """When anything was last asked in epochs that begin with `line`; a simulated clock goes on from there."""
        query = sa.select(sa.func.max(sightings.c.seen_at)).where(sightings.c.epoch.startswith(line, autoescape=True))
        with self.engine.connect() as connection:
            text = connection.execute(query).scalar()
        return None if text is None else unstamp(text)

    def asked(self, epoch: str) -> int:
        """How many answers were had in an epoch, by however many runs."""
        query = sa.select(sa.func.count()).select_from(sightings).where(sightings.c.epoch == epoch)
        with self.engine.connect() as connection:
            return int(connection.execute(query).scalar() or 0)

    def seen_span(self, ids: Sequence[str]) -> tuple[datetime, datetime] | None:
        """First and last sighting of these exchanges, for the age of a receipt. None where none was ever seen."""
        query = sa.select(sa.func.min(sightings.c.seen_at), sa.func.max(sightings.c.seen_at)).where(
            sightings.c.exchange_id.in_(list(ids))
        )
        with self.engine.connect() as connection:
            first, last = connection.execute(query).one()
        return None if first is None else (unstamp(first), unstamp(last))

    # Receipts

    def get_receipt(self, id_: str) -> Receipt | None:
        with self.engine.connect() as connection:
            text = connection.execute(sa.select(receipts.c.json).where(receipts.c.id == id_)).scalar()
        return None if text is None else Receipt.from_json(json.loads(text))

    def requests_about(self, subjects: Collection[str]) -> frozenset[str]:
        """The requests (see `request_key`) that receipts about these subjects rest on."""
        wanted = set(subjects)
        with self.engine.connect() as connection:
            rows = connection.execute(sa.select(receipts.c.json)).scalars()
            found = (value for value in map(json.loads, rows) if value["subject"] in wanted)
            ids = sorted({id_ for value in found for id_ in value["exchanges"]})
            requests: set[str] = set()
            for start in range(0, len(ids), 500):
                query = sa.select(exchanges.c.request).where(exchanges.c.id.in_(ids[start : start + 500]))
                requests.update(connection.execute(query).scalars())
        return frozenset(requests)

    # Episodes

    def put_episode(
        self, key: str, *, edition: str, paper: str, seq: int, value: Json, read: Sequence[Receipt] = ()
    ) -> None:
        """Commit one episode, and the receipts `read` in it. `key` is hash(inputs, code), `seq` the paper's place in
        the sample; a put again replaces it. Facts are read from the same exchanges anew when the code that reads them
        improves: the newest reading of a receipt stays."""
        row = {"key": key, "edition": edition, "paper": paper, "seq": seq, "json": canonical(value)}
        rows = [_receipt_row(one) for one in sorted(read, key=lambda one: one.id)]  # one order: nobody waits in a ring
        with writing(self.engine) as connection:
            if rows:
                connection.execute(self._put_receipt, rows)
            connection.execute(self._put_episode, row)

    def get_episode(self, key: str) -> Json | None:
        with self.engine.connect() as connection:
            text = connection.execute(sa.select(episodes.c.json).where(episodes.c.key == key)).scalar()
        return None if text is None else json.loads(text)

    def episode_keys(self, edition: str) -> list[str]:
        """Keys of an edition's finished episodes, in sample order."""
        query = sa.select(episodes.c.key).where(episodes.c.edition == edition).order_by(episodes.c.seq, episodes.c.key)
        with self.engine.connect() as connection:
            return list(connection.execute(query).scalars())

    def get_episodes(self, keys: Iterable[str]) -> dict[str, Json]:
        """Episodes by key; a missing one is missing from the answer."""
        wanted, found = list(keys), {}
        with self.engine.connect() as connection:
            for start in range(0, len(wanted), 500):  # SQLite bounds the number of parameters of a statement
                query = sa.select(episodes.c.key, episodes.c.json).where(
                    episodes.c.key.in_(wanted[start : start + 500])
                )
                found.update({key: json.loads(text) for key, text in connection.execute(query)})
        return {key: found[key] for key in wanted if key in found}

    # Model turns

    def put_turn(self, turn: Turn) -> None:
        """Keep what was paid for. The first answer to a question stays: what was built on it must come out again."""
        with writing(self.engine) as connection:
            connection.execute(self.insert(turns).values(asdict(turn)).on_conflict_do_nothing())

    def get_turn(self, key: str) -> Turn | None:
        with self.engine.connect() as connection:
            row = connection.execute(sa.select(turns).where(turns.c.key == key)).one_or_none()
        return None if row is None else Turn(**row._mapping)

    def paid(self, edition: str) -> tuple[int, int, int, int, int]:
        """Turns, input, output and cached tokens, and micro-dollars that an edition has paid for so far."""
        counted = (turns.c.input_tokens, turns.c.output_tokens, turns.c.cached_tokens, turns.c.micro_usd)
        sums = [sa.func.coalesce(sa.func.sum(column), 0) for column in counted]
        query = sa.select(sa.func.count(turns.c.key), *sums).where(turns.c.edition == edition)
        with self.engine.connect() as connection:
            count, read, written, cached, cost = connection.execute(query).one()
        return int(count), int(read), int(written), int(cached), int(cost)
