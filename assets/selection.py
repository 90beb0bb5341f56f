"""Selection: the pool that people audit, with a reason for every sampled paper, and the ranked reserve."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from assets.stages import Checked, Stage, Summary, read_rows, write_rows
from assets.workplace import Workplace
from pipeline.evidence import Json
from pipeline.selection import Candidate, Selection, pool
from pipeline.tiers import Tier


def select(work: Workplace) -> Selection:
    return pool(map(_candidate, read_rows(work, "rows")), work.edition)


def _candidate(row: Json) -> Candidate:
    """As `pipeline.replacement.candidate` of the derivation that the row was written from."""
    tier, why = row["tier"], row["ineligible"]
    return Candidate(row["arxiv_id"], Tier(tier) if tier else None, row["hours"], row["needs_paid_api"], *why[:1])


def run(work: Workplace, print_: str) -> Summary:
    """Tables `selection` (every row of the sample, with its reason) and `strata`."""
    chosen = select(work)
    rows = chosen.rows.to_dicts()
    write_rows(
        work, "strata", (asdict(s) | {"inclusion": s.inclusion} for s in chosen.strata), ["tier", "band"], print_
    )
    write_rows(work, "selection", rows, ["arxiv_id", "tier", "band", "status", "reason"], print_, hours=pl.Float64)
    short = {tier.value: n for tier, n in chosen.shortfall.items() if n}
    return {
        "pool": len(chosen.ids),
        "reserve": len(chosen.reserve),
        "excluded": len(chosen.excluded),
        "short": short,
        "strata": [
            {"tier": s.tier.value, "band": s.band, "supply": s.supply, "quota": s.quota, "taken": s.taken}
            for s in chosen.strata
        ],
    }


def check(work: Workplace) -> Checked:
    """The pool is full: a tier without supply ships short, and says so here."""
    chosen = select(work)
    short = [f"{tier.value}: {n} fewer than its quota" for tier, n in chosen.shortfall.items() if n]
    return len(chosen.ids), short


STAGE = Stage(
    name="selection",
    after=("classification",),
    tables=("strata", "selection"),
    rules=("pipeline.selection",),
    parts=("selection", "rows"),
    run=run,
    check=check,
    libraries=("polars",),
)
