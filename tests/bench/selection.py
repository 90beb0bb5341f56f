"""How fast selection is on a million rows, as a ratio to the same rule in plain Python.

``PYTHONPATH=. python tests/bench/selection.py`` prints both times and the ratio. It fails only if the
two ways choose different papers.
"""

import random
import time
from collections import defaultdict

import polars as pl

from pipeline.selection import SelectionSettings, largest_remainder, select_frame
from pipeline.tiers import SELECTABLE

ROWS = 1_000_000
SETTINGS = SelectionSettings(200, (8, 32, 96, 192), (5, 7, 8, 5))


def synthetic(rows: int) -> pl.DataFrame:
    """Papers with log-normal hours over the whole ladder and beyond, in no order."""
    rng = random.Random(1)
    return pl.DataFrame(
        {
            "arxiv_id": [f"{2500 + i // 100_000}.{i % 100_000:05d}" for i in rng.sample(range(rows), rows)],
            "tier": rng.choices([t.value for t in SELECTABLE], k=rows),
            "hours": [rng.lognormvariate(2.0, 2.0) for _ in range(rows)],
        }
    )


def in_plain_python(rows: list[tuple[str, str, float]]) -> list[str]:
    """Sort everything, then walk each tier from the dearest band down."""
    edges, weights = SETTINGS.edges, SETTINGS.weights
    strata: dict[tuple[str, int], list[tuple[float, str]]] = defaultdict(list)
    for hours, arxiv_id, tier in sorted((h, i, t) for i, t, h in rows):
        place = next((k for k, edge in enumerate(edges) if hours <= edge), None)
        if place is not None:
            strata[tier, place].append((hours, arxiv_id))
    chosen = []
    for tier, quota in zip(SELECTABLE, largest_remainder(SETTINGS.total, [1] * len(SELECTABLE)), strict=True):
        carried = 0
        taken: list[tuple[float, str]] = []
        for place, share in reversed(list(enumerate(largest_remainder(quota, weights)))):
            got = strata[tier.value, place][: share + carried]
            carried = share + carried - len(got)
            taken += got
        rest = sorted(set().union(*(strata[tier.value, k] for k in range(len(edges)))) - set(taken)) if carried else []
        chosen += taken + rest[:carried]
    return [arxiv_id for _, arxiv_id in sorted(chosen)]


def main() -> None:
    frame = synthetic(ROWS)
    rows = list(frame.iter_rows())
    start = time.perf_counter()
    selected = select_frame(frame, SETTINGS).ids
    middle = time.perf_counter()
    plain = in_plain_python(rows)
    end = time.perf_counter()
    if selected != plain:
        raise SystemExit("the frame and plain Python chose different papers")
    ours, theirs = middle - start, end - middle
    print(f"{len(selected)} of {ROWS:,}: frame {ours:.2f} s, plain Python {theirs:.2f} s, ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
