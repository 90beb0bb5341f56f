"""Forecasts hold what they promise, grow with what is asked, and claim no precision that is not there."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.evidence import Exchange
from pipeline.sources.budget import (
    Interval,
    batches,
    duration,
    exactly,
    forecast,
    is_named,
    lane_of,
    lanes_of,
    number,
    seconds,
    shown,
    size,
)

counts = st.lists(st.integers(0, 200), min_size=2, max_size=40)


@given(counts, st.integers(0, 5000))
def test_a_forecast_holds_its_likely_value_and_nothing_below_zero(done: list[int], more: int) -> None:
    found = forecast(done, more)
    assert found is not None
    assert 0 <= found.low <= found.likely + 1e-6
    assert found.likely <= found.high + 1e-6


@given(counts, st.integers(1, 2000))
def test_more_papers_are_forecast_to_ask_for_more(done: list[int], more: int) -> None:
    fewer, most = forecast(done, more), forecast(done, more * 2)
    assert fewer is not None
    assert most is not None
    assert most.likely >= fewer.likely
    assert most.high - most.low >= fewer.high - fewer.low - 1e-6


def test_nothing_is_forecast_from_one_paper_and_nothing_more_costs_nothing() -> None:
    assert forecast([7], 100) is None
    assert forecast([], 100) is None
    assert forecast([], 0) == exactly(0)


def test_papers_all_alike_are_forecast_exactly() -> None:
    assert forecast([3, 3, 3], 10) == exactly(30)


def test_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    """A thousand conferences of skewed counts, each forecast from its first twenty papers."""
    rng = random.Random(5)
    held = 0
    for _ in range(1000):
        papers = [rng.choice((2, 4, 5, 7, 9, 14)) for _ in range(220)]
        found = forecast(papers[:20], 200)
        assert found is not None
        held += found.low <= sum(papers[20:]) <= found.high
    assert 930 <= held <= 975


@pytest.mark.parametrize(
    ("lane", "requests", "hours"),
    [
        ("arxiv.org", 1200, 1.0),
        ("api.github.com", 60, 60 / 3600),
        ("api.github.com", 61, 1.0),
        ("api.github.com", 6000, 99.0),
        ("api2.openreview.net/attachment", 31, 31 / 3600),
        ("api2.openreview.net/attachment", 37, 1.0),
        ("api2.openreview.net/attachment", 1547, 42.0),
    ],
)
def test_hours_follow_from_rhythm_and_quota(lane: str, requests: int, hours: float) -> None:
    assert seconds(lane, requests) / 3600 == pytest.approx(hours)


@given(st.sampled_from(["arxiv.org", "api.github.com", "huggingface.co", "example.org"]), st.integers(0, 9999))
def test_more_requests_never_take_less_time(lane: str, requests: int) -> None:
    assert seconds(lane, requests) <= seconds(lane, requests + 1)


def test_every_hop_of_a_redirect_is_a_request_of_its_own_host() -> None:
    seen = Exchange(
        method="GET",
        url="https://github.com/o/old",
        request_sha256=None,
        status=200,
        fault=None,
        headers=(),
        body_sha256=None,
        body_size=0,
        redirects=((301, "https://github.com/o/old"),),
        final_url="https://example.org/new",
        authenticated=False,
    )
    assert lanes_of(seen) == ["github.com", "example.org"]


def test_searches_and_tokens_have_lanes_of_their_own() -> None:
    assert lane_of("https://api.github.com/search/repositories?q=x") == "api.github.com/search"
    assert lane_of("https://api.github.com/repos/o/r") == "api.github.com"
    assert lane_of("https://api.github.com/repos/o/r", authenticated=True) == "token@api.github.com"
    assert lane_of("https://api2.openreview.net/attachment?ids=a,b") == "api2.openreview.net/attachment"


def test_the_hubs_calls_files_and_pages_are_counted_apart_and_a_lane_leads_back_to_its_rule() -> None:
    urls = (
        "https://huggingface.co/api/models/o/m",
        "https://huggingface.co/o/m/resolve/main/a",
        "https://huggingface.co/o",
    )
    lanes = [lane_of(url) for url in urls]
    assert lanes == ["huggingface.co/api", "huggingface.co/resolve", "huggingface.co"]
    assert all(map(is_named, lanes))
    assert [seconds(lane, 3001) for lane in lanes] == [3001 * 0.6, 3001 * 0.5, 3001 * 3.0]


def test_numbers_are_shown_with_no_more_digits_than_they_have() -> None:
    assert [number(n) for n in (0, 3, 4.25, 37, 1234, 98765)] == ["0", "3", "4.2", "37", "1,200", "99,000"]
    assert shown(Interval(871, 1234, 1597)) == "about 1,200 (870 to 1,600)"
    assert shown(exactly(1547)) == "1,547"
    assert shown(None) == "unknown"
    assert [duration(s) for s in (40, 600, 7200, 400_000)] == ["40 seconds", "10 minutes", "2 hours", "4.6 days"]
    assert [size(b) for b in (900, 4.2e6, 2.7e10)] == ["0.9 kB", "4.2 MB", "27 GB"]


def test_batches_round_up() -> None:
    assert [batches(n, 50) for n in (0, 1, 50, 51, 1547)] == [0, 1, 1, 2, 31]
