"""Who comes into the pool when a tier of it runs short: the next of its reserve, by rule and before the freeze.

A split takes from each tier its quota, and people find rows that cannot fill it. What a tier can count on are its
decided rows that may enter a split and its undecided ones by what the classifier says of them. While that is fewer than
both splits need, the next of the tier's reserve enters the pool and asks for an audit: cheapest band first, by rank in
it. A drop leaves its gap, as a drop does; a replaced row counts no longer. The outcome follows from rows, edition and
ledger alone, so that an undone decision also takes back whom it called in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pipeline.audit import Audited
from pipeline.derivation import Derivation
from pipeline.editions import Edition
from pipeline.events import Event
from pipeline.selection import Candidate, eval_settings, largest_remainder
from pipeline.tiers import SELECTABLE, Tier


def audited_pool(
    drawn: Iterable[Derivation],
    reserve: Callable[[Tier], Iterable[Derivation]],
    edition: Edition,
    judged: Callable[[Derivation], Audited],
    events: Iterable[Event],
) -> tuple[list[Audited], list[Audited]]:
    """The drawn pool and who entered after it, both after their decisions, the latter in the order of entry.

    `reserve` gives a tier's eligible rows that were not drawn, in the order of replacement; it is asked where a tier is
    short, and read no further than that needs. `judged` applies the ledger to a row; `events` are those that count, in
    fold order.
    """
    pool = [judged(row) for row in drawn]
    replaced = {event.paper for event in events if event.kind == "replace"}
    entered: list[Audited] = []

    def serving(tier: Tier) -> Iterator[Derivation]:
        yield from (row for row in reserve(tier) if _serves(candidate(row), edition) is tier)

    waiting = {tier: serving(tier) for tier in SELECTABLE}
    while True:
        counted = [_counts_for(row, edition) for row in (*pool, *entered) if row.arxiv_id not in replaced]
        short = [tier for tier, need in needs(edition).items() if tier in waiting and counted.count(tier) < need]
        if not short:
            return pool, entered
        if (row := next(waiting[short[0]], None)) is None:
            del waiting[short[0]]
        else:
            entered.append(judged(row))


def by_tier(rows: Sequence[Derivation]) -> Callable[[Tier], Iterator[Derivation]]:
    """Rows in the order of replacement as `audited_pool` asks for them."""
    return lambda tier: (row for row in rows if row.tier is tier)


def needs(edition: Edition) -> dict[Tier, int]:
    """How many rows of each tier both splits take."""
    quotas = largest_remainder(eval_settings(edition).total, [1] * len(SELECTABLE))
    return {tier: quota + edition.dev_per_tier for tier, quota in zip(SELECTABLE, quotas, strict=True)}


def _counts_for(row: Audited, edition: Edition) -> Tier | None:
    """The tier that can count on a row."""
    undecided = row.standing.state != "decided"
    return _serves(candidate(row.derivation) if undecided else row.candidate(), edition)


def candidate(row: Derivation) -> Candidate:
    """A row as the pool's selection sees it: what the classifier says, before any person."""
    return Candidate(
        row.arxiv_id, row.tier, row.hours, row.needs_paid_api, row.ineligible[0] if row.ineligible else None
    )


def _serves(row: Candidate, edition: Edition) -> Tier | None:
    """The tier of the splits that a row may fill, or None."""
    usable = not row.excluded and not row.needs_paid_api and row.hours is not None
    return row.tier if usable and (row.hours or 0.0) <= edition.split_cap_hours and row.tier in SELECTABLE else None
