"""Cheapest first, deficits cascade to cheaper bands, and every candidate ends in one place with a reason."""

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compute import band
from pipeline.editions import EditionError, load
from pipeline.selection import (
    Candidate,
    SelectionSettings,
    largest_remainder,
    pool,
    select,
    select_frame,
    split_dev,
    split_eval,
    what_if,
)
from pipeline.tiers import SELECTABLE, Tier

few = settings(max_examples=40, deadline=None)
EDGES = (8.0, 32.0, 96.0, 192.0)
_hours = st.one_of(
    st.none(), st.sampled_from([0.0, 8.0, 32.0, 96.0, 192.0, 200.0]), st.floats(0, 250), st.just(float("nan"))
)
_tier = st.one_of(st.none(), st.sampled_from(list(Tier)))


@st.composite
def _candidates(draw: st.DrawFn) -> list[Candidate]:
    ids = draw(st.lists(st.integers(0, 9999), unique=True, max_size=60))
    excluded = st.sampled_from([None, None, None, "not verified"])
    return [Candidate(f"2501.{i:05d}", draw(_tier), draw(_hours), excluded=draw(excluded)) for i in ids]


@st.composite
def _settings(draw: st.DrawFn) -> SelectionSettings:
    n = draw(st.integers(1, 4))
    weights = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any))
    tiers = draw(st.permutations(SELECTABLE).map(lambda p: tuple(p[: draw(st.integers(1, 3))])))
    how = draw(st.sampled_from(["cheapest", "seeded"]))
    return SelectionSettings(draw(st.integers(0, 40)), EDGES[:n], tuple(weights), tiers, how, "a seed")


def _papers(tier: Tier, *hours: float) -> list[Candidate]:
    return [Candidate(f"{list(Tier).index(tier)}.{i:03d}", tier, h) for i, h in enumerate(hours)]


def test_shares_go_to_the_largest_remainders_and_ties_to_the_earlier():
    assert largest_remainder(200, [1, 1, 1]) == [67, 67, 66]
    assert largest_remainder(100, [1, 1, 1]) == [34, 33, 33]
    assert largest_remainder(67, [5, 7, 8, 5]) == [13, 19, 22, 13]
    assert largest_remainder(66, [5, 7, 8, 5]) == [13, 19, 21, 13]
    assert largest_remainder(34, [5, 7, 8, 5]) == [7, 9, 11, 7]
    assert largest_remainder(33, [5, 7, 8, 5]) == [7, 9, 10, 7]


@few
@given(st.integers(0, 500), st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any))
def test_shares_sum_to_the_total_and_stay_within_one_of_exact_proportion(total, weights):
    shares = largest_remainder(total, weights)
    assert sum(shares) == total
    assert all(abs(s * sum(weights) - total * w) < sum(weights) for s, w in zip(shares, weights, strict=True))


@few
@given(st.integers(0, 500), st.lists(st.integers(0, 50), min_size=2, max_size=8).filter(any))
def test_a_larger_weight_never_gets_the_smaller_share(total, weights):
    shares = largest_remainder(total, weights)
    for i, wi in enumerate(weights):
        for j, wj in enumerate(weights):
            assert not (wi > wj and shares[i] < shares[j])


