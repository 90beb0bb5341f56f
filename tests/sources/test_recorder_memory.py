"""What the recorder remembers across runs and processes: limits, what waits, what is due, what is too old."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.evidence import NotRecorded, Outcome, Receipt
from pipeline.record import request_key
from pipeline.sources.ages import AgeRule
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.outcomes import refused
from pipeline.sources.pacing import Limits
from pipeline.sources.recorder import RATE_LIMITED, Recorder
from pipeline.store import Store
from tests.sources.answering import Host, ok

URL = "https://example.org/page"
DAY = timedelta(days=1).total_seconds()
Recording = Callable[..., Recorder]


# Limits outlive the process that learnt of them


def test_a_restart_waits_out_what_the_process_before_it_was_told(recording: Recording, clock: SimulatedClock) -> None:
    reset = str(int(clock.now().timestamp()) + 1_800)
    spent = ok(**{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset})
    recording(Host(spent)).ask("GET", "https://api.github.com/repos/a/b")
    start = clock.now()
    recording(Host(ok())).ask("GET", "https://api.github.com/search/code?q=x")
    assert clock.now() - start < timedelta(seconds=60), "another budget of the same host is not held"
    recording(Host(ok())).ask("GET", "https://api.github.com/repos/a/c")
    assert clock.now() - start >= timedelta(seconds=1_800)


def test_one_token_that_is_spent_holds_up_neither_another_nor_a_stranger(
    recording: Recording, clock: SimulatedClock
) -> None:
    reset = str(int(clock.now().timestamp()) + 1_800)
    host = Host(ok(**{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}), ok())
    recorder = recording(host)

    def ask(path: str, token: str = "") -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        recorder.ask("GET", f"https://api.github.com/repos/a/{path}", headers=headers)

    ask("b", "one")
    start = clock.now()
    ask("c", "two")
    ask("d")
    assert clock.now() - start < timedelta(seconds=10)
    ask("e", "one")
    assert clock.now() - start >= timedelta(seconds=1_790)


def test_openreview_s_lock_out_is_waited_out_by_whoever_comes_next(recording: Recording, clock: SimulatedClock) -> None:
    words = b'{"name": "RateLimitError", "message": "Too many requests: Please try again in 39 minutes and 59 seconds"}'
    url = "https://api2.openreview.net/attachment?id="
    recording(Host(httpx2.Response(429, content=words)), limits=Limits(attempts=1)).ask("GET", url + "a")
    start = clock.now()
    assert recording(Host(ok())).ask("GET", url + "b").status == 200
    assert clock.now() - start >= timedelta(minutes=40)


def test_a_host_that_wants_more_patience_than_we_have_is_not_asked_and_its_questions_are_due_after_it(
    recording: Recording, clock: SimulatedClock
) -> None:
    host = Host(httpx2.Response(429, headers={"retry-after": "90000"}), ok())
    recorder = recording(host)
    with recorder.call("2505.00001"):
        recorder.ask("GET", URL)
        second = recorder.ask("GET", URL + "2")
    assert len(host.asked) == 1
    assert (second.status, second.exchange.fault) == (None, "deferred")
    waits = recorder.record.waiting(clock.now(), "")
    assert [(w.url, w.paper, w.tries, w.due(clock.now())) for w in waits] == [
        (URL, "2505.00001", 1, False),
        (URL + "2", "2505.00001", 0, False),
    ]
    assert {w.not_before for w in waits if w.not_before} == {w.not_before for w in waits}
    clock.sleep(90_000)
    assert all(w.due(clock.now()) for w in recorder.record.waiting(clock.now(), ""))
    assert recording(host).ask("GET", URL + "2").status == 200
    assert [w.url for w in recorder.record.waiting(clock.now(), "")] == [URL]


def test_a_host_that_fails_again_and_again_is_left_alone_and_tried_once_later(
    recording: Recording, clock: SimulatedClock
) -> None:
    host = Host(httpx2.Response(503))
    limits = Limits(strikes=6, attempts=4)
    recorder = recording(host, limits=limits)
    answers = [recorder.ask("GET", f"{URL}/{n}") for n in range(5)]
    assert len(host.asked) == 6
    assert [a.status for a in answers] == [503, 503, None, None, None], "what was found out before the rest stands"
    assert {a.exchange.fault for a in answers[2:]} == {"deferred"}
    host.answers = [ok()]
    clock.sleep(limits.rest)
    assert recording(host, limits=limits).ask("GET", f"{URL}/9").status == 200
    assert recording(host, limits=limits).ask("GET", f"{URL}/2").status == 200


# What is not settled waits


def test_trouble_waits_for_a_later_day_and_is_given_up_after_its_days(
    recording: Recording, clock: SimulatedClock
) -> None:
    host = Host(httpx2.Response(503))
    limits = Limits(attempts=2, days=3, strikes=10_000)
    for day in range(1, 6):
        recorder = recording(host, limits=limits)
        assert recorder.ask("GET", URL).status == 503
        (waits,) = recorder.record.waiting(clock.now(), "")
        assert waits.reason == "status 503"
        assert waits.tries == min(day, 3)
        assert len(host.asked) == 2 * min(day, 3)
        clock.sleep(DAY + 60)
    assert waits.not_before is None
    assert not waits.due(clock.now())
    assert not recorder.gone_twice(recorder.ask("GET", URL).exchange)
    recording(Host(ok()), epoch="refresh").ask("GET", URL)
    assert recorder.record.waiting(clock.now(), "") == []


def test_what_is_gone_once_is_due_a_day_later_and_settled_then(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(httpx2.Response(404))
    recorder = recording(host)
    recorder.ask("GET", URL)
    (waits,) = recorder.record.waiting(clock.now(), "")
    assert (waits.reason, waits.not_before) == ("gone once: 404", clock.now() + timedelta(days=1))
    clock.sleep(DAY + 1)
    second = recording(host)
    exchange = second.ask("GET", URL).exchange
    assert second.gone_twice(exchange)
    assert len(second.record.seen(request_key("GET", URL, None, False))) == 2
    assert second.record.waiting(clock.now(), "") == []


def test_a_question_whose_asker_was_killed_between_two_tries_is_asked_again(
    recording: Recording, clock: SimulatedClock
) -> None:
    class Killed(BaseException):
        pass

    def die(seconds: float) -> None:
        raise Killed

    host = Host(httpx2.Response(503), ok())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(clock, "sleep", die)
        with pytest.raises(Killed):
            recording(host).ask("GET", URL)
    again = recording(host)
    assert again.ask("GET", URL).status == 200
    assert len(host.asked) == 2


# Refresh


def aged(recording: Recording, clock: SimulatedClock) -> tuple[str, str]:
    old, new = "https://example.org/old", "https://example.org/new"
    recording(Host(ok(ETag='"v1"')), epoch="last year").ask("GET", old)
    clock.sleep(20 * DAY)
    recording(Host(ok(ETag='"v1"')), epoch="last year").ask("GET", new)
    clock.sleep(DAY)
    return old, new


def test_a_refresh_asks_again_only_what_is_too_old_and_keeps_what_did_not_change(
    recording: Recording, clock: SimulatedClock
) -> None:
    old, new = aged(recording, clock)
    host = Host(httpx2.Response(304))
    ages = AgeRule(older_than=timedelta(days=14))
    refresh = recording(host, epoch="this year", mode="refresh", ages=ages)
    assert {refresh.ask("GET", url).body for url in (old, new, old)} == {b"hello"}
    assert [(str(r.url), r.headers.get("if-none-match")) for r in host.asked] == [(old, '"v1"')]
    assert [s.epoch for s in refresh.record.seen(request_key("GET", old, None, False))] == ["last year", "this year"]
    assert refresh.record.totals().outcomes["unchanged"].requests == 1


def test_a_refresh_may_name_its_subjects(recording: Recording, clock: SimulatedClock) -> None:
    old, new = aged(recording, clock)
    record = recording(Host(ok())).record
    for url in (old, new):
        exchange = record.seen(request_key("GET", url, None, False))[0].exchange
        receipt = Receipt(
            paper="2505.00001",
            tool="fetch_url",
            arguments={"url": url},
            exchanges=(exchange.id,),
            outcome=Outcome.AVAILABLE,
            reason="page",
            subject=f"url:{url}",
        )
        record.put_episode(url, edition="e", paper=receipt.paper, seq=0, value={}, read=[receipt])
    host = Host(ok(b"changed"))
    refresh = recording(host, mode="refresh", ages=AgeRule.of(record, subjects=[f"url:{new}"]))
    assert refresh.ask("GET", old).body == b"hello"
    assert refresh.ask("GET", new).body == b"changed"
    assert len(host.asked) == 1


def test_a_page_without_an_etag_is_asked_for_by_its_date(recording: Recording, clock: SimulatedClock) -> None:
    dated = "Mon, 01 Dec 2025 00:00:00 GMT"
    recording(Host(ok(**{"Last-Modified": dated}))).ask("GET", URL)
    clock.sleep(DAY)
    host = Host(httpx2.Response(304))
    assert recording(host, epoch="refresh").ask("GET", URL).body == b"hello"
    assert host.asked[0].headers["if-modified-since"] == dated


# Bodies that are lost


def place_of(store: Store, recorder: Recorder) -> Path:
    (seen,) = recorder.record.seen(request_key("GET", URL, None, False))
    sha256 = seen.exchange.body_sha256
    assert sha256 is not None
    return store.root / "blobs" / sha256[:2] / sha256[2:]


@pytest.mark.parametrize("damage", ["missing", "same length", "cut"])
def test_a_lost_body_is_asked_for_again_and_named_in_replay(recording: Recording, store: Store, damage: str) -> None:
    host = Host(ok(ETag='"v1"'))
    recorder = recording(host)
    recorder.ask("GET", URL)
    place = place_of(store, recorder)
    if damage == "missing":
        place.unlink()
    else:
        place.write_bytes(b"hellx" if damage == "same length" else b"he")
    with pytest.raises(NotRecorded, match=place.name):
        recording(host, mode="replay").ask("GET", URL)
    assert recorder.ask("GET", URL).body == b"hello"
    assert len(host.asked) == 2
    assert "if-none-match" not in host.asked[1].headers, "there is nothing here that could be unchanged"
    assert recording(host, mode="replay").ask("GET", URL).body == b"hello"


# What was sent is counted


def test_requests_are_counted_by_host_paper_and_outcome_with_every_try_and_redirect(recording: Recording) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/moved":
            return httpx2.Response(301, headers={"location": "https://other.org/here"})
        return ok(b"x" * 10) if request.url.host == "other.org" else httpx2.Response(404)

    recorder = recording(answer)
    with recorder.call("p1"):
        recorder.ask("GET", "https://example.org/moved")
        recorder.ask("GET", "https://example.org/moved")
    with recorder.call("p2"), recorder.call():
        recorder.ask("GET", "https://example.org/gone")
    busy = Host(httpx2.Response(429), ok())
    recording(busy, run="another").ask("GET", "https://busy.org/")
    totals = recorder.record.totals("run")
    assert {host: (t.requests, t.bytes) for host, t in totals.hosts.items()} == {
        "example.org": (2, 0),
        "other.org": (1, 10),
    }
    assert {paper: t.requests for paper, t in totals.papers.items()} == {"p1": 2, "p2": 1}
    assert {word: t.requests for word, t in totals.outcomes.items()} == {"answered": 1, "gone": 1, "redirected": 1}
    everything = recorder.record.totals()
    assert everything.outcomes["limited"].requests == 1
    assert everything.all.requests == 5


# Answers that are none


def test_a_page_in_place_of_an_interface_s_answer_says_not_now(recording: Recording, clock: SimulatedClock) -> None:
    page = httpx2.Response(200, headers={"content-type": "text/html; charset=utf-8"}, content=b"<h1>Whoa there!</h1>")
    host = Host(page, ok(b"{}", **{"Content-Type": "application/json"}))
    start = clock.now()
    assert recording(host).ask("GET", "https://api.github.com/repos/a/b").body == b"{}"
    assert clock.now() > start
    elsewhere = recording(Host(page)).ask("GET", URL)
    assert RATE_LIMITED not in elsewhere.headers, "a web page is a web page"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_answer_shorter_than_it_says_is_none(recording: Recording, method: str) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-length": "10"}, stream=httpx2.ByteStream(b"12345"))

    exchange = recording(answer, limits=Limits(attempts=1)).ask(method, URL).exchange
    assert (exchange.status, exchange.fault) == ((None, "reset") if method == "GET" else (200, None))


def test_nobody_waits_on_real_time(
    recording: Recording, clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def awake(seconds: float) -> None:
        raise AssertionError(f"slept for {seconds} s")

    monkeypatch.setattr(time, "sleep", awake)
    monkeypatch.setattr(threading.Event, "wait", awake)
    limits = Limits(intervals={"example.org": 60}, budgets={"example.org": (2, 3_600)}, strikes=3, rest=600)
    trouble = [httpx2.Response(429, headers={"retry-after": "900"}), httpx2.Response(503), httpx2.Response(503)]
    recorder = recording(Host(*trouble, httpx2.Response(500), ok()), limits=limits)
    start = clock.now()
    assert [recorder.ask("GET", f"{URL}/{n}").status for n in range(4)] == [500, 200, 200, 200]
    assert clock.now() - start > timedelta(hours=2)


@pytest.mark.parametrize(
    "patience",
    [
        httpx2.Response(429, headers={"retry-after": "3600"}),
        httpx2.Response(503, headers={"retry-after": "3600"}),
        httpx2.Response(200, headers={"ratelimit": '"x";r=0;t=3600'}, text="hello"),
    ],
)
def test_no_page_of_a_paper_holds_up_a_run_by_asking_for_patience(
    recording: Recording, clock: SimulatedClock, patience: httpx2.Response
) -> None:
    recorder, start = recording(lambda _: patience), clock.now()
    asked = [recorder.ask("GET", f"https://own.example.org/{n}").exchange for n in range(20)]
    assert clock.now() - start < timedelta(minutes=5)
    assert {exchange.status for exchange in asked[1:]} <= {None, 429, 503}
    assert not [exchange for exchange in asked if recorder.gone_twice(exchange)]
    # A service that thousands of papers rest on is waited for.
    recorder.ask("GET", "https://zenodo.org/api/records/1")
    recorder.ask("GET", "https://zenodo.org/api/records/2")
    assert clock.now() - start > timedelta(hours=1)


TROUBLE_FIRST = sorted(range(12), key=lambda number: number % 4)


@settings(max_examples=6, deadline=None)
@given(order=st.permutations(range(12)))
@example(order=TROUBLE_FIRST)
def test_the_order_of_asking_decides_what_is_deferred_and_never_what_is_so(
    tmp_path_factory: pytest.TempPathFactory, order: list[int]
) -> None:
    """Of a host that is in trouble for some of its pages, a later question may be put off: undetermined, as trouble
    is. What is known of a page is what it says, whatever was asked before."""
    clock = SimulatedClock(datetime(2026, 12, 1, tzinfo=UTC))

    def answer(request: httpx2.Request) -> httpx2.Response:
        number = int(request.url.path[1:])
        return httpx2.Response((503, 503, 200, 404)[number % 4], text="x" * number)

    def look(run: str) -> dict[int, tuple[Outcome, str] | None]:
        limits = Limits(attempts=1, strikes=3)
        transport = httpx2.MockTransport(answer)
        recorder = Recorder(store, clock, run=run, epoch="e", transport=transport, limits=limits)
        asked = {n: recorder.ask("GET", f"https://own.example.org/{n}") for n in order}
        return {n: refused(asked[n], recorder) for n in order}

    store = Store(tmp_path_factory.mktemp("order"))
    first = look("first")
    clock.sleep(25 * 3600)
    second = look("second")
    put_off = 0
    for number in order:
        for found in (first[number], second[number]):
            if found is not None and found[0] is Outcome.UNDETERMINED:
                put_off += found[1] == "deferred"
                continue
            assert number % 4 >= 2
            assert found == (None if number % 4 == 2 else (Outcome.UNAVAILABLE, "gone: 404"))
        assert first[number] is None or first[number][0] is Outcome.UNDETERMINED
    assert put_off or order != TROUBLE_FIRST, "some failures in a row leave the host alone"
