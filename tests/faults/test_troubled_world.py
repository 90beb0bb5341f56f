"""Five in a hundred answers are trouble in place of what the world says. Labels come out as without it, or stay
undetermined: trouble never makes a thing unavailable. And a recorded run comes out again, byte for byte, with nobody
to ask."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2
import pytest

from assets import bundles, classification, corpus
from assets.workplace import Workplace, load_edition
from pipeline.evidence import Signal, Status
from pipeline.labels import Label
from pipeline.offline.transports import WorldTransport
from pipeline.sources.recorder import Mode
from pipeline.store import Store
from tests.e2e import tiny
from tests.e2e.tiny import Tiny

PAGE = b"<!DOCTYPE html><html><title>Rate limit</title><body>You have exceeded a secondary rate limit.</body></html>"
HTML = {"content-type": "text/html; charset=utf-8"}


class Troubled:
    """The world, but for a seeded share of its answers. Which ones depends on the question and on how often it was
    asked, not on which thread was first."""

    KINDS = ("429", "500", "page with 403", "page with 200", "timeout", "reset", "cut short", "cut silently")

    def __init__(self, seed: int, share: float) -> None:
        self._seed, self._share = seed, share
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.done: Counter[str] = Counter()

    def ask(self, world: Callable[[httpx2.Request], httpx2.Response], request: httpx2.Request) -> httpx2.Response:
        question = f"{request.method} {request.url} {request.headers.get('range')}"
        with self._lock:
            self._asked[question] += 1
            draw = random.Random(f"{self._seed} {question} {self._asked[question]}")
            kind = draw.choice(self.KINDS) if draw.random() < self._share else ""
            self.done[kind] += 1
        if kind == "429":
            return httpx2.Response(429, headers={"retry-after": "30"})
        if kind == "500":
            return httpx2.Response(500, headers=HTML, content=b"<h1>Server Error</h1>")
        if kind.startswith("page with"):
            return httpx2.Response(int(kind[-3:]), headers=HTML, content=PAGE)
        if kind == "timeout":
            raise httpx2.ReadTimeout("no answer", request=request)
        if kind == "reset":
            raise httpx2.ReadError("reset", request=request) from ConnectionResetError(104, "reset")
        whole = world(request)
        if not kind:
            return whole
        body = whole.read()
        if kind == "cut short" and len(body) > 1:
            raise httpx2.RemoteProtocolError("peer closed connection without sending complete message body")
        headers = {**dict(whole.headers), "content-length": str(len(body))}
        headers.pop("content-encoding", None)
        return httpx2.Response(whole.status_code, headers=headers, stream=httpx2.ByteStream(body[: len(body) // 2]))


def nowhere(_: WorldTransport, request: httpx2.Request) -> httpx2.Response:
    raise AssertionError(f"{request.url} was asked for")


def classified(made: Tiny, mode: Mode = "record") -> tuple[dict[str, tuple[Label, ...]], bytes]:
    """Labels by paper, and the rows' bytes, of the stages that ask the world. No stage is replaced."""
    store = Store.open(made.root)
    work = Workplace(load_edition(str(made.toml), store), store, say=lambda _: None, mode=mode)
    try:
        for stage in (corpus, bundles, classification):
            stage.STAGE.run(work, "print")
        rows = work.store.table_path(work.edition.name, "rows").read_bytes()
        return {d.arxiv_id: d.labels for d in classification.derivations(work)}, rows
    finally:
        assert work.world is not None
        work.world.close()


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tiny, Mapping[str, tuple[Label, ...]], bytes]:
    made = tiny.make(tmp_path_factory.mktemp("clean") / "tiny")
    return (made, *classified(made))


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "share"), [(1, 0.05), (2, 0.05), (6, 0.3)])
def test_trouble_leaves_labels_as_they_are_or_undetermined(
    seed: int,
    share: float,
    clean: tuple[Tiny, Mapping[str, tuple[Label, ...]], bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trouble, world = Troubled(seed, share), WorldTransport.handle_request
    monkeypatch.setattr(
        WorldTransport, "handle_request", lambda self, request: trouble.ask(lambda r: world(self, r), request)
    )
    _, expected, _ = clean
    found, _ = classified(tiny.make(tmp_path / "tiny"))
    done = trouble.done
    assert sum(done.values()) - done[""] >= 60 * share, f"no trouble to speak of: {done}"
    settled = 0
    for paper, labels in found.items():
        for before, after in zip(expected[paper], labels, strict=True):
            if after.status is Status.UNVERIFIED:
                continue
            assert (after.value, after.verification) == (before.value, before.verification), (paper, before, after)
            settled += 1
    known = sum(label.status is not Status.UNVERIFIED for labels in expected.values() for label in labels)
    assert settled >= known * (0.9 - 2 * share), f"{settled} of {known} labels came out at all"
    assert {label.signal for labels in found.values() for label in labels} == set(Signal)


@pytest.mark.slow
def test_a_recorded_run_comes_out_again_byte_for_byte_with_the_network_cut(
    clean: tuple[Tiny, Mapping[str, tuple[Label, ...]], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, labels, rows = clean
    again = made.copy(tmp_path / "again")
    before = again.count("sightings")
    for table in ("episodes", "receipts"):
        with again.store.engine.begin() as connection:
            connection.exec_driver_sql(f"delete from {table}")
    for name in ("papers", "bundles", "rows", "receipts"):
        again.store.table_path(again.name, name).unlink()
    monkeypatch.setattr(WorldTransport, "handle_request", nowhere)
    assert classified(again, mode="replay") == (labels, rows)
    assert again.count("episodes") == made.count("episodes") > 5
    assert again.count("sightings") == before > 20
