"""Work orders: what a process needs to read its share of the papers with nothing but the record and the blobs.

The builder's tables lie in its own folder. An order is a blob, named by its hash, with the edition's settings, the
share's papers, and what this share may take of time and money. Whoever opens one where code, settings or world differ
refuses: the episodes would not be those that the build waits for.
"""

from __future__ import annotations

import importlib.util
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from assets import bundles, corpus, episodes
from assets.episodes import Item
from assets.workplace import Say, Workplace, opened
from pipeline import editions
from pipeline.editions import EditionError
from pipeline.evidence import Json, canonical
from pipeline.fingerprints import remember
from pipeline.record import stamp, unstamp
from pipeline.record_tables import turns
from pipeline.store import Blobs, Store, StoreError

if TYPE_CHECKING:
    from classifiers.budget import Budget, Spent

T = TypeVar("T")
DASK = "dask:"
LEAST = 60
"""Papers that are worth a process of their own: to start one takes as long as to read some of them."""
MOST = 1_000
"""Shares of one build: each is a step that Dagster keeps account of."""


class OrderError(Exception):
    """An order that cannot be carried out here; the message says what differs, and what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One share of an edition's readings, the first ones or a later `look` at them.

    `edition` is told as by `Edition.told`, `hash` its hash, `code` as of `episodes.code_of`. `world`: what the world
    answers, `world_print` the print it goes by in keys, `sources_print` that of its sources. `now`: when the look
    began, by the clock of its world. `deadline`: UTC, as the record stamps it, or None. `budget` bounds what this
    share's papers cost beyond `paid`, the requests, tokens and money that the record had for them before; None where
    nothing is paid for.
    """

    edition: Json
    hash: str
    code: str
    world: str
    world_print: str
    sources_print: str
    run: str
    look: int
    now: str
    deadline: str | None
    budget: Json | None
    accepted: tuple[str, ...]
    paid: Json
    papers: tuple[Json, ...]

    def to_bytes(self) -> bytes:
        return zlib.compress(canonical(asdict(self)).encode(), 6)

    @classmethod
    def from_bytes(cls, data: bytes) -> Order:
        """Raises OrderError for an order of another version."""
        try:
            told = json.loads(zlib.decompress(data))
            return cls(**{**told, "accepted": tuple(told["accepted"]), "papers": tuple(told["papers"])})
        except (zlib.error, ValueError, TypeError, KeyError) as fault:
            raise OrderError(f"this work order cannot be read here ({fault}); install the build's version") from None


# ----------------------------------------------------------------------------------------------------------- the rules


def shares(things: Sequence[T], parts: int) -> list[list[T]]:
    """All things, each in exactly one share, in order; no share is larger than another by more than one."""
    return [list(things[part::parts]) for part in range(parts)]


def split(budget: Budget, spent: Spent, seconds: float, parts: int) -> Budget:
    """What each of `parts` shares may spend of what is left: together never more than that. Time passes for all of them
    at once, so its rest is not divided.
    """
    from classifiers.budget import Budget
    from classifiers.prices import MICRO

    def part(bound: int | None, used: int) -> int | None:
        return None if bound is None else max(0, bound - used) // parts

    micro = part(budget.micro_usd, spent.micro_usd)
    return Budget(
        requests=part(budget.requests, spent.requests),
        tool_calls=part(budget.tool_calls, spent.tool_calls),
        tokens=part(budget.tokens, spent.tokens),
        seconds=None if budget.seconds is None else max(0.0, budget.seconds - seconds),
        usd=None if micro is None else micro / MICRO,
    )


def division(environ: Mapping[str, str]) -> tuple[int | None, str]:
    """In how many shares a build reads, and by which executor: RECLAIM_SHARDS (None where nothing is said) and
    RECLAIM_EXECUTOR. Raises EditionError for what is no such thing.
    """
    text, executor = environ.get("RECLAIM_SHARDS", ""), environ.get("RECLAIM_EXECUTOR") or "multiprocess"
    if executor not in ("in-process", "multiprocess") and not executor.startswith(f"{DASK}tcp://"):
        raise EditionError(f"executor {executor!r}: give in-process, multiprocess or dask:tcp://HOST:PORT")
    if executor.startswith(DASK):
        _shared()
    if text and not (text.isdecimal() and 1 <= int(text) <= MOST):
        raise EditionError(f"shards: {text!r} is no number from 1 to {MOST}")
    if executor.startswith(DASK) and not text:
        raise EditionError("executor dask: say in how many parts with --shards, as two to four for each worker process")
    return int(text) if text else None, executor


