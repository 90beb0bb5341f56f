"""A world made in memory that answers in this process, under the real services' limits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl

import httpx2

from pipeline.offline.content import Held
from pipeline.offline.limits import Keeper
from pipeline.offline.server import reply
from pipeline.offline.values import Paper, PaperFacts, World, WorldFacts
from pipeline.offline.wire import Call, Failures, Fault

VENUE = "Tiny.cc/2025/Conference"
START = datetime(2025, 12, 1, tzinfo=UTC)
MAIN = b"\\documentclass{article}\\begin{document}Words.\\end{document}"


class Served(httpx2.BaseTransport):
    """`world` may be another one later; hosts of `down` are in trouble."""

    def __init__(self, world: World, keeper: Keeper) -> None:
        self.world, self.down = world, frozenset[str]()
        self._keeper, self._failures = keeper, Failures()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        call = Call(
            method=request.method,
            host=request.url.host,
            path=request.url.path,
            query=tuple(parse_qsl(request.url.query.decode(), keep_blank_values=True)),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=request.read(),
        )
        if call.host in self.down:
            return httpx2.Response(503)
        found = self._keeper.reply(call, lambda: reply(self.world, call, self._failures))
        if isinstance(found, Fault):
            raise httpx2.ConnectError(found.kind, request=request)
        return httpx2.Response(found.status, headers=list(found.headers), content=found.content.read(0, 1 << 30))


def world_of(papers: Iterable[Paper], *, challenge: bool = False) -> World:
    told = WorldFacts(name="t", as_of=START.date(), venue=VENUE, openreview_challenge=challenge)
    return World(Path(), told, {paper.arxiv_id: paper for paper in papers}, {}, {}, {}, ())


def paper(arxiv_id: str, title: str, **facts: object) -> Paper:
    """A paper by Ada Stone with one source file, and a supplement that names it."""
    told = PaperFacts.model_validate({"arxiv_id": arxiv_id, "title": title, "authors": ("Ada Stone",), **facts})
    return Paper(told, Path(), {"main.tex": Held(MAIN)}, {"whose.txt": Held(arxiv_id.encode())})


def conference(papers: int, supplements: int, *, challenge: bool = False) -> World:
    """Papers of which the first have a supplement."""
    made = (
        paper(
            f"2505.{number:05}",
            f"Paper {number}",
            forum_id=f"forum{number:05}",
            supplement="zip" if number < supplements else "none",
        )
        for number in range(papers)
    )
    return world_of(made, challenge=challenge)
