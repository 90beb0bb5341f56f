"""Replacement by rule: a tier that runs short calls in the next of its reserve, and nothing else does."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.derivation import Derivation, Rules, derive
from pipeline.events import Event
from pipeline.release import verify_alone
from pipeline.release.compose import Composition, Material, compose, funnel, pool_of
from pipeline.release.freeze import freeze
from pipeline.release.verify import verify
from pipeline.replacement import needs
from pipeline.tiers import Tier


class Pool:
    """The made edition's pool, and what people say about it."""

    def __init__(self, made: ModuleType) -> None:
        self.made, self.held = made, made.material([])
        self.rows = {
            row.arxiv_id: row
            for row in (derive(i, self.held.receipts, Rules.of(self.held.edition)) for i in self.held.sample)
        }
        chosen = pool_of(list(self.rows.values()), self.held.edition)
        self.drawn, self.reserve = chosen.ids, chosen.reserve

    def of(self, tier: Tier, ids: Iterable[str]) -> list[str]:
        return [i for i in ids if self.rows[i].tier is tier]

    def agreed(self, *papers: str) -> list[Event]:
        return [event for paper in papers for event in self.made.agrees(self.rows[paper])]

    def out(self, paper: str) -> Event:
        row: Derivation = self.rows[paper]
        changes = {"who": "ada", "phase": "revised", "why": "no such table", "at": "2026-02-22T10:00:00Z"}
        return self.made.says(row, "eligibility", False, **changes)  # type: ignore[no-any-return]

    def after(self, events: list[Event]) -> Composition:
        return compose(self.material(events))

    def material(self, events: list[Event]) -> Material:
        return replace(self.held, entries=self.made.chain(events))


@pytest.fixture(scope="module")
def pool(made: ModuleType) -> Pool:
    return Pool(made)


def test_both_splits_together_say_what_a_tier_needs(made: ModuleType) -> None:
    assert needs(made.EDITION) == dict.fromkeys((Tier.RUN, Tier.RETRAIN, Tier.REIMPLEMENT), 4)


def test_nobody_enters_while_the_tier_can_still_count_on_its_pool(pool: Pool) -> None:
    runs = pool.of(Tier.RUN, pool.drawn)
    assert len(runs) == 6
    assert pool.after([]).entered == ()
    assert pool.after(pool.agreed(*pool.drawn)).entered == ()
    assert pool.after([*pool.agreed(*pool.drawn), *map(pool.out, runs[:2])]).entered == ()


def test_a_short_tier_calls_in_the_cheapest_of_its_own_reserve_and_asks_for_an_audit(pool: Pool) -> None:
    runs, others = pool.of(Tier.RUN, pool.drawn), pool.of(Tier.RUN, pool.reserve)
    found = pool.after([*pool.agreed(*pool.drawn), *map(pool.out, runs[:3])])
    assert found.entered == (min(others, key=lambda i: pool.rows[i].hours or 0),)
    asks = next(a for a in found.audited if a.arxiv_id == found.entered[0])
    assert asks.standing.state == "waiting"
    assert found.entered[0] not in (*found.splits.eval, *found.splits.dev)
    assert len(found.audited) == len(pool.drawn) + 1
    assert found.pool.ids == pool.drawn, "what was drawn stays what was drawn"
    assert funnel(pool.material([]), found)["entered"] == list(found.entered)


def test_once_audited_who_entered_fills_the_split(pool: Pool) -> None:
    runs = pool.of(Tier.RUN, pool.drawn)
    events = [*pool.agreed(*pool.drawn), *map(pool.out, runs[:3])]
    (entered,) = pool.after(events).entered
    found = pool.after([*events, *pool.agreed(entered)])
    assert found.splits.split(entered) is not None
    assert sum(pool.rows[p].tier is Tier.RUN for p in (*found.splits.eval, *found.splits.dev)) == 4


def test_an_undone_decision_takes_back_whom_it_called_in(pool: Pool) -> None:
    runs = pool.of(Tier.RUN, pool.drawn)
    last = pool.out(runs[2])
    events = [*pool.agreed(*pool.drawn), *map(pool.out, runs[:2]), last]
    undo = Event(kind="undo", paper=last.paper, who=last.who, at="2026-02-23T10:00:00Z", undoes=last.id)
    assert len(pool.after(events).entered) == 1
    assert pool.after([*events, undo]).entered == ()


