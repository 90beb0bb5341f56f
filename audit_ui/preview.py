"""What one more answer would make of a row: tier, hours, band and place in the pool, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from audit_ui.given import Given, Pool
from pipeline import compute
from pipeline.audit import Audited, audit
from pipeline.derivation import Derivation, Rules
from pipeline.events import Event
from pipeline.replacement import candidate
from pipeline.selection import pool as select_pool


@dataclass(frozen=True, slots=True)
class State:
    tier: str
    hours: str
    band: str
    place: str
    excluded: str


def preview(given: Given, pool: Pool, row: Derivation, events: Sequence[Event], more: Event) -> tuple[State, State]:
    """The row as decided so far, and with one more answer."""
    rules = Rules.of(given.edition)
    before = audit(row, events, pool.receipts, rules)
    after = audit(row, [*events, more], pool.receipts, rules)
    return _state(given, pool, before), _state(given, pool, after)


def _state(given: Given, pool: Pool, row: Audited) -> State:
    band = compute.band(row.hours, given.edition.band_edges_hours)
    others = [candidate(one) for one in pool.sample if one.arxiv_id != row.arxiv_id]
    # An undecided row is excluded for being undecided; its place is asked for as if everything else held.
    open_ = row.standing.state != "decided"
    me = row.candidate()
    me = type(me)(me.arxiv_id, me.tier, me.hours, me.needs_paid_api, None if open_ else me.excluded)
    frame = select_pool([*others, me], given.edition).rows.filter(pl.col("arxiv_id") == row.arxiv_id)
    (place,) = frame.to_dicts()
    where = f"{place['status']}, rank {place['rank']} of its stratum" if place["rank"] else f"out: {place['reason']}"
    return State(
        tier=row.tier.value if row.tier else "undetermined",
        hours="unknown" if row.hours is None else f"{row.hours:.3g} h",
        band=band or "above every band" if row.hours is not None else "unknown",
        place=where,
        excluded="" if open_ else row.excluded or "",
    )
