"""The recorder: everything kept, settled answers given from the record, waiting on the clock it was given."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
import requests

from pipeline.evidence import NotRecorded
from pipeline.record import request_key
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.pacing import Limits, wait_before
from pipeline.sources.recorder import RATE_LIMITED, TRUNCATED, Answer, Recorder
from pipeline.store import Store
from tests.sources.answering import Host, ok

URL = "https://example.org/page"
Recording = Callable[..., Recorder]


def test_an_answer_is_kept_with_body_headers_and_sighting(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(ok(ETag='"v1"', **{"X-RateLimit-Remaining": "7", "Set-Cookie": "session=1"}))
    recorder = recording(host)
    answer = recorder.ask("GET", URL)
    assert (answer.status, answer.body) == (200, b"hello")
    assert dict(answer.exchange.headers) == {"content-type": "text/plain"}
    (seen,) = recorder.record.seen(request_key("GET", URL, None, False))
    assert seen.headers["etag"] == '"v1"'
    assert seen.headers["x-ratelimit-remaining"] == "7"
    assert "set-cookie" not in seen.headers
    assert seen.seen_at == clock.now()
    assert recorder.answer(answer.exchange).body == b"hello"


def test_the_same_answer_at_another_time_is_the_same_exchange(recording: Recording, clock: SimulatedClock) -> None:
    first = recording(Host(ok(Date="today", **{"X-RateLimit-Remaining": "7"}))).ask("GET", URL).exchange
    clock.sleep(100)
    again = recording(Host(ok(Date="tomorrow", **{"X-RateLimit-Remaining": "6"})), again=True).ask("GET", URL).exchange
    assert first.id == again.id


@pytest.mark.parametrize("status", [200, 204, 400, 401, 403, 418])
def test_a_settled_answer_is_not_asked_for_again(recording: Recording, clock: SimulatedClock, status: int) -> None:
    host = Host(httpx2.Response(status))
    recording(host).ask("GET", URL)
    clock.sleep(timedelta(days=30).total_seconds())
    assert recording(host).ask("GET", URL).status == status
    assert len(host.asked) == 1


def test_another_epoch_and_a_second_look_ask_again(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(ok())
    recording(host).ask("GET", URL)
    clock.sleep(1)
    recording(host, epoch="refresh").ask("GET", URL)
    clock.sleep(1)
    second = recording(host, epoch="refresh", again=True)
    second.ask("GET", URL)
    second.ask("GET", URL)
    assert len(host.asked) == 3


@pytest.mark.parametrize(
    "answer",
    [httpx2.Response(503), httpx2.Response(429), httpx2.Response(404), httpx2.ConnectError("Connection refused")],
)
def test_an_unsettled_answer_is_asked_for_again_a_day_later_and_not_before(
    recording: Recording, clock: SimulatedClock, answer: httpx2.Response | Exception
) -> None:
    once = Limits(attempts=1)
    host = Host(answer)
    recording(host, limits=once).ask("GET", URL)
    recording(host, limits=once).ask("GET", URL)
    assert len(host.asked) == 1
    clock.sleep(timedelta(hours=25).total_seconds())
    recording(host, limits=once).ask("GET", URL)
    assert len(host.asked) == 2


def test_gone_needs_two_looks_a_day_apart(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(httpx2.Response(404))
    recorder = recording(host)
    exchange = recorder.ask("GET", URL).exchange
    assert not recorder.gone_twice(exchange)
    clock.sleep(23 * 3600)
    second = recording(host, again=True)
    assert not second.gone_twice(second.ask("GET", URL).exchange)
    clock.sleep(2 * 3600)
    third = recording(host, again=True)
    assert third.gone_twice(third.ask("GET", URL).exchange)
    clock.sleep(timedelta(days=9).total_seconds())
    recording(host).ask("GET", URL)
    assert len(host.asked) == 3


def test_a_page_that_came_back_in_between_was_not_gone(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(httpx2.Response(404), ok(), httpx2.Response(404))
    for _ in range(3):
        recorder = recording(host, again=True)
        exchange = recorder.ask("GET", URL).exchange
        clock.sleep(25 * 3600)
    assert not recorder.gone_twice(exchange)


def test_trouble_in_between_proves_nothing_either_way(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(httpx2.Response(404), httpx2.Response(503), httpx2.Response(404))
    for _ in range(3):
        recorder = recording(host, again=True, limits=Limits(attempts=1))
        exchange = recorder.ask("GET", URL).exchange
        clock.sleep(25 * 3600)
    assert recorder.gone_twice(exchange)


def _says_gone(answer: Answer) -> bool | None:
    return None if answer.body == b"wait" else answer.body.startswith(b"not found")


@pytest.mark.parametrize(
    ("bodies", "gone"),
    [
        (["hello", "not found"], False),
        (["not found", "not found"], True),
        (["not found", "not found at noon"], True),
        (["not found", "wait", "not found"], True),
        (["not found", "hello", "not found"], False),
        (["hello", "wait", "not found"], False),
    ],
)
def test_a_page_is_gone_only_if_its_body_said_so_twice_and_nothing_else_between(
    recording: Recording, clock: SimulatedClock, bodies: list[str], gone: bool
) -> None:
    host = Host(*(ok(body.encode()) for body in bodies))
    for number in range(len(bodies)):
        clock.sleep(25 * 3600 if number else 0)
        recorder = recording(host, again=True)
        exchange = recorder.ask("GET", URL, says_gone=_says_gone).exchange
    assert recorder.said_gone_twice(exchange, _says_gone) is gone
    clock.sleep(25 * 3600)
    recording(host).ask("GET", URL, says_gone=_says_gone)
    assert len(host.asked) == len(bodies) + (not gone)


def test_two_not_found_pages_within_a_day_are_one_look(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(ok(b"not found"), ok(b"not found at noon"))
    recording(host).ask("GET", URL, says_gone=_says_gone)
    clock.sleep(23 * 3600)
    recorder = recording(host, again=True)
    assert not recorder.said_gone_twice(recorder.ask("GET", URL).exchange, _says_gone)


def test_a_cut_answer_does_not_stand_in_for_a_longer_one_nor_the_other_way_round(recording: Recording) -> None:
    host = Host(ok(b"x" * 5000, ETag='"v1"'))
    recorder = recording(host)
    short, long = recorder.ask("GET", URL, limit=1000), recorder.ask("GET", URL, limit=9000)
    assert (len(short.body), len(long.body)) == (1000, 5000)
    assert "if-none-match" not in host.asked[1].headers
    assert TRUNCATED not in long.headers
    for again in (recorder, recording(host, mode="replay")):
        assert again.ask("GET", URL, limit=1000).exchange == short.exchange
        assert again.ask("GET", URL, limit=9000).exchange == long.exchange
        assert again.ask("GET", URL, limit=6000).exchange == long.exchange
    assert len(host.asked) == 2
    with pytest.raises(NotRecorded):
        recording(host, mode="replay").ask("GET", URL, limit=2000)


def test_it_waits_and_tries_again_on_the_injected_clock(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(httpx2.Response(503), httpx2.Response(429, headers={"retry-after": "120"}), ok())
    start = clock.now()
    recorder = recording(host)
    assert recorder.ask("GET", URL).status == 200
    assert clock.now() - start >= timedelta(seconds=122)
    attempts = [s.attempt for s in recorder.record.seen(request_key("GET", URL, None, False))]
    assert attempts == [1, 2, 3]


def test_a_rate_limit_reset_is_waited_for(recording: Recording, clock: SimulatedClock) -> None:
    reset = str(int(clock.now().timestamp()) + 900)
    spent = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    host = Host(httpx2.Response(403, headers=spent, content=b'{"message":"API rate limit exceeded"}'), ok())
    start = clock.now()
    assert recording(host).ask("GET", "https://api.github.com/repos/a/b").status == 200
    assert clock.now() - start >= timedelta(seconds=900)


def test_it_gives_up_after_its_attempts_and_when_a_host_asks_for_too_long(recording: Recording) -> None:
    host = Host(httpx2.Response(429))
    answer = recording(host, limits=Limits(attempts=3)).ask("GET", URL)
    assert len(host.asked) == 3
    assert answer.headers[RATE_LIMITED] == "true"
    far = Host(httpx2.Response(429, headers={"retry-after": "999999"}))
    recording(far).ask("GET", "https://example.org/far")
    assert len(far.asked) == 1


def test_a_refusal_is_no_rate_limit(recording: Recording) -> None:
    host = Host(httpx2.Response(403, content=b"Forbidden"))
    assert RATE_LIMITED not in recording(host).ask("GET", URL).headers
    assert len(host.asked) == 1


def test_no_sentence_of_the_patience_is_said_twice() -> None:
    lines = [line.strip() for line in (wait_before.__doc__ or "").splitlines()]
    assert len(lines) == len(set(lines)) > 0


def test_requests_to_one_host_keep_their_distance(recording: Recording, clock: SimulatedClock) -> None:
    recorder = recording(Host(ok()))
    start = clock.now()
    for number in range(5):
        recorder.ask("GET", f"https://export.arxiv.org/api/query?start={number}")
    assert clock.now() - start >= timedelta(seconds=12)


FAULTS = [
    (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "nxdomain"),
    (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), "unreachable"),
    (ConnectionRefusedError(111, "Connection refused"), "refused"),
    (ssl.SSLCertVerificationError(1, "certificate verify failed"), "tls"),
    (ConnectionResetError(104, "reset"), "reset"),
    (TimeoutError("timed out"), "timeout"),
    (OSError(101, "Network is unreachable"), "unreachable"),
]


@pytest.mark.parametrize(("cause", "fault"), FAULTS)
def test_faults_are_exchanges_told_apart_by_their_cause(recording: Recording, cause: OSError, fault: str) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("no connection", request=request) from cause

    recorder = recording(answer, limits=Limits(attempts=1))
    exchange = recorder.ask("GET", URL).exchange
    assert (exchange.status, exchange.fault) == (None, fault)
    assert recorder.record.get_exchange(exchange.id) == exchange


def test_redirects_are_followed_five_times_and_kept(recording: Recording) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        step = int(request.url.path.strip("/"))
        return httpx2.Response(301, headers={"location": f"/{step + 1}"}) if step < 9 else ok()

    fine = recording(answer).ask("GET", "https://example.org/5").exchange
    assert fine.status == 200
    assert fine.final_url == "https://example.org/9"
    assert [url for _, url in fine.redirects] == [f"https://example.org/{n}" for n in range(5, 9)]
    endless = recording(answer).ask("GET", "https://example.org/1").exchange
    assert endless.status == 301
    assert len(endless.redirects) == 5


def test_credentials_are_marked_stay_on_their_host_and_are_never_stored(
    recording: Recording, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    token = "ghp_" + "S3cret" * 6
    hosts: dict[str, str | None] = {}

    def answer(request: httpx2.Request) -> httpx2.Response:
        hosts[request.url.host] = request.headers.get("authorization")
        if request.url.host == "api.github.com":
            location = f"https://cdn.example.org/f?X-Amz-Signature=abc123&u={token}"
            return httpx2.Response(302, headers={"location": location})
        return ok(f"you sent {token}".encode(), **{"X-Error-Message": f"bad {token}"})

    recorder = recording(answer)
    url = f"https://api.github.com/x?access_token={token}"
    exchange = recorder.ask("GET", url, headers={"Authorization": f"Bearer {token}"}).exchange
    assert exchange.authenticated
    assert hosts == {"api.github.com": f"Bearer {token}", "cdn.example.org": None}
    assert "abc123" not in exchange.final_url
    store.engine.dispose()
    kept = b"".join(p.read_bytes() for p in sorted(store.root.rglob("*")) if p.is_file())
    assert len(kept) > 1000
    assert token.encode() not in kept
    assert token not in caplog.text
    assert token not in repr(exchange)


def test_an_anonymous_question_is_not_answered_from_one_with_credentials(recording: Recording) -> None:
    host = Host(ok())
    recorder = recording(host)
    recorder.ask("GET", URL, headers={"authorization": "Bearer t0ken-t0ken"})
    assert not recorder.ask("GET", URL).exchange.authenticated
    assert len(host.asked) == 2


def test_a_login_is_sent_every_time_and_neither_password_nor_token_is_kept(recording: Recording, store: Store) -> None:
    host = Host(ok(b'{"token": "tok-secret-9"}'))
    recorder = recording(host)
    for _ in range(2):
        answer = recorder.ask("POST", "https://api2.openreview.net/login", body=b'{"password": "pw-secret-8"}')
        assert b"tok-secret-9" in answer.body
        assert answer.exchange.body_sha256 is None
    assert len(host.asked) == 2
    store.engine.dispose()
    kept = b"".join(p.read_bytes() for p in store.root.rglob("*") if p.is_file())
    assert b"secret" not in kept


def test_what_did_not_change_is_a_new_sighting_of_the_old_answer(recording: Recording, clock: SimulatedClock) -> None:
    host = Host(ok(ETag='"v1"'), httpx2.Response(304, headers={"etag": '"v1"'}), ok(b"new", ETag='"v2"'))
    first = recording(host).ask("GET", URL)
    clock.sleep(60)
    recorder = recording(host, epoch="refresh")
    second = recorder.ask("GET", URL)
    assert host.asked[1].headers["if-none-match"] == '"v1"'
    assert (second.exchange, second.body) == (first.exchange, b"hello")
    assert [s.epoch for s in recorder.record.seen(request_key("GET", URL, None, False))] == ["epoch", "refresh"]
    clock.sleep(60)
    assert recording(host, again=True, epoch="refresh").ask("GET", URL).body == b"new"


def test_long_bodies_are_cut_and_say_so(recording: Recording) -> None:
    recorder = recording(Host(ok(b"x" * 100_000)))
    answer = recorder.ask("GET", URL, limit=1000)
    assert len(answer.body) == 1000
    assert answer.headers[TRUNCATED] == "true"


def test_clients_see_the_real_url_and_the_final_answer(recording: Recording) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/old":
            return httpx2.Response(301, headers={"location": "https://example.org/new"})
        return ok(b'{"a": 1}', **{"Content-Type": "application/json"})

    recorder = recording(answer)
    session = requests.Session()
    session.mount("https://", recorder.adapter())
    with recorder.call() as seen:
        by_requests = session.get("https://example.org:443/old")
        by_httpx2 = recorder.client.get("https://example.org/old")
    assert by_requests.json() == by_httpx2.json() == {"a": 1}
    assert by_requests.url == "https://example.org/new"
    assert [e.url for e in seen] == ["https://example.org/old"] * 2
    assert seen[0].id == seen[1].id


def test_clients_raise_their_own_exceptions_for_faults(recording: Recording) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("x", request=request) from ConnectionRefusedError(111, "Connection refused")

    recorder = recording(answer)
    session = requests.Session()
    session.mount("https://", recorder.adapter())
    with pytest.raises(requests.ConnectionError, match="refused"):
        session.get(URL)
    with pytest.raises(httpx2.ConnectError, match="refused"):
        recorder.client.get(URL)


def test_calls_collect_their_own_exchanges_in_order_and_threads_do_not_mix(recording: Recording) -> None:
    recorder = recording(Host(ok()), limits=Limits(interval=0))

    def one(name: int) -> list[str]:
        with recorder.call() as outer:
            recorder.ask("GET", f"https://example.org/{name}/1")
            with recorder.call() as inner:
                recorder.ask("GET", f"https://example.org/{name}/2")
            recorder.ask("GET", f"https://example.org/{name}/3")
        assert [e.url for e in inner] == [f"https://example.org/{name}/2"]
        return [e.url for e in outer]

    with ThreadPoolExecutor(8) as pool:
        for name, urls in enumerate(pool.map(one, range(40))):
            assert urls == [f"https://example.org/{name}/{n}" for n in (1, 2, 3)]


def test_two_threads_with_one_question_ask_it_once(recording: Recording) -> None:
    gate = threading.Barrier(8)
    host = Host(ok())
    recorder = recording(host)

    def one(_: int) -> int | None:
        gate.wait(10)
        return recorder.ask("GET", URL).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(8))) == {200}
    assert len(host.asked) == 1


def test_replay_answers_from_the_record_alone_and_is_loud_about_the_rest(recording: Recording) -> None:
    host = Host(httpx2.Response(404, headers={"content-type": "text/html"}, content=b"no"))
    first = recording(host).ask("GET", URL)
    replay = recording(host, mode="replay", epoch="whichever", run="replay")
    again = replay.ask("GET", URL)
    assert (again.exchange, again.body) == (first.exchange, b"no")
    with pytest.raises(NotRecorded, match=r"GET https://example.org/other"):
        replay.ask("GET", "https://example.org/other")
    assert len(host.asked) == 1


def test_replay_does_without_the_token_that_the_record_was_made_with(recording: Recording) -> None:
    host = Host(ok())
    recording(host).ask("GET", URL, headers={"authorization": "Bearer t0ken-t0ken"})
    assert recording(host, mode="replay").ask("GET", URL).exchange.authenticated


def test_a_damaged_body_is_an_error_and_not_an_answer(recording: Recording, store: Store) -> None:
    recorder = recording(Host(ok(b"evidence")))
    exchange = recorder.ask("GET", URL).exchange
    assert exchange.body_sha256 is not None
    Path(store.root / "blobs" / exchange.body_sha256[:2] / exchange.body_sha256[2:]).write_bytes(b"tampered")
    with pytest.raises(Exception, match="damaged"):
        recorder.answer(exchange)
