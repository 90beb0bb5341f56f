"""Patience as arithmetic: rhythm, holds, budgets and breakers keep their promise whatever comes in which order."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sources.pacing import Lane, Limits, Rule, heard, held, rule_of, take, told_to_wait

NOW = datetime(2026, 12, 1, tzinfo=UTC)
START = NOW.timestamp()


def rule(interval: float = 1.0, budget: tuple[int, float] | None = None, named: bool = True) -> Rule:
    return Rule(host="a.org", lane="a.org", interval=interval, budget=budget, named=named)


@given(st.lists(st.floats(0, 30), min_size=2, max_size=60), st.floats(0.01, 10))
def test_two_requests_of_a_lane_are_never_closer_than_its_interval(pauses: list[float], interval: float) -> None:
    lane, now, sent = Lane(), START, list[float]()
    for pause in pauses:
        now += pause
        _, lane, turn = take(Lane(), lane, rule(interval), now, Limits(longest_wait=1e9))
        assert turn.waits is not None
        sent.append(now + turn.waits)
    assert all(after - before >= interval - 1e-4 for before, after in itertools.pairwise(sent))


@settings(max_examples=60)
@given(
    st.lists(st.floats(0, 40), min_size=5, max_size=120),
    st.integers(1, 12),
    st.floats(1, 90),
)
def test_no_window_of_a_budget_holds_more_than_it_wherever_it_starts(
    pauses: list[float], most: int, window: float
) -> None:
    lane, now, sent = Lane(), START, list[float]()
    for pause in pauses:
        now += pause
        _, lane, turn = take(Lane(), lane, rule(0.0, (most, window)), now, Limits(longest_wait=1e9))
        assert turn.waits is not None
        sent.append(now + turn.waits)
    for first in sent:
        assert sum(first <= one < first + window - 1e-3 for one in sent) <= most


@given(st.floats(0, 3_000), st.floats(0, 3_000))
def test_nobody_asks_before_a_hold_ends_and_a_shorter_one_does_not_end_it(long: float, short: float) -> None:
    lane = held(held(Lane(), START + long, "first"), START + short, "second")
    _, _, turn = take(Lane(), lane, rule(), START, Limits())
    assert turn.waits == pytest.approx(max(long, short), abs=1e-3)


def test_a_hold_beyond_all_patience_takes_no_turn_and_says_why() -> None:
    lane = held(Lane(), START + 90_000, "asked for patience")
    _, after, turn = take(Lane(), lane, rule(), START, Limits())
    assert (turn.waits, turn.until, turn.why) == (None, START + 90_000, "asked for patience")
    assert after == lane


def broken(limits: Limits, failures: int, now: float = START) -> Lane:
    host = Lane()
    for _ in range(failures):
        host = heard(host, True, now, limits)
    return host


def test_a_host_is_left_alone_after_its_strikes_and_tried_by_one_request_after_its_rest() -> None:
    limits = Limits(strikes=3, rest=100)
    _, _, still = take(broken(limits, 2), Lane(), rule(named=False), START, limits)
    assert still.waits == 0
    host = broken(limits, 3)
    _, _, none = take(host, Lane(), rule(named=False), START + 50, limits)
    assert (none.waits, none.until) == (None, START + 100)
    host, _, trial = take(host, Lane(), rule(named=False), START + 101, limits)
    assert trial.waits == 0
    _, _, second = take(host, Lane(), rule(named=False), START + 102, limits)
    assert second.waits is None, "only one request tries a host that was at rest"
    assert heard(host, False, START + 103, limits) == Lane()
    worse = heard(host, True, START + 103, limits)
    assert worse.rest_until == START + 103 + 200


def test_a_host_that_much_rests_on_is_waited_for() -> None:
    limits = Limits(strikes=3, rest=100)
    _, _, turn = take(broken(limits, 3), Lane(), rule(named=True), START, limits)
    assert turn.waits == 100


def test_a_rest_grows_to_its_bound_and_no_further() -> None:
    limits = Limits(strikes=1, rest=100, longest_rest=1_000)
    host = broken(limits, 2_000)
    assert host.rest_until == START + 1_000


LANES = [
    ("api.github.com", "/repos/a/b", "", "api.github.com", 1.0, None),
    ("api.github.com", "/search/code", "", "api.github.com/search", 6.0, (10, 60.0)),
    ("api.github.com", "/searching", "", "api.github.com", 1.0, None),
    ("example.org", "/search", "", "example.org", 0.5, None),
    ("huggingface.co", "/api/models/o/m", "", "huggingface.co/api", 0.6, (500, 300.0)),
    ("huggingface.co", "/o/m/resolve/main/a.bin", "", "huggingface.co/resolve", 0.5, (3_000, 300.0)),
    ("huggingface.co", "/datasets/o/d/resolve/main/a", "", "huggingface.co/resolve", 0.5, (3_000, 300.0)),
    ("huggingface.co", "/spaces/o/demo", "", "huggingface.co", 3.0, (100, 300.0)),
    ("huggingface.co", "/o/resolver", "", "huggingface.co", 3.0, (100, 300.0)),
]


@pytest.mark.parametrize(("host", "path", "credential", "lane", "interval", "budget"), LANES)
def test_lanes_are_the_longest_beginning_that_the_limits_name(
    host: str, path: str, credential: str, lane: str, interval: float, budget: tuple[int, float] | None
) -> None:
    found = rule_of(host, path, credential, Limits())
    assert (found.lane, found.interval, found.budget) == (lane, interval, budget)


def test_every_credential_has_a_lane_and_a_budget_of_its_own_and_its_name_gives_nothing_away() -> None:
    one, two = (rule_of("api.github.com", "/repos/a/b", f"ghp_{c * 30}", Limits()) for c in "ab")
    assert one.lane != two.lane
    assert one.budget == (5_000, 3_600.0)
    assert one.host == two.host == "api.github.com"
    assert "ghp" not in one.lane
    assert "a" * 30 not in one.lane


def told(body: bytes = b"", **headers: str) -> float | None:
    return told_to_wait({name.replace("_", "-"): value for name, value in headers.items()}, body, NOW)


def test_each_service_s_own_words_for_not_now_are_understood() -> None:
    reset = str(int(START) + 600)
    assert told(retry_after="17") == 17
    assert told(x_ratelimit_remaining="0", x_ratelimit_reset=reset) == 601
    assert told(ratelimit='"api";r=0;t=55') == 56
    assert told(ratelimit='"api";r=3;t=55') is None
    assert told(ratelimit='"pages";r=9;t=10, "api";r=0;t=40') == 41
    words = b"Too many requests: You have made 102 requests. Please try again in 30 minutes and 8 seconds (2026-1)"
    assert told(words) == 30 * 60 + 8 + 1
    details = {"resetTime": (NOW + timedelta(minutes=61)).isoformat().replace("+00:00", "Z"), "limit": 36}
    locked = {"name": "RateLimitError", "message": "Too many requests: try again in 1 second", "details": details}
    assert told(json.dumps(locked).encode()) == 61 * 60 + 1
    assert told(b"all is well, try again in 5 seconds") is None


@given(st.text(max_size=40), st.text(max_size=40), st.binary(max_size=80))
def test_no_header_and_no_body_breaks_the_arithmetic_or_holds_a_host_for_ever(a: str, b: str, body: bytes) -> None:
    for headers in (
        {"retry-after": a},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": a},
        {"ratelimit": f"r=0;t={b}"},
        {},
    ):
        found = told_to_wait(headers, b"Too many requests " + body, NOW)
        assert found is None or found <= 31 * 86_400
    assert told_to_wait({"retry-after": "9" * 400}, b"", NOW) == 30 * 86_400


def test_all_machines_of_arxiv_share_one_rhythm() -> None:
    lanes = {rule_of(host, "/src/1", "", Limits()).lane for host in ("arxiv.org", "export.arxiv.org", "www.arxiv.org")}
    assert lanes == {"arxiv.org"}
