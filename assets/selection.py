"""Selection: the pool that people audit, with a reason for every sampled paper, and the ranked reserve."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from assets import classification
from assets.stages import Stage, Summary, write_rows
from assets.workplace import Workplace
from pipeline.derivation import Derivation
from pipeline.selection import Candidate, Selection, pool


def candidate(found: Derivation) -> Candidate:
    return Candidate(
        arxiv_id=found.arxiv_id,
        tier=found.tier,
        hours=found.hours,
        needs_paid_api=bool(found.inputs.paid_api),
        excluded=found.ineligible[0] if found.ineligible else None,
    )


def select(work: Workplace) -> Selection:
    return pool([candidate(d) for d in classification.derivations(work)], work.edition)


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


STAGE = Stage(
    name="selection",
    after=("classification",),
    tables=("strata", "selection"),
    rules=("pipeline.selection", "pipeline.derivation"),
    parts=("selection", "rows"),
    run=run,
    libraries=("polars",),
)
