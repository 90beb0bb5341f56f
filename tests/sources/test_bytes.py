"""A look takes the first bytes of a thing, follows five redirects and no more, and keeps how it got there."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator

import httpx2
import pytest

from pipeline.evidence import Outcome
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.recorder import TRUNCATED, Recorder

Recording = Callable[..., Recorder]
PAPER = PaperFacts(title="Lantern Attention for Foggy Graphs")
CHUNK = bytes(range(256)) * 256


class Endless(httpx2.SyncByteStream):
    """A body that never ends, and how much of it was taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.taken += len(CHUNK)
            yield CHUNK


def hub_with(stream: Endless, status: int, headers: dict[str, str]) -> Callable[[httpx2.Request], httpx2.Response]:
    """A Hub whose one file comes as this stream."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        if "/api/" in request.url.path:
            sibling = {"rfilename": "model.safetensors", "size": 500_000_000_000}
            return httpx2.Response(200, json={"id": "fog/lantern", "sha": "c" * 40, "siblings": [sibling]})
        assert request.headers["range"] == "bytes=0-2047"
        assert request.headers["accept-encoding"] == "identity"
        assert "authorization" not in request.headers
        return httpx2.Response(status, headers=headers, stream=stream)

    return answer


@pytest.mark.parametrize(
    ("status", "headers"), [(206, {"content-range": "bytes 0-2047/500000000000"}), (200, {"accept-ranges": "none"})]
)
def test_the_first_bytes_of_half_a_terabyte_are_enough_also_where_a_host_knows_no_ranges(
    recording: Recording, status: int, headers: dict[str, str]
) -> None:
    stream = Endless()
    recorder = recording(hub_with(stream, status, headers))
    receipt = Probes("2505.00001", recorder, {}, PAPER).hub_repo("fog/lantern").receipt
    assert receipt.facts["weights_open"] == ["model.safetensors"]
    assert stream.taken <= 2 * len(CHUNK)
    kept = recorder.record.get_exchange(receipt.exchanges[-1])
    assert kept is not None
    assert kept.body_size == 2048
    assert dict(kept.headers)[TRUNCATED] == "true"


def test_a_page_without_end_is_cut_and_a_small_bomb_stays_small(recording: Recording) -> None:
    stream = Endless()
    recorder = recording(lambda request: httpx2.Response(200, stream=stream))
    exchange = recorder.ask("GET", "https://example.org/fog").exchange
    assert exchange.body_size == recorder.limits.page_bytes
    assert stream.taken <= recorder.limits.page_bytes + 2 * len(CHUNK)
    bomb = gzip.compress(bytes(16 << 20))
    bombed = recording(lambda request: httpx2.Response(200, headers={"content-encoding": "gzip"}, content=bomb))
    assert bombed.ask("GET", "https://example.org/bomb").exchange.body_size == bombed.limits.page_bytes


@pytest.mark.parametrize(("hops", "reason"), [(5, ""), (6, "too_many_redirects"), (99, "too_many_redirects")])
def test_five_redirects_are_followed_and_a_sixth_says_nothing(recording: Recording, hops: int, reason: str) -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        number = int(request.url.path.strip("/"))
        if number == hops:
            return httpx2.Response(200, text="node,edge\n" + "1,2\n" * 80, headers={"content-type": "text/csv"})
        return httpx2.Response(302, headers={"location": f"/{number + 1}"})

    recorder = recording(answer)
    receipt = Probes("2505.00001", recorder, {}, PAPER).fetch_url("https://example.org/0").receipt
    exchange = recorder.record.get_exchange(receipt.exchanges[0])
    assert exchange is not None
    assert (receipt.outcome, receipt.reason) == (
        (Outcome.UNDETERMINED, reason) if reason else (Outcome.AVAILABLE, "a stranger gets its bytes")
    )
    assert asked == [f"/{number}" for number in range(min(hops, 5) + 1)]
    assert exchange.redirects == tuple((302, f"https://example.org/{number}") for number in range(min(hops, 5)))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_loop_ends_as_undetermined(recording: Recording, status: int) -> None:
    recorder = recording(lambda request: httpx2.Response(status, headers={"location": "/again"}))
    receipt = Probes("2505.00001", recorder, {}, PAPER).fetch_url("https://example.org/again").receipt
    assert (receipt.outcome, receipt.reason) == (Outcome.UNDETERMINED, "too_many_redirects")


def test_a_repository_that_was_private_and_opens_is_available_at_once(recording: Recording, clock: object) -> None:
    state = {"private": True}

    def answer(request: httpx2.Request) -> httpx2.Response:
        if state["private"]:
            return httpx2.Response(401, headers={"x-error-code": "RepoNotFound"})
        if "/api/" in request.url.path:
            sibling = {"rfilename": "model.safetensors", "size": 5_000_000}
            return httpx2.Response(200, json={"id": "fog/lantern", "siblings": [sibling]})
        return httpx2.Response(206, content=CHUNK[:2048])

    def look() -> tuple[Outcome, str]:
        receipt = Probes("2505.00001", recording(answer, again=True), {}, PAPER).hub_repo("fog/lantern").receipt
        clock.sleep(25 * 3600)  # type: ignore[attr-defined]
        return receipt.outcome, receipt.reason[:9]

    assert look() == (Outcome.UNDETERMINED, "gone_once")
    state["private"] = False
    assert look()[0] is Outcome.AVAILABLE
    state["private"] = True  # and what was seen before it opened counts no more
    assert look() == (Outcome.UNDETERMINED, "gone_once")
    assert look()[0] is Outcome.UNAVAILABLE


@pytest.mark.parametrize(
    ("status", "headers", "outcome", "reason"),
    [
        (401, {"x-error-code": "GatedRepo"}, Outcome.GATED, "gated_repository"),
        (403, {"x-error-code": "GatedRepo"}, Outcome.GATED, "gated_repository"),
        (403, {"x-error-message": "Access to this resource is disabled."}, Outcome.GATED, "disabled_by_host"),
        (401, {"x-error-code": "RepoNotFound"}, Outcome.UNDETERMINED, "gone_once: missing or private"),
        (404, {"x-error-code": "RepoNotFound"}, Outcome.UNDETERMINED, "gone_once: 404"),
        (404, {"x-error-code": "EntryNotFound"}, Outcome.UNDETERMINED, "a listed file is missing"),
        (404, {"x-error-code": "RevisionNotFound"}, Outcome.UNDETERMINED, "a listed file is missing"),
        (401, {}, Outcome.UNDETERMINED, "refused without a reason: 401"),
        (403, {}, Outcome.UNDETERMINED, "refused without a reason: 403"),
        (429, {}, Outcome.UNDETERMINED, "rate_limited"),
        (503, {}, Outcome.UNDETERMINED, "status_503"),
    ],
)
def test_what_the_hubs_error_codes_mean(
    recording: Recording, status: int, headers: dict[str, str], outcome: Outcome, reason: str
) -> None:
    of_file = reason.startswith("a listed")

    def answer(request: httpx2.Request) -> httpx2.Response:
        if of_file and "/api/" in request.url.path:
            sibling = {"rfilename": "model.safetensors", "size": 5_000_000}
            return httpx2.Response(200, json={"id": "fog/lantern", "siblings": [sibling]})
        return httpx2.Response(status, headers=headers)

    receipt = Probes("2505.00001", recording(answer), {}, PAPER).hub_repo("fog/lantern").receipt
    assert (receipt.outcome, receipt.reason[: len(reason)]) == (outcome, reason)


def test_a_bare_refusal_of_the_host_that_keeps_the_files_is_no_gate(recording: Recording) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if "/api/" in request.url.path:
            sibling = {"rfilename": "model.safetensors", "size": 5_000_000}
            return httpx2.Response(200, json={"id": "fog/lantern", "siblings": [sibling]})
        if request.url.host == "huggingface.co":
            return httpx2.Response(302, headers={"location": "https://cdn-lfs.hf.co/x"})
        return httpx2.Response(403, text="Access Denied")

    receipt = Probes("2505.00001", recording(answer), {}, PAPER).hub_repo("fog/lantern").receipt
    assert (receipt.outcome, receipt.reason) == (Outcome.UNDETERMINED, "refused without a reason: 403")
