"""A page over many made rows in a process of its own, and people who decide on it over HTTP."""

from __future__ import annotations

import http.client
import multiprocessing
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from audit_ui.app import app
from audit_ui.given import Given, Guide, Pool
from pipeline import accounts
from pipeline.derivation import Derivation, Rules, derive
from pipeline.editions import Edition
from pipeline.ledger import Ledger
from pipeline.paper import Paper, read
from pipeline.record import Record
from pipeline.store import Store
from tests.audit_ui.conftest import PASSWORD, agreement
from tests.release import made

ROOT = Path(__file__).resolve().parents[2]
EDITION: Edition = made.EDITION.model_copy(
    update={"name": "crowd", "sample": 400, "pool_size": 400, "eval_size": 99, "dev_per_tier": 5}
)


def people(count: int) -> list[str]:
    return [f"reader{n:02}" for n in range(count)]


def pool(count: int, paper: Path | None = None) -> Pool:
    """So many rows of every tier and band; `paper`: the sources that the first of them is shown with."""
    found = [made.inputs(n, tier=made.TIERS[n % 3], hours=made.HOURS[n % 7] + 0.001 * n) for n in range(count)]
    receipts = {r.id: r for _, some in found for r in some}
    rows = tuple(derive(inputs, receipts, Rules.of(EDITION)) for inputs, _ in found)
    files = (
        {} if paper is None else {str(p.relative_to(paper)): p.read_bytes() for p in paper.rglob("*") if p.is_file()}
    )

    def read_paper(arxiv_id: str) -> Paper:
        n = int(arxiv_id.split(".")[1])
        return read(files if files and n == 0 else made.source(n))

    return Pool(print="1", rows=rows, sample=rows, receipts=receipts, paper=read_paper)


def serve(folder: Path, port: int, rows: int, count: int, database: str | None, paper: Path | None) -> None:
    accounts._N = 2  # the passwords of a crowd at full strength take seconds
    store = Store(folder, database)
    chosen = pool(rows, paper)
    record = Record(store.engine)
    for receipt in chosen.receipts.values():
        exchange = made.exchange_of(int(receipt.paper.split(".")[1]), receipt.tool, receipt.subject)
        record.put_exchange(exchange, seen_at=made.WHEN, attempt=1, run="made", epoch="made")
    page = app(
        Given(
            store=store,
            edition=EDITION,
            pool=lambda: chosen,
            recheck=lambda receipt: receipt,
            guide=Guide(version=1, text="# Guide\n"),
            secret="x" * 40,
            calibrate=False,
        )
    )
    known = {one.name for one in page.state.site.desk.accounts.all()}
    for name in people(count):
        if name not in known:
            page.state.site.desk.accounts.add(name, "auditor", PASSWORD, datetime.now(UTC))
    page.state.site.desk.fresh()
    threading.Thread(target=page.state.site.desk.warm, daemon=True).start()
    uvicorn.run(page, port=port, log_level="warning")


_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.audit_ui.crowd"])  # so that a page starts in a moment


@contextmanager
def serving(
    store: Path, port: int, rows: int = 200, count: int = 20, database: str | None = None, paper: Path | None = None
) -> Iterator[BaseProcess]:
    server = _processes.Process(target=serve, args=(store, port, rows, count, database, paper), daemon=True)
    server.start()
    try:
        _wait(port, server)
        yield server
    finally:
        server.terminate()
        server.join()


def _wait(port: int, server: BaseProcess) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            Client(port).get("/login")
            return
        except OSError:
            assert server.is_alive(), "the page's process ended"
            time.sleep(0.05)
    raise AssertionError(f"nothing answers on port {port}")


class Client:
    """One person's connection: a session, and a token for forms."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.cookies: dict[str, str] = {}
        self.csrf = ""

    def _ask(self, method: str, path: str, fields: dict[str, str | Sequence[str]] | None = None) -> tuple[int, str]:
        headers = {"cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        if fields is not None:
            headers |= {"content-type": "application/x-www-form-urlencoded", "hx-request": "true"}
        self.connection.request(method, path, None if fields is None else urlencode(fields, doseq=True), headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        for name, value in answer.getheaders():
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        place = answer.getheader("location")
        return (answer.status, place) if place else (answer.status, text)

    def get(self, path: str) -> str:
        """A page, redirects followed."""
        status, text = self._ask("GET", path)
        while status == 303:
            path = text
            status, text = self._ask("GET", path)
        assert status == 200, (path, status, text[:300])
        return text

    def post(self, path: str, fields: dict[str, str | Sequence[str]]) -> tuple[int, str]:
        return self._ask("POST", path, fields | {"csrf": self.csrf})

    def enter(self, name: str) -> None:
        self.csrf = hidden(self.get("/login"), "csrf")
        self.post("/login", {"name": name, "password": PASSWORD, "next": "/"})
        self.csrf = hidden(self.get("/guide"), "csrf")


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    return "" if found is None else found[1]


@cache
def _rows(count: int) -> dict[str, Derivation]:
    return {row.arxiv_id: row for row in pool(count).rows}


@dataclass
class Reader:
    """Somebody who agrees with every row they are given. `took`: seconds from each press of a key to the answer;
    `acknowledged`: what the page said was saved, (paper, question)."""

    name: str
    port: int
    rows: int
    took: list[float] = field(default_factory=list)
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def read(self, until: float, every: float, first: float = 0.0) -> None:
        """Decide every so many seconds; ends at `until` (monotonic), when no row is left, or when the page is gone."""
        client = Client(self.port)
        try:
            client.enter(self.name)
            page = client.get("/next")
            due = time.monotonic() + first
            while time.monotonic() < until:
                question = hidden(page.partition('class="answer"')[2], "question")
                if not question:
                    page = client.get("/next")
                    if 'class="answer"' not in page:
                        return
                    continue
                time.sleep(max(0.0, due - time.monotonic()))
                due = max(due + every, time.monotonic())
                page = self._decide(client, page, question)
        except (OSError, http.client.HTTPException):
            return  # killed: what was not acknowledged may be lost

    def _decide(self, client: Client, page: str, question: str) -> str:
        form = page.partition('class="answer"')[2]
        paper = re.search(r'action="/answer/([^"]+)"', page)
        assert paper is not None
        value, more = agreement(_rows(self.rows)[paper[1]], question)
        fields = {name: hidden(form, name) for name in ("question", "row_hash", "after")}
        begun = time.perf_counter()
        status, answer = client.post(f"/answer/{paper[1]}", {**fields, "value": value, "active_ms": "2000", **more})
        self.took.append(time.perf_counter() - begun)
        if status == 200:
            self.acknowledged.append((paper[1], question))
        else:
            self.refused.append(answer[:500])
            return client.get("/next")
        return answer


def crowd(port: int, count: int, rows: int, seconds: float, every: float) -> list[Reader]:
    """So many people at once, each deciding every so many seconds, not all in the same moment."""
    readers = [Reader(name, port, rows) for name in people(count)]
    _rows(rows)  # once, before everybody wants them
    until = time.monotonic() + seconds
    threads = [
        threading.Thread(target=one.read, args=(until, every, every * n / count)) for n, one in enumerate(readers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return readers


def ledger(store: Path, database: str | None = None) -> Ledger:
    return Ledger(Store(store, database).engine, EDITION.name)
