"""Audit: the pool's rows with what people decided about them, out of the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from assets import classification
from assets.stages import Checked, Stage, Summary, read_rows, write_rows
from assets.workplace import Workplace
from pipeline import editions, second_readings
from pipeline.accounts import Accounts
from pipeline.audit import Audited, audit, replay
from pipeline.decisions import read_decisions
from pipeline.derivation import Derivation, Rules
from pipeline.evidence import Json, Receipt
from pipeline.ledger import Entry, Event, LedgerError, head, verify_chain
from pipeline.replacement import audited_pool
from pipeline.second_readings import Scope
from pipeline.selection import pool_settings
from pipeline.tiers import Tier

AT_ONCE = 50
"""Rows of the reserve derived at once where a tier is short."""


def import_shipped(work: Workplace) -> int:
    """Append the decisions that ship with an edition (`NAME.decisions.jsonl` beside it). Returns how many were new."""
    path = editions.data("editions", f"{work.edition.name}.decisions.jsonl")
    if not path.is_file():
        return 0
    return len(work.ledger.append(read_decisions(path.read_text(encoding="utf-8"), path.name)))


def pool(work: Workplace) -> list[Derivation]:
    """The rows people audit, cheapest first: those that were drawn, and those that entered from the reserve."""
    return [row.derivation for row in audited(work)]


def audited(work: Workplace, events: list[Event] | None = None) -> list[Audited]:
    """The pool after its decisions, cheapest first, with who entered it because of them."""
    told = work.ledger.events() if events is None else events
    drawn, entered = _audited(work, told)
    return sorted((*drawn, *entered), key=lambda a: (a.derivation.hours or 0.0, a.arxiv_id))


def _audited(work: Workplace, events: list[Event]) -> tuple[list[Audited], list[Audited]]:
    receipts: dict[str, Receipt] = {}
    rules = Rules.of(work.edition)
    about: dict[str, list[Event]] = {}
    for event in events:
        about.setdefault(event.paper, []).append(event)
    chosen = read_rows(work, "selection", status=("taken", "reserve"))
    order = pool_settings(work.edition).bands

    def found(papers: Sequence[str]) -> Iterator[Derivation]:
        """The edition is large and the pool small: only who is in it is derived again."""
        receipts.update(classification.receipts_of(work, papers))
        rows = {row.arxiv_id: row for row in classification.derivations(work, papers)}
        yield from (rows[paper] for paper in papers)

    def reserve(tier: Tier) -> Iterator[Derivation]:
        waiting = [row for row in chosen if row["status"] == "reserve" and row["tier"] == tier.value]
        ranked = sorted((order.index(row["band"]), row["reserve_rank"], row["arxiv_id"]) for row in waiting)
        for start in range(0, len(ranked), AT_ONCE):
            yield from found([paper for *_, paper in ranked[start : start + AT_ONCE]])

    drawn = list(found([row["arxiv_id"] for row in chosen if row["status"] == "taken"]))
    return audited_pool(
        drawn,
        reserve,
        work.edition,
        lambda row: audit(row, about.get(row.arxiv_id, ()), receipts, rules),
        events,
    )


def waiting(rows: list[Audited]) -> dict[str, int]:
    """How many pool rows are not decided, by state."""
    states = [row.standing.state for row in rows]
    return {state: states.count(state) for state in ("waiting", "stale", "disputed") if state in states}


def owed(work: Workplace, rows: list[Audited]) -> dict[str, Scope]:
    """Second readings that are still to be had before a freeze, by paper. Who has an auditor's account may read."""
    events = work.ledger.events()
    splits = replay(rows, work.edition, events)
    people = {one.name for one in Accounts(work.store.engine).all() if one.role == "auditor"}
    return second_readings.owed(rows, events, {*splits.eval, *splits.dev}, work.edition, people)


def run(work: Workplace, print_: str) -> Summary:
    """Tables `audited`, one line a pool row with its state and what it became, and `splits`, as they stand now."""
    events = work.ledger.events()
    drawn, entered = _audited(work, events)
    rows = [*drawn, *entered]
    splits = replay(rows, work.edition, events)
    placed = ({"arxiv_id": paper, "split": name} for name in ("eval", "dev") for paper in getattr(splits, name))
    write_rows(work, "splits", placed, ["split", "arxiv_id"], print_)
    write_rows(work, "audited", map(row_of, rows), ["arxiv_id", "state", "tier"], print_, hours=pl.Float64)
    return {
        "pool": len(rows),
        "entered from the reserve": [row.arxiv_id for row in entered],
        "eval": len(splits.eval),
        "dev": len(splits.dev),
        "decided": sum(row.standing.state == "decided" for row in rows),
        **waiting(rows),
        "overturned": sum(len(row.overturned) for row in rows),
        "events": len(events),
    }


def row_of(row: Audited) -> Json:
    return {
        "arxiv_id": row.arxiv_id,
        "state": row.standing.state,
        "tier": row.tier.value if row.tier else None,
        "hours": row.hours,
        "row_hash": row.derivation.row_hash,
        "open": dict(row.standing.open),
        "overturned": list(row.overturned),
        "excluded": row.excluded,
    }


def ledger_print(work: Workplace) -> Mapping[str, str]:
    """The state of the ledger. LedgerError where an entry was changed, removed or put in."""
    entries = work.ledger.entries()
    if problems := verify_chain(entries, work.edition.name):
        more = f" ({len(problems)} in all)" if len(problems) > 1 else ""
        raise LedgerError(
            f"the ledger of {work.edition.name} is damaged: {problems[0]}{more}; restore it from a copy before "
            "anything is built on it"
        )
    if lost := _lost(work, entries):
        place, ends = lost
        raise LedgerError(
            f"the ledger of {work.edition.name} lacks {len(ends)} entries that {place.parent.name} was frozen with, "
            f"first {ends[0][0]} {ends[0][1]}: its end was cut off, or it is another one. Restore it from a copy, or "
            f"take them back with `reclaim audit adopt` from an export; {place} holds them too"
        )
    return {"ledger": head(entries)}


def _lost(work: Workplace, entries: Sequence[Entry]) -> tuple[Path, list[tuple[str, int]]] | None:
    """Entries that the last release was frozen with and this ledger lacks. A chain without its end is a whole chain:
    only what rests on the end can tell."""
    from assets.release import versions

    frozen = versions(work)[-1:]
    place = work.store.releases / f"{work.edition.name}-v{frozen[0] if frozen else 0}" / "ledger.jsonl"
    if not place.is_file():
        return None
    try:
        told = [json.loads(line) for line in place.read_bytes().splitlines()]
        ends = {(str(line["site"]), int(line["seq"]), line["hash"]) for line in told}
    except (ValueError, KeyError, TypeError):
        return None  # the release is damaged, which is for `reclaim verify` to say
    lost = sorted(ends - {(e.site, e.seq, e.hash) for e in entries})
    return (place, [(site, seq) for site, seq, _ in lost]) if lost else None


def check(work: Workplace) -> Checked:
    """Every row of the pool is decided on its present hash."""
    rows = audited(work)
    open_ = [
        f"{r.arxiv_id}: {r.standing.state} ({', '.join(r.standing.open)})"
        for r in rows
        if r.standing.state != "decided"
    ]
    return len(rows), open_


STAGE = Stage(
    name="audit",
    after=("selection",),
    tables=("audited", "splits"),
    rules=("pipeline.audit", "pipeline.replacement"),
    parts=("audit", "rows", "splits"),
    run=run,
    check=check,
    inputs=ledger_print,
)