def test_an_empty_reserve_leaves_the_tier_short(pool: Pool) -> None:
    runs, others = pool.of(Tier.RUN, pool.drawn), pool.of(Tier.RUN, pool.reserve)
    found = pool.after([*pool.agreed(*pool.drawn), *map(pool.out, runs)])
    assert set(found.entered) == set(others)
    assert all(pool.rows[paper].tier is Tier.RUN for paper in found.entered)


def test_a_drop_leaves_its_gap_and_a_replacement_counts_no_longer(pool: Pool) -> None:
    runs = pool.of(Tier.RUN, pool.drawn)
    base = [*pool.agreed(*pool.drawn), *map(pool.out, runs[:2])]

    def leaves(kind: str) -> Composition:
        event = Event.model_validate(
            {"kind": kind, "paper": runs[2], "who": "joan", "at": "2026-02-24T10:00:00Z", "why": "licence withdrawn"}
        )
        return pool.after([*base, event])

    assert leaves("drop").entered == ()
    assert len(leaves("replace").entered) == 1


@pytest.mark.slow
def test_both_verifiers_let_the_rule_call_in_the_same_papers(pool: Pool, made: ModuleType, tmp_path: Path) -> None:
    runs = pool.of(Tier.RUN, pool.drawn)
    events = [*pool.agreed(*pool.drawn), *map(pool.out, runs[:3])]
    (entered,) = pool.after(events).entered
    held = pool.material([*events, *pool.agreed(entered)])
    place = freeze(held, made.given(held), tmp_path / "made-2026-v1", "code").place
    assert place is not None
    checks, _ = verify_alone.verify(place)
    assert [check.failures for check in checks if check.failures] == []
    assert verify(place).ok
    shutil.rmtree(place)


def test_a_release_is_refused_while_who_entered_waits(pool: Pool, made: ModuleType, tmp_path: Path) -> None:
    runs = pool.of(Tier.RUN, pool.drawn)
    held = pool.material([*pool.agreed(*pool.drawn), *map(pool.out, runs[:3])])
    frozen = freeze(held, made.given(held), tmp_path / "made-2026-v1", "code")
    assert frozen.place is None
    (entered,) = frozen.made.entered
    assert entered in {failure.where for failure in frozen.report.failures}


def test_hours_that_a_person_moved_to_another_band_leave_the_band_that_was_drawn_on(pool: Pool) -> None:
    paper = pool.of(Tier.RUN, pool.drawn)[0]
    moved: dict[str, Any] = {"phase": "revised", "why": "per seed, not in all", "at": "2026-02-22T10:00:00Z"}
    event = pool.made.says(pool.rows[paper], "hours", 20.0, **moved)
    found = pool.after([*pool.agreed(*pool.drawn), event])
    row = next(row for rows in found.rows.values() for row in rows if row.custom_id == paper)
    assert (row.selection_band, row.h100_band) == ("0-8", "8-32")


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_who_entered_is_needed_in_order_and_never_drawn_twice(pool: Pool, data: st.DataObject) -> None:
    """Any rows found not eligible, also among those who enter: entry stops when needs are met or reserves are empty."""
    bad = data.draw(st.sets(st.sampled_from([*pool.drawn, *pool.reserve])))
    decided = data.draw(st.sets(st.sampled_from([*pool.drawn, *pool.reserve])))
    events = [*pool.agreed(*sorted(decided)), *(pool.out(p) for p in sorted(bad))]
    found = pool.after(events)
    assert len(set(found.entered)) == len(found.entered)
    assert set(found.entered).isdisjoint(pool.drawn)
    for tier, need in needs(pool.held.edition).items():
        members = pool.of(tier, [*pool.drawn, *found.entered])
        usable = [p for p in members if p not in bad]
        entered = [p for p in found.entered if pool.rows[p].tier is tier]
        assert len(usable) >= need or set(entered) == set(pool.of(tier, pool.reserve))
        assert entered == pool.of(tier, pool.reserve)[: len(entered)]
        without_last = [p for p in usable if not entered or p != entered[-1]]
        assert not entered or len(without_last) < need