@few
@given(_candidates(), _settings(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_changes_nothing(candidates, settings, rng):
    shuffled = candidates[:]
    rng.shuffle(shuffled)
    one, other = select(candidates, settings), select(shuffled, settings)
    assert one.rows.equals(other.rows)
    assert one.strata == other.strata


@few
@given(_candidates(), _settings())
def test_every_candidate_is_taken_or_in_reserve_or_excluded(candidates, settings):
    s = select(candidates, settings)
    assert sorted(s.ids + s.reserve + s.excluded) == sorted(c.arxiv_id for c in candidates)
    assert all(s.reasons[c.arxiv_id] for c in candidates)


@few
@given(_candidates(), _settings())
def test_the_cascade_conserves_counts(candidates, settings):
    """In every tier: taken plus shortfall is the quota, and nothing is left behind while the tier is short."""
    s = select(candidates, settings)
    quotas = dict(zip(settings.tiers, largest_remainder(settings.total, [1] * len(settings.tiers)), strict=True))
    for tier in settings.tiers:
        strata = [x for x in s.strata if x.tier is tier]
        taken, supply = sum(x.taken for x in strata), sum(x.supply for x in strata)
        assert taken == min(quotas[tier], supply)
        assert sum(x.quota for x in strata) == quotas[tier] == taken + s.shortfall[tier]
        for x, cheaper in zip(strata[1:], strata, strict=False):
            assert cheaper.want == cheaper.quota + x.deficit
        assert all(0 <= x.taken <= x.supply for x in strata)
        assert all(x.taken == min(x.supply, x.want) + x.topped_up for x in strata)


@few
@given(_candidates(), _settings())
def test_inclusion_probabilities_sum_to_what_was_taken(candidates, settings):
    s = select(candidates, settings)
    assert s.rows["inclusion"].sum() == pytest.approx(len(s.ids))


@few
@given(_candidates(), _settings())
def test_the_reasons_count_what_the_strata_say(candidates, settings):
    s = select(candidates, settings)
    counted = s.rows.group_by("reason").len()
    counts = dict(counted.iter_rows())
    assert counts.get("quota", 0) == sum(min(x.supply, x.quota) for x in s.strata)
    assert counts.get("top-up", 0) == sum(x.topped_up for x in s.strata)
    cascaded = sum(n for reason, n in counts.items() if reason.startswith("cascade from band"))
    assert cascaded == sum(n for x in s.strata for _, n in x.cascaded)


@few
@given(_candidates(), _settings().filter(lambda s: s.draw == "cheapest"))
def test_cheapest_first_takes_no_paper_while_a_cheaper_one_of_its_stratum_waits(candidates, settings):
    s = select(candidates, settings)
    taken, waiting = frozenset(s.ids), frozenset(s.reserve)
    key = {c.arxiv_id: (c.tier, band(c.hours, settings.edges), (c.hours, c.arxiv_id)) for c in candidates}
    for t in taken:
        for w in waiting:
            assert key[t][:2] != key[w][:2] or key[t][2] < key[w][2]


@few
@given(_candidates(), _settings())
def test_what_is_taken_has_known_hours_under_the_cap_and_a_tier_that_is_asked_for(candidates, settings):
    by_id = {c.arxiv_id: c for c in candidates}
    for i in select(candidates, settings).ids:
        c = by_id[i]
        assert c.tier in settings.tiers
        assert c.excluded is None
        assert band(c.hours, settings.edges) is not None


@few
@given(_candidates(), _settings())
def test_the_answer_is_sorted_by_hours_then_id(candidates, settings):
    hours = {c.arxiv_id: c.hours for c in candidates}
    ids = select(candidates, settings).ids
    assert ids == sorted(ids, key=lambda i: (hours[i], i))


def test_a_deficit_of_the_dearest_band_is_met_by_the_next_cheaper_one():
    settings = SelectionSettings(4, (8, 32), (1, 1), (Tier.RUN,))
    s = select(_papers(Tier.RUN, 1, 2, 3, 4, 20), settings)
    assert [x.taken for x in s.strata] == [3, 1]
    assert s.reasons == {
        "0.000": "quota",
        "0.001": "quota",
        "0.002": "cascade from band 8-32",
        "0.003": "reserve",
        "0.004": "quota",
    }


def test_a_deficit_left_at_the_cheapest_band_is_topped_up_with_the_cheapest_left():
    settings = SelectionSettings(4, (8, 32, 96), (2, 1, 1), (Tier.RUN,))
    s = select(_papers(Tier.RUN, 1, 20, 21, 22, 50, 60), settings)
    assert s.ids == ["0.000", "0.001", "0.002", "0.004"]
    assert s.reasons["0.002"] == "top-up"


def test_a_short_tier_ships_short_and_no_other_fills_it():
    s = select(_papers(Tier.RUN, *[1.0] * 9) + _papers(Tier.RETRAIN, 1), SelectionSettings(6, (8,), (1,)))
    assert len(s.ids) == 3
    assert s.shortfall == {Tier.RUN: 0, Tier.RETRAIN: 1, Tier.REIMPLEMENT: 2}


def test_unknown_hours_are_never_the_cheapest():
    papers = [Candidate("a", Tier.RUN, None), Candidate("b", Tier.RUN, 5.0)]
    s = select(papers, SelectionSettings(1, (8,), (1,), (Tier.RUN,)))
    assert s.ids == ["b"]
    assert s.reasons["a"] == "excluded because its hours are unknown"


def test_every_exclusion_says_why():
    papers = [
        Candidate("a", None, 1.0),
        Candidate("b", Tier.BLOCKED, 1.0),
        Candidate("c", Tier.RUN, 97.0),
        Candidate("d", Tier.RUN, 1.0, excluded="not verified"),
        Candidate("e", Tier.RUN, -1.0),
    ]
    assert select(papers, SelectionSettings(3, (8, 96), (1, 1))).reasons == {
        "a": "excluded because its tier is undetermined",
        "b": "excluded because its tier is Artifact-Blocked",
        "c": "excluded because its hours are above the cap of 96",
        "d": "excluded because not verified",
        "e": "excluded because its hours are unknown",
    }


def test_band_edges_are_closed():
    s = select(_papers(Tier.RUN, 8.0, 8.000001, 32.0), SelectionSettings(3, (8, 32), (1, 2), (Tier.RUN,)))
    assert s.rows["band"].to_list() == ["0-8", "8-32", "8-32"]


def test_no_candidates_at_all_is_an_empty_selection():
    s = select([], SelectionSettings(5, EDGES, (5, 7, 8, 5)))
    assert (s.ids, s.reserve, sum(s.shortfall.values())) == ([], [], 5)


def test_a_paper_listed_twice_is_refused_by_name():
    with pytest.raises(ValueError, match=r"paper 0\.000 is listed twice"):
        select(_papers(Tier.RUN, 1.0) * 2, SelectionSettings(1, (8,), (1,)))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"weights": (1,)}, "2 band edges but 1 band weights"),
        ({"edges": (32, 8)}, "do not rise"),
        ({"weights": (0, 0)}, "not all zero"),
        ({"total": -1}, "negative"),
        ({"draw": "seeded"}, "needs a seed"),
        ({"tiers": ()}, "at least one"),
    ],
)
def test_settings_that_contradict_themselves_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        SelectionSettings(**({"total": 3, "edges": (8, 32), "weights": (1, 1)} | wrong))


