"""Selection by our rule over a polars frame, beside the same rule in DuckDB, in pandas and in plain Python.

`uv run --group bench python -m tests.bench.selection [--rows 10000 100000 1000000]`

Each engine starts from candidates in its own form (frame, table, frame, list) and has to choose the same papers; that
alone is a failure. The fastest of three turns counts, taken by turns. "polars, ours" is the product's `select_frame`:
status, reason, rank and reserve of every candidate. The others only tell who is chosen, which is less.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl

from pipeline.selection import SelectionSettings, largest_remainder, plan, select_frame
from pipeline.tiers import SELECTABLE
from tests.bench.telling import Row, options, tell

SETTINGS = SelectionSettings(200, (8, 32, 96, 192), (5, 7, 8, 5))
TIERS = [tier.value for tier in SELECTABLE]
TURNS = 3
Candidates = list[tuple[str, str, float]]


def synthetic(rows: int) -> Candidates:
    """Papers with log-normal hours over the whole ladder and beyond, in no order."""
    rng = random.Random(1)
    ids = [f"{2500 + i // 100_000}.{i % 100_000:05d}" for i in rng.sample(range(rows), rows)]
    return [(i, rng.choice(TIERS), rng.lognormvariate(2.0, 2.0)) for i in ids]


def quotas(supply: dict[tuple[str, int], int]) -> list[tuple[str, int, int]]:
    """(tier, band, how many it gives), from how many it has: the plan in plain integers, whoever counted."""
    shares = largest_remainder(SETTINGS.total, [1] * len(SELECTABLE))
    bands = range(len(SETTINGS.edges))
    return [
        (tier.value, band, stratum.taken)
        for tier, quota in zip(SELECTABLE, shares, strict=True)
        for band, stratum in enumerate(plan(tier, SETTINGS, quota, [supply.get((tier.value, b), 0) for b in bands]))
    ]


def in_polars(candidates: Candidates) -> Callable[[], list[str]]:
    frame = pl.DataFrame(candidates, schema=["arxiv_id", "tier", "hours"], orient="row")
    return lambda: select_frame(frame, SETTINGS).ids


def in_duckdb(candidates: Candidates) -> Callable[[], list[str]]:
    connection = duckdb.connect()
    frame = pl.DataFrame(candidates, schema=["arxiv_id", "tier", "hours"], orient="row")
    connection.register("given", frame.to_arrow())
    connection.execute("create table candidates as select * from given")
    band = " + ".join(f"(hours > {edge})::int" for edge in SETTINGS.edges)
    allowed = f"hours <= {SETTINGS.cap} and list_contains({TIERS}, tier)"
    counted = f"select tier, {band} as band, count(*) from candidates where {allowed} group by all"

    def chosen() -> list[str]:
        supply = {(tier, place): n for tier, place, n in connection.execute(counted).fetchall()}
        values = ", ".join(f"('{tier}', {place}, {n})" for tier, place, n in quotas(supply))
        found = connection.execute(
            f"with banded as (select *, {band} as band from candidates where {allowed}), "
            "ranked as (select *, row_number() over (partition by tier, band order by hours, arxiv_id) as rank "
            f"from banded) select arxiv_id from ranked join (values {values}) as plan(tier, band, taken) "
            "using (tier, band) where rank <= taken order by hours, arxiv_id"
        )
        return [row[0] for row in found.fetchall()]

    return chosen


def in_pandas(candidates: Candidates) -> Callable[[], list[str]]:
    import pandas as pd

    frame = pd.DataFrame(candidates, columns=["arxiv_id", "tier", "hours"])

    def chosen() -> list[str]:
        able = frame[(frame.hours <= SETTINGS.cap) & frame.tier.isin(TIERS)]
        able = able.sort_values(["hours", "arxiv_id"], kind="stable")
        able = able.assign(band=sum((able.hours > edge).astype("int8") for edge in SETTINGS.edges))
        strata = able.groupby(["tier", "band"])
        plan_ = pd.DataFrame(quotas(strata.size().to_dict()), columns=["tier", "band", "taken"])
        able = able.assign(rank=strata.cumcount() + 1)
        kept = able.merge(plan_, on=["tier", "band"], how="left")
        ids: list[str] = kept[kept["rank"] <= kept.taken].arxiv_id.to_list()
        return ids

    return chosen


def in_plain_python(candidates: Candidates) -> Callable[[], list[str]]:
    """Sort everything, then walk each tier from the dearest band down; nothing of ours but the sharing of a total."""

    def chosen() -> list[str]:
        edges, weights = SETTINGS.edges, SETTINGS.weights
        strata: dict[tuple[str, int], list[tuple[float, str]]] = defaultdict(list)
        for hours, arxiv_id, tier in sorted((h, i, t) for i, t, h in candidates):
            place = next((k for k, edge in enumerate(edges) if hours <= edge), None)
            if place is not None:
                strata[tier, place].append((hours, arxiv_id))
        found: list[tuple[float, str]] = []
        for tier, quota in zip(TIERS, largest_remainder(SETTINGS.total, [1] * len(TIERS)), strict=True):
            carried = 0
            taken: list[tuple[float, str]] = []
            for place, share in reversed(list(enumerate(largest_remainder(quota, weights)))):
                got = strata[tier, place][: share + carried]
                carried = share + carried - len(got)
                taken += got
            rest = sorted(set().union(*(strata[tier, k] for k in range(len(edges)))) - set(taken)) if carried else []
            found += taken + rest[:carried]
        return [arxiv_id for _, arxiv_id in sorted(found)]

    return chosen


ENGINES: dict[str, Callable[[Candidates], Callable[[], list[str]]]] = {
    "polars, ours": in_polars,
    "DuckDB": in_duckdb,
    "pandas": in_pandas,
    "plain Python": in_plain_python,
}


def measured(rows: int) -> list[Row]:
    candidates = synthetic(rows)
    ready = {name: prepare(candidates) for name, prepare in ENGINES.items()}
    best: dict[str, float] = dict.fromkeys(ready, float("inf"))
    answers: dict[str, Any] = {}
    for _ in range(TURNS):
        for name, chosen in ready.items():
            began = time.perf_counter()
            answers[name] = chosen()
            best[name] = min(best[name], time.perf_counter() - began)
    if any(answer != answers["plain Python"] for answer in answers.values()):
        raise SystemExit(f"engines chose different papers of {rows:,}")
    ours = best["polars, ours"]
    return [
        {"bench": "selection", "case": f"{rows:,} rows", "who": name, "rows": rows, "chosen": len(answers[name]),
         "ms": 1000 * best[name], "to_ours_times": best[name] / ours}
        for name in ENGINES
    ]  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    given = parser.parse_args()
    tell([row for rows in (given.rows[:1] if given.quick else given.rows) for row in measured(rows)], given.out)


if __name__ == "__main__":
    main()