def parts_of(work: Workplace, papers: int) -> int:
    """In how many shares so many papers are read. Where nothing is said, one a core if the processor is all that
    readings wait for, each large enough.
    """
    told, _ = division(work.environ)
    waits_for_processor = work.offline and work.edition.classifier.model == "embedded"
    alone = cores() if waits_for_processor else 1
    return min(papers, told) if told is not None else max(1, min(alone, papers // LEAST))


def _shared() -> None:
    """What workers on other machines need of the builder. Raises EditionError."""
    if importlib.util.find_spec("dagster_dask") is None:
        raise EditionError("executor dask needs the extra `machines`: pip install 'reclaim[machines,postgres]'")
    shared = ("RECLAIM_DATABASE", "RECLAIM_BLOBS", "RECLAIM_DAGSTER_DATABASE")
    if lacking := [name for name in shared if not os.environ.get(name)]:
        raise EditionError(f"executor dask: {', '.join(lacking)} must name what all machines reach (see many-machines)")


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ------------------------------------------------------------------------------------------------------------- writing


def write(work: Workplace, items: Sequence[Item], parts: int, look: int = 1) -> list[str]:
    """Keep the orders for a look at these papers among the blobs; returns their hashes, share by share."""
    from pipeline.sources.clocks import SystemClock

    now = SystemClock().now()
    purse = work.purse
    left = None if purse is None else asdict(split(purse.budget, purse.spent, purse.seconds(now), parts))
    paid = {} if purse is None else _paid(work)
    rest = work.minutes_left()
    hashes = []
    for share in shares(items, parts):
        papers = {item.record.arxiv_id for item in share}
        order = Order(
            edition=work.edition.told(),
            hash=work.edition.hash,
            code=episodes.code_of(work),
            world=work.world_now,
            world_print=work.world_print,
            sources_print=work.sources_print,
            run=work.run,
            look=look,
            now=stamp(work.clock.now()),
            deadline=None if rest is None else stamp(now + timedelta(minutes=rest)),
            budget=left,
            accepted=() if purse is None else tuple(sorted(purse.accepted)),
            paid=asdict(_sum(paid, papers)),
            papers=tuple(_told(item) for item in share),
        )
        hashes.append(work.store.blobs.put(order.to_bytes()))
    return hashes


def _told(item: Item) -> Json:
    return {"key": item.key, "row": bundles.bundle_row(item.bundle, item.rank, "", item.record)}


def _paid(work: Workplace) -> dict[str, Spent]:
    """What the record's turns of this edition cost, paper by paper."""
    from classifiers.budget import Spent

    names = ("input_tokens", "output_tokens", "cached_tokens", "micro_usd")
    sums = [sa.func.sum(turns.c[name]) for name in names]
    query = sa.select(turns.c.paper, sa.func.count(), *sums).where(turns.c.edition == work.edition.name)
    with work.store.engine.connect() as connection:
        rows = connection.execute(query.group_by(turns.c.paper)).all()
    return {row[0]: Spent(requests=row[1], **dict(zip(names, map(int, row[2:]), strict=True))) for row in rows}


def _sum(paid: Mapping[str, Spent], papers: set[str]) -> Spent:
    from classifiers.budget import Spent

    return sum((cost for paper, cost in paid.items() if paper in papers), Spent())


# ------------------------------------------------------------------------------------------------------------- reading


@contextmanager
def at_work(sha256: str, root: Path, say: Say) -> Iterator[tuple[Workplace, list[Item], int]]:
    """Open an order in a store of this machine: a workplace with what the order allows, its papers that the record has
    no such look at yet, and which look that is. Raises OrderError where they would be read otherwise than the build
    would read them.
    """
    store = Store.open(root)
    order = Order.from_bytes(_fetched(store.blobs, sha256))
    remember(root / "parsed.json")
    with opened(Workplace(edition=editions.retold(order.edition), store=store, say=say, run=order.run)) as work:
        if work.edition.hash != order.hash:
            raise OrderError(_differs("settings", work.edition.hash, order.hash))
        if (code := episodes.code_of(work)) != order.code:
            raise OrderError(_differs("code", code, order.code))
        if work.world_now != order.world:
            raise OrderError(_differs("world", work.world_now, order.world))
        work.world_print, work.sources_print = order.world_print, order.sources_print
        key = episodes.keys(work)
        items = []
        for paper in order.papers:
            row, bundle = paper["row"], bundles.bundle_of(paper["row"])
            if key(bundle) != paper["key"]:
                raise OrderError(_differs(f"episode of {bundle.arxiv_id}", key(bundle), paper["key"]))
            record = corpus.record_of(row["record"])
            items.append(Item(record=record, bundle=bundle, rank=row["rank"], key=paper["key"]))
        if order.deadline is not None:
            work.minutes = (unstamp(order.deadline) - datetime.now(UTC)).total_seconds() / 60
        work.started = unstamp(order.now)  # what an earlier share of this look was told, this one is not told anew
        if work.offline:
            work.clock.sleep((work.started - work.clock.now()).total_seconds())
        if order.budget is not None:
            _allow(work, order, {item.record.arxiv_id for item in items})
        yield work, [item for item in items if not episodes.looked(work, item, order.look)], order.look


def _allow(work: Workplace, order: Order, papers: set[str]) -> None:
    """Give the workplace the share's purse. What a worker that was killed had paid for these papers counts."""
    from classifiers.budget import Budget, Purse, Spent

    spent = _sum(_paid(work), papers) - Spent(**order.paid)
    work.purse = Purse(budget=Budget(**order.budget or {}), accepted=frozenset(order.accepted), spent=spent)


def _fetched(blobs: Blobs, sha256: str) -> bytes:
    try:
        return blobs.get(sha256)
    except StoreError as lost:
        raise OrderError(
            f"no work order here ({lost}); RECLAIM_BLOBS and RECLAIM_DATABASE must be those of the build"
        ) from None


def _differs(what: str, here: str, there: str) -> str:
    remedy = {
        "settings": "install the build's version of this program",
        "code": "install the build's version of this program, its libraries and its reference files",
        "world": "give this machine the build's world folder, under the same path",
    }.get(what, "install the build's version of this program")
    return f"the {what} here ({here[:12]}) is not the build's ({there[:12]}), so nothing was read; {remedy}"