def test_a_seeded_draw_depends_on_the_seed_and_only_where_there_is_a_choice():
    papers = [*_papers(Tier.RUN, *[h / 10 for h in range(40)]), Candidate("9", Tier.RUN, 20.0)]
    draws = [
        select(papers, SelectionSettings(10, (8, 32), (9, 1), (Tier.RUN,), "seeded", seed)) for seed in ("a", "b", "a")
    ]
    assert draws[0].ids == draws[2].ids != draws[1].ids
    assert all("9" in d.ids for d in draws)


@pytest.mark.slow
def test_a_seeded_draw_gives_every_paper_of_a_stratum_its_share():
    papers = _papers(Tier.RUN, *[1.0 + i / 100 for i in range(20)])
    times = dict.fromkeys((c.arxiv_id for c in papers), 0)
    for seed in range(200):
        for i in select(papers, SelectionSettings(5, (8,), (1,), (Tier.RUN,), "seeded", str(seed))).ids:
            times[i] += 1
    assert sum(times.values()) == 1000
    assert all(25 <= n <= 80 for n in times.values())  # expectation 50, standard deviation 6.1


def test_a_dropped_paper_is_replaced_from_its_own_stratum_first_then_from_its_tier():
    s = select(_papers(Tier.RUN, 1, 2, 20, 21, 22), SelectionSettings(2, (8, 32), (1, 1), (Tier.RUN,)))
    assert s.ids == ["0.000", "0.002"]
    assert s.replacement("0.002", s.ids) == "0.003"
    assert s.replacement("0.002", [*s.ids, "0.003", "0.004"]) == "0.001"
    assert s.replacement("0.002", [*s.ids, "0.001", "0.003", "0.004"]) is None


