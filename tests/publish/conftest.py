"""Made releases that name a repository, and a Hub on loopback; loaded by path: test folders are no packages."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.events import Event, chained
from pipeline.evidence import digest
from pipeline.release import companions
from pipeline.release.compose import Material, compose
from pipeline.release.folder import MANIFEST
from pipeline.release.freeze import freeze
from pipeline.release.publication import Release
from pipeline.release.tables import TABLES, document, jsonl

HERE = Path(__file__).parent
REPO = "lab/made"


def _loaded(name: str, path: Path) -> ModuleType:
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


hub_server = _loaded("reclaim_hub_server", HERE / "hub_server.py")
wire = _loaded("reclaim_wire", HERE / "wire.py")


@pytest.fixture(scope="session")
def made() -> ModuleType:
    return _loaded("reclaim_made", HERE.parent / "release" / "made.py")


@pytest.fixture(scope="session")
def held(made: ModuleType) -> Material:
    material: Material = made.material()
    return replace(material, edition=material.edition.model_copy(update={"repo": REPO}))


@pytest.fixture(scope="session")
def second(held: Material) -> Material:
    """The same edition after a person looked again: one row has other hours, another one was dropped."""
    rows = compose(held).chosen
    one = {"who": "grace", "at": "2026-02-27T10:00:00Z"}
    estimated = {"kind": "re_estimate", "question": "hours", "value": 7.25, "row_hash": rows[0].derivation.row_hash}
    found = [
        Event.model_validate({**one, **estimated, "paper": rows[0].arxiv_id, "why": "appendix C"}),
        Event.model_validate({**one, "kind": "drop", "paper": rows[1].arxiv_id, "why": "its code is a copy"}),
    ]
    last = held.entries[-1]
    return replace(held, entries=(*held.entries, *chained(found, last.site, last.seq, last.hash)))


@pytest.fixture(scope="session")
def frozen(made: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Freeze a material under a name. Its figures are empty: to draw them takes half a second, and no test here is
    about them."""
    root = tmp_path_factory.mktemp("frozen")
    empty = {name: "<svg></svg>" for name in companions.COMPANIONS if name.endswith(".svg")}

    def made_as(material: Material, name: str, below: str = "releases") -> Path:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(companions, "figures", lambda shown: empty)
            done = freeze(material, made.given(material), root / below / name, "code")
        assert done.place is not None, "\n".join(done.report.lines())
        return done.place

    return made_as


@pytest.fixture(scope="session")
def v1(frozen: Callable[..., Path], held: Material) -> Path:
    return frozen(held, "made-2026-v1")


@pytest.fixture(scope="session")
def v2(frozen: Callable[..., Path], second: Material) -> Path:
    return frozen(second, "made-2026-v2")


@pytest.fixture(scope="session")
def served() -> Iterator[Any]:
    server = hub_server.HubServer()
    yield server
    server.close()


@pytest.fixture
def hub(served: Any) -> Any:
    """A Hub without any repository."""
    served.repos.clear()
    served.requests.clear()
    served.unknown.clear()
    return served


@pytest.fixture
def line(hub: Any) -> Iterator[Any]:
    """A line to the Hub that can be cut."""
    one = wire.Wire(hub.url)
    yield one
    one.close()


@pytest.fixture
def toy() -> Callable[..., Release]:
    """A release too small to verify, for what is done with any: one large file, one of several parts, tables, a
    manifest."""

    def made_as(version: int = 1, *, edition: str = "toy-2026", rows: int = 3, **files: bytes) -> Release:
        name = f"{edition}-v{version}"
        lines = [{"custom_id": f"2601.0000{n}", "hours": float(n * version)} for n in range(rows)]
        held = {f"{table}.jsonl": b"" for table in TABLES} | {"eval.jsonl": jsonl(lines)}
        held |= {"eval.parquet": name.encode() * 50, "sample.parquet": name.encode() * 20_000}
        held |= {"croissant.json": document({"name": name}), "README.md": f"---\nlicense: mit\n---\n{name}".encode()}
        manifest = {"edition": edition, "edition_hash": "e", "ledger_head": "l", "rows_sha256": digest(lines)}
        manifest["manifest_sha256"] = digest(manifest)
        held |= {path.replace("_", "."): data for path, data in files.items()}
        return Release(name=name, repo="lab/toy", manifest=manifest, files={**held, MANIFEST: document(manifest)})

    return made_as
