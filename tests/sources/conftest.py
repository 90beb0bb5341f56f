"""Tiny worlds and recorders for the tests of the sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldTransport
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.recorder import Recorder
from pipeline.store import Store

START = datetime(2026, 12, 1, tzinfo=UTC)
PAPER = PaperFacts(
    title="Lantern Attention for Foggy Graphs", arxiv_id="2505.00001", authors=("Ada Quill", "Bo Farrow", "Cy Marsh")
)
Answering = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock(START)


@pytest.fixture
def recording(store: Store, clock: SimulatedClock) -> Callable[..., Recorder]:
    """A recorder over a function from request to response, on the shared store and clock."""

    def make(answer: Answering, **options: Any) -> Recorder:
        given = {"run": "run", "epoch": "epoch", **options}
        return Recorder(store, clock, transport=httpx2.MockTransport(answer), **given)

    return make


class Town:
    """A world under construction: GitHub, Hub and sites as plain mappings, served when first probed."""

    def __init__(self, root: Path, store: Store, clock: SimulatedClock) -> None:
        self.root, self.store, self.clock = root, store, clock
        self._world: OfflineWorld | None = None
        self._looks = 0
        (root / "world.toml").write_text('name = "tiny"\nas_of = 2026-12-01\nvenue = "Tiny.test/2025/Conference"\n')

    def repo(self, name: str, files: Mapping[str, str | int] = {}, lfs: Mapping[str, int] = {}, **facts: Any) -> None:
        self._repository(self.root / "github" / name, files, lfs, facts)

    def hub(self, name: str, files: Mapping[str, str | int], kind: str = "models", **facts: Any) -> None:
        self._repository(self.root / "hf" / kind / name, files, {}, facts)

    def site(self, host: str, *routes: Mapping[str, Any], default: Mapping[str, Any] | None = None) -> None:
        tables = [("[[route]]", route) for route in routes] + ([("[default]", default)] if default else [])
        _write(self.root / "sites" / host / "site.toml", {}, tables)

    def _repository(self, place: Path, files: Mapping[str, str | int], lfs: Mapping[str, int], facts: Any) -> None:
        sized = [{"path": path, "size": size} for path, size in files.items() if isinstance(size, int)]
        sized += [{"path": path, "size": size, "lfs": True, **facts.pop("media", {})} for path, size in lfs.items()]
        for path, text in files.items():
            if isinstance(text, str):
                (place / "files" / path).parent.mkdir(parents=True, exist_ok=True)
                (place / "files" / path).write_text(text)
        tables = [("[[files]]", entry) for entry in sized]
        for key in ("releases", "submodules"):
            tables += [(f"[[{key}]]", entry) for entry in facts.pop(key, ())]
        _write(place / "repo.toml", facts, tables)

    def way(self) -> httpx2.BaseTransport:
        """The way to this world."""
        return WorldTransport(self._served())

    def troubled(self, **places: int) -> httpx2.BaseTransport:
        """A way to this world on which URLs that contain a text get a status instead, or time out (0)."""
        inner = WorldTransport(self._served())

        def answer(request: httpx2.Request) -> httpx2.Response:
            for place, status in places.items():
                if place in str(request.url):
                    if not status:
                        raise httpx2.ReadTimeout("slow", request=request)
                    return httpx2.Response(status)
            return inner.handle_request(request)

        return httpx2.MockTransport(answer)

    def _served(self) -> OfflineWorld:
        if self._world is None:
            self._world = OfflineWorld(self.root)
        return self._world

    def recorder(self, **options: Any) -> Recorder:
        self._looks += 1
        given = {"run": f"look-{self._looks}", "epoch": "epoch", "transport": WorldTransport(self._served()), **options}
        return Recorder(self.store, self.clock, **given)

    def probes(self, supplement: Mapping[str, bytes] | None = None, **options: Any) -> Probes:
        walls, token = options.pop("walls", {}), options.pop("github_token", "")
        return Probes("2505.00001", self.recorder(**options), supplement or {}, PAPER, walls, token)

    def a_day_later(self, **options: Any) -> Probes:
        self.clock.sleep(25 * 3600)
        return self.probes(**options)

    def close(self) -> None:
        if self._world is not None:
            self._world.close()


def _write(place: Path, facts: Mapping[str, Any], tables: list[tuple[str, Mapping[str, Any]]]) -> None:
    lines = _lines(facts)
    for head, told in tables:
        lines += [head, *_lines(told)]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(lines) + "\n")


def _lines(told: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in told.items()]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {_toml(v)}' for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


@pytest.fixture
def town(tmp_path: Path, store: Store, clock: SimulatedClock) -> Iterator[Town]:
    root = tmp_path / "world"
    root.mkdir()
    made = Town(root, store, clock)
    yield made
    made.close()


@pytest.fixture(scope="session")
def make_town() -> type[Town]:
    return Town
