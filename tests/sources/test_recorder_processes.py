"""Two worker processes over one record: limits are shared, nothing is fetched twice, and a killed worker loses nothing.

The world is a server on loopback that logs what it was asked, and when.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from pipeline.sources.clocks import SystemClock
from pipeline.sources.pacing import Limits
from pipeline.sources.recorder import Recorder
from pipeline.store import Store

INTERVAL = 0.05
SPAWN = multiprocessing.get_context("spawn")


class Service:
    """Answers every path with itself. `/slow…` takes a second; `/busy` says once "not now, in one second"."""

    def __init__(self) -> None:
        self.log: list[tuple[float, str]] = []
        self.busy = 1
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_GET(self) -> None:
                service.log.append((time.monotonic(), self.path))
                if self.path.startswith("/slow"):
                    time.sleep(1)
                limited = self.path == "/busy" and service.busy > 0
                service.busy -= limited
                self.send_response(429 if limited else 200)
                if limited:
                    self.send_header("Retry-After", "1")
                self.send_header("Content-Length", str(len(self.path)))
                self.end_headers()
                self.wfile.write(self.path.encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()
    yield found
    found.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What opens the store in any process."""
    root = {"root": str(tmp_path / "store")}
    if request.param == "sqlite":
        yield root
        return
    url = request.getfixturevalue("postgres_url")
    schema = f"recorder_{os.getpid()}_{time.time_ns()}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(f"create schema {schema}"))
    yield {**root, "database_url": f"{url}?options=-csearch_path%3D{schema}"}
    with engine.begin() as connection:
        connection.execute(sa.text(f"drop schema {schema} cascade"))
    engine.dispose()


class Loopback(httpx2.BaseTransport):
    """Leads every host to the service."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._inner = httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        return self._inner.handle_request(httpx2.Request(request.method, url, headers=request.headers))


def recorder(place: dict[str, Any], port: int, run: str) -> Recorder:
    store = Store(Path(place["root"]), place.get("database_url"))
    limits = Limits(interval=INTERVAL, first_wait=0.1)
    return Recorder(store, SystemClock(), run=run, epoch="live:e", transport=Loopback(port), limits=limits)


def work(place: dict[str, Any], port: int, run: str, paths: list[str], begin: Any, told: Any) -> None:
    mine = recorder(place, port, run)
    begin.wait(60)
    told.put((run, [mine.ask("GET", f"https://example.org{path}").body.decode() for path in paths]))


@dataclass
class Crew:
    """Worker processes, each with a list of paths to ask for. They begin together."""

    place: dict[str, Any]
    port: int
    tasks: dict[str, list[str]]
    workers: list[BaseProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        recorder(self.place, self.port, "tables")  # makes the tables
        self.begin, self.told = SPAWN.Barrier(len(self.tasks)), SPAWN.Queue()
        for run, paths in self.tasks.items():
            given = (self.place, self.port, run, paths, self.begin, self.told)
            self.workers.append(SPAWN.Process(target=work, args=given))
            self.workers[-1].start()

    def ends(self) -> dict[str, list[str]]:
        found = dict(self.told.get(timeout=60) for _ in self.workers)
        for worker in self.workers:
            worker.join(60)
        return found


@pytest.mark.slow
def test_two_workers_fetch_nothing_twice_and_keep_one_rhythm_and_one_hold(
    place: dict[str, Any], service: Service
) -> None:
    paths = ["/busy", *(f"/{n}" for n in range(20))]
    told = Crew(place, service.port, {"a": paths, "b": [paths[0], *reversed(paths[1:])]}).ends()
    asked = [path for _, path in service.log]
    assert sorted(asked) == sorted([*paths, "/busy"]), "only what was told to come again is asked twice"
    assert told["a"] == paths
    assert sorted(told["b"]) == sorted(paths)
    first, again = (at for at, path in service.log if path == "/busy")
    assert again - first >= 0.99
    assert not [path for at, path in service.log if first + 0.3 < at < first + 0.9], "a hold of one worker holds both"
    after = [at for at, _ in service.log if at >= first + 0.9]
    # Two rhythms side by side would take half as long. The server reads a request a little after it was sent.
    assert after[-1] - after[0] >= INTERVAL * (len(after) - 1) * 0.75
    totals = recorder(place, service.port, "look").record.totals()
    assert totals.all.requests == len(asked)


@pytest.mark.slow
def test_a_killed_worker_s_question_is_taken_over_and_its_answers_stay(place: dict[str, Any], service: Service) -> None:
    crew = Crew(place, service.port, {"victim": ["/1", "/2", "/slow", "/3"]})
    for _ in range(1_000):
        if "/slow" in [path for _, path in service.log]:
            break
        time.sleep(0.03)
    (victim,) = crew.workers
    victim.kill()
    victim.join(60)
    assert victim.exitcode == -signal.SIGKILL
    begun = time.monotonic()
    heir = recorder(place, service.port, "heir")
    bodies = [heir.ask("GET", f"https://example.org{path}").body.decode() for path in ("/1", "/2", "/slow", "/3")]
    assert bodies == ["/1", "/2", "/slow", "/3"]
    assert time.monotonic() - begun < 20, "the lease of a dead process of this machine is not waited out"
    assert [path for _, path in service.log] == ["/1", "/2", "/slow", "/slow", "/3"]


def test_a_question_that_another_worker_asks_now_is_waited_for_and_read(
    place: dict[str, Any], service: Service
) -> None:
    first, second = recorder(place, service.port, "a"), recorder(place, service.port, "b")
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(first.ask("GET", "https://example.org/slow").body))
    thread.start()
    while not service.log:
        time.sleep(0.01)
    found.append(second.ask("GET", "https://example.org/slow").body)
    thread.join(30)
    assert found == [b"/slow", b"/slow"]
    assert len(service.log) == 1


def test_the_lease_of_a_machine_that_went_away_runs_out(place: dict[str, Any], service: Service) -> None:
    mine = recorder(place, service.port, "a")
    key = "0" * 64
    with mine.record.engine.begin() as connection:
        connection.execute(
            sa.text("insert into leases (request, owner, until) values (:request, 'elsewhere:1 7 x', :until)"),
            {"request": f"live:{key}", "until": time.time() + 0.5},
        )
    begun = time.monotonic()
    with mine._leases.asking(key, 10):
        assert 0.4 < time.monotonic() - begun < 10
