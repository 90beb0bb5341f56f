"""Audit: the pool's rows with what people decided about them, out of the ledger."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assets import classification
from assets.stages import Checked, Stage, Summary, read_rows, write_rows
from assets.workplace import Workplace
from pipeline import editions, second_readings
from pipeline.accounts import Accounts
from pipeline.audit import Audited, audit, replay
from pipeline.decisions import read_decisions
from pipeline.derivation import Derivation, Rules
from pipeline.evidence import Json
from pipeline.ledger import Event, LedgerError, head, verify_chain
from pipeline.second_readings import Scope


def import_shipped(work: Workplace) -> int:
    """Append the decisions that ship with an edition (`NAME.decisions.jsonl` beside it). Returns how many were new."""
    path = editions.data("editions", f"{work.edition.name}.decisions.jsonl")
    if not path.is_file():
        return 0
    return len(work.ledger.append(read_decisions(path.read_text(encoding="utf-8"), path.name)))


def pool(work: Workplace) -> list[Derivation]:
    """The rows people audit, cheapest first."""
    chosen = [row["arxiv_id"] for row in read_rows(work, "selection") if row["status"] == "taken"]
    found = {d.arxiv_id: d for d in classification.derivations(work)}
    return sorted((found[i] for i in chosen), key=lambda d: (d.hours or 0.0, d.arxiv_id))


def audited(work: Workplace, events: list[Event] | None = None) -> list[Audited]:
    """The pool after its decisions."""
    receipts = classification.receipts_of(work)
    told = work.ledger.events() if events is None else events
    return [audit(row, told, receipts, Rules.of(work.edition)) for row in pool(work)]


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
    """Table `audited`: one line a pool row, with its state and what it became."""
    rows = audited(work)
    write_rows(work, "audited", map(row_of, rows), ["arxiv_id", "state", "tier"], print_, hours=pl.Float64)
    return {
        "pool": len(rows),
        "decided": sum(row.standing.state == "decided" for row in rows),
        **waiting(rows),
        "overturned": sum(len(row.overturned) for row in rows),
        "events": len(work.ledger.events()),
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
    return {"ledger": head(entries)}


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
    tables=("audited",),
    rules=("pipeline.audit",),
    parts=("audit", "rows"),
    run=run,
    check=check,
    inputs=ledger_print,
)