def test_the_reserve_is_in_the_order_of_replacement():
    papers = _papers(Tier.RETRAIN, 3, 2, 1) + _papers(Tier.RUN, 30, 20, 2, 1)
    s = select(papers, SelectionSettings(0, (8, 32), (1, 1)))
    assert s.reserve == ["0.003", "0.002", "0.001", "0.000", "1.002", "1.001", "1.000"]


def _world(n: int = 60) -> list[Candidate]:
    rng = random.Random(3)
    return [
        Candidate(
            f"2501.{i:05d}", rng.choice(SELECTABLE), round(rng.lognormvariate(2, 1.4), 2), needs_paid_api=i % 7 == 0
        )
        for i in range(n)
    ]


def test_papers_that_need_a_paid_api_never_reach_a_split_and_reach_the_pool_only_if_the_edition_says_so():
    edition = load("sample-2025")
    paid = {c.arxiv_id for c in _world() if c.needs_paid_api}
    assert paid.isdisjoint(pool(_world(), edition).ids)
    assert pool(_world(), edition).reasons[min(paid)] == "excluded because needs a paid or closed API"
    late = edition.variant({"paid_api_policy": "after_audit"})
    assert paid & set(pool(_world(), late).ids)
    assert paid.isdisjoint(split_eval(_world(), late).ids)


def test_dev_is_the_cheapest_left_in_each_tier_and_shares_nothing_with_eval():
    edition = load("sample-2025")
    world = [c for c in _world() if c.hours and c.hours <= 96]
    chosen = split_eval(world, edition).ids
    dev = split_dev(world, chosen, edition).ids
    assert set(dev).isdisjoint(chosen)
    left = sorted((c.hours, c.arxiv_id) for c in world if c.arxiv_id not in chosen and not c.needs_paid_api)
    tier = {c.arxiv_id: c.tier for c in world}
    expected = {i for t in SELECTABLE for i in [i for _, i in left if tier[i] is t][:2]}
    assert set(dev) == expected
    assert len(dev) == 6


def test_what_if_shows_the_pool_under_another_cap_without_touching_the_first():
    edition = load("sample-2025")
    answer = what_if(lambda _: _world(), edition, {"split_cap_hours": 24})
    assert answer.base.ids == pool(_world(), edition).ids
    assert {s.band for s in answer.variant.strata} == {"0-8", "8-24"}
    assert answer.variant.rows.filter(pl.col("status") == "taken")["hours"].max() <= 24
    assert set(answer.entered) == set(answer.variant.ids) - set(answer.base.ids)
    assert set(answer.left) == set(answer.base.ids) - set(answer.variant.ids)
    assert answer.left


def test_what_if_refuses_settings_that_contradict_each_other():
    with pytest.raises(EditionError, match="eval_size"):
        what_if(_world(), load("sample-2025"), {"eval_size": 99})


def test_a_frame_and_typed_candidates_give_the_same_selection():
    world = _world()
    frame = pl.DataFrame({"arxiv_id": [c.arxiv_id for c in world], "tier": [c.tier for c in world],
                          "hours": [c.hours for c in world]})  # fmt: skip
    settings = SelectionSettings(20, EDGES, (5, 7, 8, 5))
    assert select_frame(frame, settings).rows.equals(select(world, settings).rows)
