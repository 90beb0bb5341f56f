"""The audit page over a tiny edition, and one person who reads every row of its pool over HTTP, whatever happens to it.

The page's clock is the ledger's own length, so that the same answers in the same order make the same chain, byte for
byte, however often the page was killed between them.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pipeline.derivation import Derivation
from tests.audit_ui.conftest import PASSWORD, agreement
from tests.audit_ui.crowd import Client, hidden

START = datetime(2025, 12, 2, 10, tzinfo=UTC)
WHO = "ada"
T = TypeVar("T")


def serve(root: str, edition: str, port: int) -> None:
    """Serve `reclaim ui`'s page until killed."""
    import uvicorn

    from assets.ui import page
    from assets.workplace import workplace
    from audit_ui.app import app

    with workplace(edition, Path(root)) as work:

        def now() -> datetime:
            return START + timedelta(seconds=sum(work.ledger.reach().values()))

        given = replace(page(work).state.site.given, calibrate=False, now=now)
        uvicorn.run(app(given), port=port, log_level="warning", timeout_keep_alive=600)


def account(root: Path) -> None:
    from pipeline.accounts import Accounts
    from pipeline.store import Store

    Accounts(Store.open(root).engine).add(WHO, "auditor", PASSWORD, START)


@dataclass
class Auditor:
    """Agrees with every row. `acknowledged`: what the page said was saved, (paper, question); an answer that the page
    did not acknowledge is sent again as it was, until it is answered."""

    rows: Mapping[str, Derivation]
    port: int
    restart: Callable[[], None]
    acknowledged: list[tuple[str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def read(self) -> None:
        self._client = Client(self.port)
        self._persist(lambda: self._client.enter(WHO))
        page = self._get("/next")
        while (form := page.partition('class="answer"')[2]) and (question := hidden(form, "question")):
            paper = re.findall(r'action="/answer/([^"]+)"', form)[0]
            value, more = agreement(self.rows[paper], question)
            fields = {name: hidden(form, name) for name in ("question", "row_hash", "after")}
            page = self._post(paper, question, {**fields, "value": value, "active_ms": "2000", **more})

    def _post(self, paper: str, question: str, fields: dict[str, str]) -> str:
        status, page = self._persist(lambda: self._client.post(f"/answer/{paper}", dict(fields)))
        if status == 200:
            self.acknowledged.append((paper, question))
        else:  # "Nothing was overwritten": it was saved, and the page died before it could say so
            self.refused.append(f"{status} {paper} {question}")
        return page if 'class="answer"' in page and status == 200 else self._get("/next")

    def _get(self, path: str) -> str:
        return self._persist(lambda: self._client.get(path))

    def _persist(self, ask: Callable[[], T]) -> T:
        while True:
            try:
                return ask()
            except (OSError, http.client.HTTPException):
                self._again()

    def _again(self) -> None:
        """Where the page was killed another one comes up on the same port; the session is the same."""
        self.restart()
        before, self._client = self._client, Client(self.port)
        self._client.cookies, self._client.csrf = before.cookies, before.csrf


def answers(port: int) -> bool:
    try:
        Client(port).get("/login")
    except (OSError, http.client.HTTPException):
        return False
    return True
