"""Which papers: cheapest first inside a tier's compute bands, what a band cannot supply cascading to cheaper ones.

One rule, used three times: the pool from classified rows, the evaluation split from audited rows, the development split
from what is left. It works on a polars frame; the typed wrappers only build that frame. How many papers each stratum
(tier and band) gives depends on supply and quota alone, so it is settled in plain integers first; the frame then ranks
papers inside their stratum and cuts. Order is total everywhere: hours, then arXiv id, by bytes.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal

import polars as pl

from pipeline.compute import band_labels
from pipeline.editions import Edition
from pipeline.tiers import SELECTABLE, Tier

Draw = Literal["cheapest", "seeded"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A paper that might be selected. ``hours`` in H100-hours, None when unknown (never zero for unknown).

    ``excluded`` is the reason an earlier rule gave, if any: a row not verified, an answer of the audit.
    """

    arxiv_id: str
    tier: Tier | None
    hours: float | None
    needs_paid_api: bool = False
    excluded: str | None = None


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """What one use of the rule needs. ``edges`` are the bands' upper ends in H100-hours, closed, the last one the
    cap.
    """

    total: int
    edges: tuple[float, ...]
    weights: tuple[int, ...]
    tiers: tuple[Tier, ...] = SELECTABLE
    draw: Draw = "cheapest"
    seed: str = ""

    def __post_init__(self) -> None:
        if self.total < 0:
            raise ValueError(f"selection total {self.total} is negative")
        if len(self.edges) != len(self.weights):
            raise ValueError(
                f"{len(self.edges)} band edges but {len(self.weights)} band weights; give one weight a band"
            )
        if list(self.edges) != sorted(set(self.edges)) or not self.edges or self.edges[0] <= 0:
            raise ValueError(f"band edges {self.edges} do not rise from above zero")
        if min(self.weights) < 0 or sum(self.weights) == 0:
            raise ValueError(f"band weights {self.weights} must be non-negative and not all zero")
        if not self.tiers or len(set(self.tiers)) != len(self.tiers):
            raise ValueError(f"tiers {self.tiers} must be distinct and at least one")
        if self.draw == "seeded" and not self.seed:
            raise ValueError("a seeded draw needs a seed")

    @property
    def cap(self) -> float:
        return self.edges[-1]

    @property
    def bands(self) -> tuple[str, ...]:
        return band_labels(self.edges)


@dataclass(frozen=True, slots=True)
class Stratum:
    """One tier and band: what there was, what was asked for, what was taken, and what it passed on.

    ``want`` is quota plus the deficits of dearer bands; ``topped_up`` counts papers taken beyond it because every
    cheaper band had run dry; ``deficit`` is what it handed to the next cheaper band. ``inclusion`` is taken over
    supply: under a seeded draw the probability of each of its papers, under cheapest-first the share of the stratum
    that was taken.
    """

    tier: Tier
    band: str
    supply: int
    quota: int
    want: int
    taken: int
    cascaded: tuple[tuple[str, int], ...]
    topped_up: int
    deficit: int

    @property
    def inclusion(self) -> float:
        return self.taken / self.supply if self.supply else 0.0


@dataclass(frozen=True, slots=True)
class Selection:
    """The outcome. ``rows`` has every candidate once, sorted by hours (unknown last), then id, with the columns

    arxiv_id, tier, hours, band (null when excluded), status (taken | reserve | excluded), reason, rank (1-based in its
    stratum, null when excluded), reserve_rank (1-based, null unless reserve), inclusion (0 when excluded).
    """

    settings: SelectionSettings
    rows: pl.DataFrame = field(repr=False)
    strata: tuple[Stratum, ...]

    @property
    def ids(self) -> list[str]:
        return self._ids("taken")

    @property
    def reserve(self) -> list[str]:
        """Everything eligible and not taken, in the order of replacement within each stratum: tier, band, rank."""
        frame = self.rows.filter(pl.col("status") == "reserve")
        keys = [_position("tier", [t.value for t in self.settings.tiers]), _position("band", self.settings.bands)]
        return frame.sort([*keys, pl.col("reserve_rank")])["arxiv_id"].to_list()

    @property
    def excluded(self) -> list[str]:
        return self._ids("excluded")

    @property
    def reasons(self) -> dict[str, str]:
        return dict(self.rows.select("arxiv_id", "reason").iter_rows())

    @property
    def shortfall(self) -> dict[Tier, int]:
        """How many papers each tier lacks. A short tier ships short; no other tier fills it."""
        short = {}
        for tier, quota in zip(self.settings.tiers, _tier_quotas(self.settings), strict=True):
            short[tier] = quota - sum(s.taken for s in self.strata if s.tier is tier)
        return short

    def replacement(self, dropped: str, unavailable: Iterable[str] = ()) -> str | None:
        """Who takes a dropped paper's place: next by rank in its stratum, else the cheapest left of its tier.

        None when nobody of the tier is left. ``unavailable`` are ids already used or dropped: with all that were taken
        among them, the rest is the reserve.
        """
        row = self.rows.row(by_predicate=pl.col("arxiv_id") == dropped, named=True)
        left = self.rows.filter(
            pl.col("rank").is_not_null()
            & (pl.col("tier") == row["tier"])
            & ~pl.col("arxiv_id").is_in(sorted(unavailable))
        )
        same_band = left.filter(pl.col("band") == row["band"]).sort("rank")
        for choice in (same_band, left):
            if choice.height:
                return str(choice["arxiv_id"][0])
        return None

    def _ids(self, status: str) -> list[str]:
        return self.rows.filter(pl.col("status") == status)["arxiv_id"].to_list()


