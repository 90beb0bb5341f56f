"""`reclaim status`: what of an edition is done, and what waits for whom, until when. Reads the store, asks nobody."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

import polars as pl
import sqlalchemy as sa

from assets.stages import UNFINISHED, Stage, stages
from assets.workplace import Workplace
from pipeline.record import Record
from pipeline.record_tables import lanes
from pipeline.sources.budget import duration
from pipeline.store import damaged

_SHOWN = 8
"""Hosts and reasons that are named one by one."""


def text(work: Workplace) -> str:
    """Each stage of the edition, then what waits in the store."""
    edition = work.edition
    lines = [f"{edition.conference} {edition.year} ({edition.name})"]
    lines += [f"  {stage.name:<16}{_state(work, stage):<16}{_counts(work, stage)}".rstrip() for stage in stages()]
    return "\n".join([*lines, *_waiting(work), *_sent(work.record)])


def _state(work: Workplace, stage: Stage) -> str:
    made = [work.store.table_print(work.edition.name, table) for table in stage.tables]
    if all(print_ is None for print_ in made):
        return "not yet"
    whole = all(print_ is not None and not print_.endswith(UNFINISHED) for print_ in made)
    return "done" if whole else "not finished"


def _counts(work: Workplace, stage: Stage) -> str:
    """What a stage came to, in words: rows of its tables, and why others are not among them."""
    match stage.name:
        case "corpus":
            said = [_rows(work, "index", "in the index"), _rows(work, "papers", "papers")]
            return _joined(*said, _reasons(work, "corpus_exclusions"))
        case "bundles":
            return _joined(_rows(work, "bundles", "fetched"), _reasons(work, "bundle_exclusions"))
        case "classification":
            looked = len(work.record.episode_keys(work.edition.name))
            episodes = f"{looked:,} episodes recorded" if looked else ""
            tiers = _reasons(work, "rows", "tier")
            return _joined(episodes, f"tiers: {tiers}" if tiers else "", _reasons(work, "classification_exclusions"))
        case "selection":
            return _reasons(work, "selection", "status")
        case "audit":
            return _reasons(work, "audited", "state")
    found = [path for path in work.store.releases.glob(f"{work.edition.name}-v*") if path.is_dir()]
    return f"{len(found)} frozen" if found else ""


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _table(work: Workplace, name: str) -> pl.LazyFrame | None:
    """A table as it lies there, or None where there is none that can be read."""
    if work.store.table_print(work.edition.name, name) is None:
        return None
    return pl.scan_parquet(work.store.table_path(work.edition.name, name))


@contextmanager
def _named(work: Workplace, table: str) -> Iterator[None]:
    """What polars raises over a damaged table, as a StoreError that names it."""
    try:
        yield
    except BaseException as cause:  # it panics on some
        raise damaged(work.store.table_path(work.edition.name, table), cause) from cause


def _rows(work: Workplace, table: str, what: str) -> str:
    frame = _table(work, table)
    if frame is None:
        return ""
    with _named(work, table):
        return f"{frame.select(pl.len()).collect().item():,} {what}"


def _reasons(work: Workplace, table: str, column: str = "reason") -> str:
    frame = _table(work, table)
    if frame is None:
        return ""
    with _named(work, table):
        if column not in frame.collect_schema():
            return ""
        counted = frame.group_by(column).len().sort(["len", column], descending=[True, False]).collect()
    return ", ".join(
        f"{count:,} {str(reason or 'undetermined').replace('_', ' ')}" for reason, count in counted.iter_rows()
    )


# --------------------------------------------------------------------------------------------------------- what waits


def _waiting(work: Workplace) -> list[str]:
    """Hosts that said "not now", and questions that had no certain answer."""
    now = work.clock.now()
    line = "offline:" if work.offline else "live:"
    lines = []
    for lane, until, why in held(work.record, now, line):
        left = duration((until - now).total_seconds())
        lines.append(f"  {lane} waits until {_moment(until)} ({left}; {why or 'its own words'})")
    waiting = work.record.waiting(now, line)
    due = [w for w in waiting if w.due(now)]
    later = [w.not_before for w in waiting if w.not_before is not None and not w.due(now)]
    given_up = [w for w in waiting if w.not_before is None]
    if due:
        lines.append(f"  {_questions(len(due))} may be asked again now: build again")
    if later:
        first, last = _moment(min(later)), _moment(max(later))
        lines.append(f"  {_questions(len(later))} put off to a later day, from {first} to {last}")
    if given_up:
        lines.append(f"  {_questions(len(given_up))} given up until the next refresh, and undetermined till then")
    reasons = Counter(w.reason for w in waiting)
    lines += [f"    {count:,} {reason}" for reason, count in _largest(reasons)]
    return ["", *(lines or ["  nothing waits"])]


def _questions(count: int) -> str:
    return f"{count:,} question{'' if count == 1 else 's'}"


def held(record: Record, now: datetime, line: str) -> list[tuple[str, datetime, str]]:
    """Lanes that are held or left alone after `now`: which, until when, and why."""
    query = sa.select(lanes.c.key, lanes.c.state).where(lanes.c.key.startswith(line, autoescape=True))
    with record.engine.connect() as connection:
        rows = connection.execute(query.order_by(lanes.c.key)).all()
    found = []
    for key, state in rows:
        told: Mapping[str, float | str] = json.loads(state)
        until = max(float(told.get("until") or 0), float(told.get("rest_until") or 0))
        if until > now.timestamp():
            name = key.removeprefix(line).partition("#")[0]
            found.append((name, datetime.fromtimestamp(until, UTC), str(told.get("why") or "")))
    return found


def _sent(record: Record) -> list[str]:
    totals = record.totals()
    if not totals.all.requests:
        return []
    hosts = Counter({host: total.requests for host, total in totals.hosts.items()})
    named = ", ".join(f"{host} {count:,}" for host, count in _largest(hosts))
    rest = len(hosts) - min(len(hosts), _SHOWN)
    return [
        f"  {totals.all.requests:,} requests sent from this store: {named}" + (f", {rest} more hosts" if rest else "")
    ]


def _largest(counted: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
