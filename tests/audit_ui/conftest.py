"""The audit page over the release tests' made rows, and people who use it as a browser without JavaScript would."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from audit_ui.app import app
from audit_ui.flow import BLIND
from audit_ui.given import Given, Guide, Pool
from audit_ui.site import Site
from pipeline import accounts
from pipeline.audit import verdict
from pipeline.derivation import Derivation, Inputs, Rules, derive
from pipeline.editions import Edition
from pipeline.evidence import Receipt
from pipeline.paper import Paper, read
from pipeline.record import Record
from pipeline.release.compose import Material, pool_of
from pipeline.store import Store
from tests.release import made

PASSWORD = "correct horse battery"


@dataclass
class World:
    """The page and everything around it that a test may change."""

    given: Given
    pool: Pool
    clock: list[datetime] = field(default_factory=lambda: [made.WHEN])

    def __post_init__(self) -> None:
        self.app = app(replace(self.given, pool=lambda: self.pool, now=self.now))

    def now(self) -> datetime:
        self.clock[0] += timedelta(seconds=1)
        return self.clock[0]

    @property
    def site(self) -> Site:
        return self.app.state.site  # type: ignore[no-any-return]

    @property
    def papers(self) -> list[str]:
        return [row.arxiv_id for row in self.pool.rows]

    def row(self, paper: str) -> Derivation:
        found = self.pool.row(paper)
        assert found is not None
        return found

    def change(self, paper: str, **inputs: Any) -> Derivation:
        """Another build: one row says something else now."""

        def rebuilt(row: Derivation) -> Derivation:
            if row.arxiv_id != paper:
                return row
            changed = Inputs.model_validate({**row.inputs.model_dump(), **inputs})
            return derive(changed, self.pool.receipts, Rules.of(made.EDITION))

        rows = tuple(map(rebuilt, self.pool.rows))
        self.pool = replace(self.pool, print=self.pool.print + "+", rows=rows)
        return self.row(paper)

    def person(self, name: str, role: str = "auditor") -> Person:
        if name not in {one.name for one in self.site.desk.accounts.all()}:
            self.site.desk.accounts.add(name, role, PASSWORD, self.now())
        person = Person(self, name, TestClient(self.app, base_url="http://127.0.0.1"))
        person.enter()
        return person


@dataclass
class Person:
    world: World
    name: str
    browser: TestClient
    csrf: str = ""

    def enter(self, password: str = PASSWORD) -> httpx.Response:
        door = self.browser.get("/login").text
        fields = {"name": self.name, "password": password, "csrf": hidden(door, "csrf"), "next": "/guide"}
        answer = self.browser.post("/login", data=fields)
        if "/logout" in answer.text:
            self.csrf = hidden(answer.text, "csrf")
        return answer

    def sees(self, paper: str, question: str = "") -> str:
        return self.browser.get(f"/paper/{paper}" + (f"?q={question}" if question else "")).text

    def fields(self, paper: str, question: str, value: str, **more: Any) -> dict[str, Any]:
        """What the question's form holds; that the page does hold it is a test of its own."""
        desk, row = self.world.site.desk, self.world.row(paper)
        desk.fresh()
        last = desk.reading(self.name, row).last.get(question, "")  # type: ignore[call-overload]
        form = {"question": question, "row_hash": row.row_hash, "after": last, "csrf": self.csrf}
        return {**form, "value": value, "active_ms": "2500", **more}

    def says(self, paper: str, question: str, value: str, **more: Any) -> httpx.Response:
        return self.posts(f"/answer/{paper}", self.fields(paper, question, value, **more))

    def posts(self, path: str, fields: dict[str, Any], htmx: bool = True) -> httpx.Response:
        headers = {"HX-Request": "true"} if htmx else {}
        return self.browser.post(path, data=fields, headers=headers)

    def agrees(self, paper: str, question: str) -> httpx.Response:
        value, more = agreement(self.world.row(paper), question)
        return self.says(paper, question, value, **more)

    def reads(self, paper: str, **other: str) -> None:
        """Answer everything as the row says, but for `other`."""
        for question in (*BLIND, "claim", "target", "bar", "hours", "eligibility"):
            if question in other:
                assert self.says(paper, question, other[question], why="seen otherwise").status_code == 200
            else:
                assert self.agrees(paper, question).status_code == 200


def agreement(row: Derivation, question: str) -> tuple[str, dict[str, Any]]:
    value = verdict(row, question)  # type: ignore[arg-type]
    if isinstance(value, list):
        return ("ticked", {"need": value}) if value else ("nothing", {})
    words: dict[Any, str] = {True: "yes", False: "no", "not_needed": "na", "stands": "yes"}
    return words.get(value, value), {}


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, f"the page has no field {name}"
    return found[1]


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """One scrypt at full strength takes as long as ten of these tests."""
    monkeypatch.setattr(accounts, "_N", 2)


def build(
    folder: Path,
    *,
    sources: Callable[[int], dict[str, bytes]] = made.source,
    receipts: Callable[[Receipt], Receipt] = lambda r: r,
    recheck: Callable[[Receipt], Receipt] = lambda r: r,
    calibrate: bool = False,
    edition: Edition = made.EDITION,
    **changes: Any,
) -> World:
    store, held = Store(folder / "store"), material()
    known = {id_: receipts(r) for id_, r in held.receipts.items()}
    record = Record(store.engine)
    for receipt in known.values():
        n = int(receipt.paper.split(".")[1])
        exchange = made.exchange_of(n, receipt.tool, held.receipts[receipt.id].subject)
        store.blobs.put(made.body(n, receipt.tool, held.receipts[receipt.id].subject))
        record.put_exchange(exchange, seen_at=made.WHEN, attempt=1, run="made", epoch="made")
    rows = [derive(i.model_copy(update=changes), known, Rules.of(made.EDITION)) for i in held.sample]
    chosen = set(pool_of(rows, made.EDITION).ids)

    def paper(arxiv_id: str) -> Paper:
        return read(sources(int(arxiv_id.split(".")[1])))

    pool = Pool(
        print="1",
        rows=tuple(row for row in rows if row.arxiv_id in chosen),
        sample=tuple(rows),
        receipts=known,
        paper=paper,
    )
    given = Given(
        store=store,
        edition=edition,
        pool=lambda: pool,
        recheck=recheck,
        guide=Guide(version=1, text="# Guide\n\nVersion 1\n"),
        secret="x" * 40,
        calibrate=calibrate,
    )
    return World(given, pool)


@cache
def material() -> Material:
    return made.material([])


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("shared"))


_numbers = count(1)


@pytest.fixture
def world(shared: World) -> World:
    """A page of its own: the same rows as an edition of another name, in one store, which has all accounts."""
    edition = made.EDITION.model_copy(update={"name": f"made-{next(_numbers)}"})
    return World(replace(shared.given, edition=edition), shared.pool)