def largest_remainder(total: int, weights: Sequence[int]) -> list[int]:
    """Share ``total`` in proportion to integer weights, exactly; what is left over goes to the largest remainders.

    Ties go to the earlier place. Hamilton's method, in integers, so no platform rounds differently.
    """
    whole = sum(weights)
    if total < 0 or whole <= 0 or min(weights) < 0:
        raise ValueError(f"cannot share {total} by weights {list(weights)}")
    shares = [total * w // whole for w in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in by_remainder[: total - sum(shares)]:
        shares[i] += 1
    return shares


def plan(tier: Tier, settings: SelectionSettings, quota: int, supply: Sequence[int]) -> list[Stratum]:
    """How many each band of a tier gives, cheapest band first in the answer.

    The dearest band is served first. What it lacks is carried to the next cheaper one. If the cheapest still lacks, the
    cheapest papers left anywhere in the tier make up for it.
    """
    bands = settings.bands
    quotas = largest_remainder(quota, settings.weights)
    carried: list[tuple[str, int]] = []
    strata: list[Stratum] = []
    for i in reversed(range(len(bands))):
        left = supply[i] - min(supply[i], quotas[i])
        served: list[tuple[str, int]] = []
        unserved: list[tuple[str, int]] = []
        for origin, n in carried:
            got = min(left, n)
            left -= got
            if got:
                served.append((origin, got))
            if n > got:
                unserved.append((origin, n - got))
        want = quotas[i] + sum(n for _, n in carried)
        own_deficit = quotas[i] - min(supply[i], quotas[i])
        carried = unserved + ([(bands[i], own_deficit)] if own_deficit else [])
        strata.append(
            Stratum(
                tier,
                bands[i],
                supply[i],
                quotas[i],
                want,
                supply[i] - left,
                tuple(served),
                0,
                sum(n for _, n in carried),
            )
        )
    strata.reverse()
    lacking = strata[0].deficit
    for i, stratum in enumerate(strata):
        extra = min(lacking, stratum.supply - stratum.taken)
        strata[i] = replace(stratum, taken=stratum.taken + extra, topped_up=extra)
        lacking -= extra
    return strata


def select(candidates: Iterable[Candidate], settings: SelectionSettings) -> Selection:
    """Apply the rule to typed candidates; see ``select_frame``."""
    return select_frame(frame_of(candidates), settings)


def frame_of(candidates: Iterable[Candidate]) -> pl.DataFrame:
    """Candidates as the frame ``select_frame`` reads: arxiv_id, tier, hours, excluded."""
    rows = [(c.arxiv_id, c.tier.value if c.tier else None, c.hours, c.excluded) for c in candidates]
    schema = {"arxiv_id": pl.String, "tier": pl.String, "hours": pl.Float64, "excluded": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def select_frame(candidates: pl.DataFrame, settings: SelectionSettings) -> Selection:
    """Apply the rule to a frame with columns arxiv_id, tier, hours and, if an earlier rule excluded some, ``excluded``.

    The outcome does not depend on the order of the rows. A repeated id is an error.
    """
    frame = _classified(candidates, settings)
    bands = len(settings.bands)
    counts = dict(frame.drop_nulls("stratum").group_by("stratum").len().iter_rows())
    strata: list[Stratum] = []
    for i, (tier, quota) in enumerate(zip(settings.tiers, _tier_quotas(settings), strict=True)):
        strata += plan(tier, settings, quota, [counts.get(i * bands + j, 0) for j in range(bands)])
    return Selection(settings, _cut(_ranked(frame, settings, strata), strata), tuple(strata))


def pool_settings(edition: Edition) -> SelectionSettings:
    return SelectionSettings(
        edition.pool_size, edition.band_edges_hours, edition.band_weights, draw=edition.draw, seed=edition.seed
    )


def eval_settings(edition: Edition) -> SelectionSettings:
    """The pool's rule up to the split cap: dearer bands and their weights are gone."""
    return SelectionSettings(
        edition.eval_size, edition.split_edges_hours, edition.split_weights, draw=edition.draw, seed=edition.seed
    )


def dev_settings(edition: Edition) -> SelectionSettings:
    """Equal tiers and a single band: the cheapest of each tier, always cheapest-first."""
    return SelectionSettings(edition.dev_per_tier * len(SELECTABLE), (edition.split_cap_hours,), (1,))


def pool(rows: Iterable[Candidate], edition: Edition) -> Selection:
    """The papers people audit. Those that need a paid API are left out here, unless the edition says after the
    audit.
    """
    if edition.paid_api_policy == "before_pool":
        rows = _without_paid(rows)
    return select(rows, pool_settings(edition))


def split_eval(audited: Iterable[Candidate], edition: Edition) -> Selection:
    """The evaluation split, from audited rows."""
    return select(_without_paid(audited), eval_settings(edition))


def split_dev(audited: Iterable[Candidate], chosen: Iterable[str], edition: Edition) -> Selection:
    """The development split: the cheapest left in each tier once the evaluation split is chosen."""
    gone = frozenset(chosen)
    rest = (replace(c, excluded=c.excluded or "in the evaluation split") if c.arxiv_id in gone else c for c in audited)
    return select(_without_paid(rest), dev_settings(edition))


def _without_paid(rows: Iterable[Candidate]) -> Iterable[Candidate]:
    return (replace(c, excluded=c.excluded or "needs a paid or closed API") if c.needs_paid_api else c for c in rows)


def _tier_quotas(settings: SelectionSettings) -> list[int]:
    return largest_remainder(settings.total, [1] * len(settings.tiers))


def _classified(candidates: pl.DataFrame, settings: SelectionSettings) -> pl.DataFrame:
    """Candidates in their total order, each with its stratum's number (tier by tier, cheapest band first), or the

    reason why it has none.
    """
    if candidates["arxiv_id"].n_unique() != candidates.height:
        twice = candidates.filter(pl.col("arxiv_id").is_duplicated())["arxiv_id"].sort()[0]
        raise ValueError(f"paper {twice} is listed twice among the candidates; selection needs each once")
    earlier = pl.col("excluded") if "excluded" in candidates.columns else pl.lit(None, dtype=pl.String)
    hours, tier = pl.col("hours"), pl.col("tier")
    because = (
        pl.when(earlier.is_not_null())
        .then(earlier)
        .when(tier.is_null())
        .then(pl.lit("its tier is undetermined"))
        .when(~tier.is_in([t.value for t in settings.tiers]))
        .then(pl.format("its tier is {}", tier))
        .when(hours.is_null() | ~hours.is_finite() | (hours < 0))
        .then(pl.lit("its hours are unknown"))
        .when(hours > settings.cap)
        .then(pl.lit(f"its hours are above the cap of {settings.cap:g}"))
        .otherwise(None)
    )
    band = pl.sum_horizontal(
        (hours > edge).cast(pl.Int64) for edge in settings.edges
    )  # closed: an edge is still inside
    place = tier.replace_strict([t.value for t in settings.tiers], list(range(len(settings.tiers))), default=None)
    return (
        candidates.with_columns(tier.cast(pl.String), hours.cast(pl.Float64))
        .sort("hours", "arxiv_id", nulls_last=True)
        .with_columns(because.alias("because"))
        .select(
            "arxiv_id",
            "tier",
            "hours",
            "because",
            pl.when(pl.col("because").is_null())
            .then(place * len(settings.edges) + band)
            .cast(pl.Int64)
            .alias("stratum"),
        )
    )


def _ranked(frame: pl.DataFrame, settings: SelectionSettings, strata: Sequence[Stratum]) -> pl.DataFrame:
    """Add ``rank`` in the stratum: by hours and id, or by the seeded draw where a stratum holds more than is taken."""
    frame = frame.with_columns(pl.int_range(1, pl.len() + 1).alias("place"))
    if settings.draw == "seeded":
        contested = [i for i, s in enumerate(strata) if 0 < s.taken < s.supply]
        drawn = frame.filter(pl.col("stratum").is_in(contested)).select("arxiv_id", "place")
        by_lot = sorted(drawn.iter_rows(), key=lambda row: (_lot(settings.seed, row[0]), row[0]))
        # The places these papers hold are dealt out again among them, in the order of the lots.
        dealt = pl.DataFrame({"arxiv_id": [i for i, _ in by_lot], "dealt": drawn["place"]}, schema_overrides=_DEALT)
        frame = frame.join(dealt, on="arxiv_id", how="left", maintain_order="left").with_columns(
            pl.coalesce("dealt", "place").alias("place")
        )
    rank = pl.col("place").rank("ordinal").over("stratum").cast(pl.Int64)
    return frame.with_columns(pl.when(pl.col("stratum").is_not_null()).then(rank).alias("rank"))


_DEALT = {"arxiv_id": pl.String, "dealt": pl.Int64}


def _lot(seed: str, arxiv_id: str) -> bytes:
    return hashlib.sha256(f"draw:{seed}:{arxiv_id}".encode()).digest()


def _cut(ranked: pl.DataFrame, strata: Sequence[Stratum]) -> pl.DataFrame:
    """Turn ranks into status and reason by the plan: a stratum's ranks fall into consecutive runs of one reason each.

    ``ranked`` is in its final order and stays so. All runs lie on one line, stratum after stratum, so that one binary
    search finds a paper's run.
    """
    line = ranked.height + 1
    runs = [(i * line + end, reason) for i, s in enumerate(strata) for end, reason in _runs(s)]
    reasons = pl.Series("reason", [*(reason for _, reason in runs), None], dtype=pl.String)
    found = pl.Series([end for end, _ in runs], dtype=pl.Int64).search_sorted(
        ranked.select(pl.col("stratum") * line + pl.col("rank")).to_series().fill_null(len(strata) * line), side="left"
    )
    of_stratum = list(range(len(strata)))

    def looked_up(values: Sequence[object], dtype: pl.DataType | type[pl.DataType]) -> pl.Expr:
        return pl.col("stratum").replace_strict(of_stratum, values, default=None, return_dtype=dtype)

    taken = looked_up([s.taken for s in strata], pl.Int64)
    return ranked.with_columns(reasons.gather(found), taken.alias("taken")).select(
        "arxiv_id",
        "tier",
        "hours",
        looked_up([s.band for s in strata], pl.String).alias("band"),
        pl.when(pl.col("rank").is_null())
        .then(pl.lit("excluded"))
        .when(pl.col("rank") <= pl.col("taken"))
        .then(pl.lit("taken"))
        .otherwise(pl.lit("reserve"))
        .alias("status"),
        pl.coalesce(pl.format("excluded because {}", pl.col("because")), pl.col("reason")).alias("reason"),
        "rank",
        pl.when(pl.col("rank") > pl.col("taken")).then(pl.col("rank") - pl.col("taken")).alias("reserve_rank"),
        looked_up([s.inclusion for s in strata], pl.Float64).fill_null(0.0).alias("inclusion"),
    )


def _runs(s: Stratum) -> list[tuple[int, str]]:
    """The last rank of each run in the stratum, and its reason."""
    parts = [("quota", min(s.supply, s.quota))]
    parts += [(f"cascade from band {origin}", n) for origin, n in s.cascaded]
    parts += [("top-up", s.topped_up), ("reserve", s.supply - s.taken)]
    ends = accumulate(n for _, n in parts)
    return [(end, reason) for (reason, n), end in zip(parts, ends, strict=True) if n]


def _position(column: str, values: Sequence[str]) -> pl.Expr:
    return pl.col(column).replace_strict(list(values), list(range(len(values))), return_dtype=pl.Int64)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The pool as it is and as it would be under other settings, from the same rows."""

    base: Selection
    variant: Selection

    @property
    def entered(self) -> list[str]:
        before = frozenset(self.base.ids)
        return [i for i in self.variant.ids if i not in before]

    @property
    def left(self) -> list[str]:
        after = frozenset(self.variant.ids)
        return [i for i in self.base.ids if i not in after]


def what_if(rows: Callable[[Edition], Iterable[Candidate]], edition: Edition, changes: Mapping[str, object]) -> WhatIf:
    """The pool under other settings, from what is already known: no paper is read again.

    ``rows`` gives the candidates under an edition's rules, since a cap decides who is one. ``changes`` are edition
    keys, for example ``{"split_cap_hours": 24}``; contradictions raise as in an edition file.
    """
    variant = edition.variant(changes)
    return WhatIf(pool(rows(edition), edition), pool(rows(variant), variant))
