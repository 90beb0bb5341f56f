"""A small edition made from a few papers of the sample world, and what tests do with it: build, decide, look.

Everything lies below one folder that may be copied: world, edition file, store. No stage is replaced; a build here is
the command a person runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pipeline.ledger import Entry, Ledger
from pipeline.store import Store

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "data" / "offline" / "sample-2025"

PAPERS = (
    "2505.90011",  # Run: code, checkpoint, standard data
    "2505.90011v2",  # the index names it a second time
    "2505.90177",  # Run: an archived repository
    "2509.90052",  # Run: the service limits the first request
    "2505.90038",  # Retrain: no checkpoint anywhere
    "2505.90046",  # Retrain: the code is in the supplement
    "2506.90160",  # Retrain: its link stands in a comment of the source
    "2505.90057",  # Reimplement: no link at all
    "2506.90126",  # Reimplement: a repository that is gone, which takes two looks a day apart
    "2505.90146",  # a host that never answers: undetermined
    "2505.90074",  # theory
    "2506.90182",  # a PDF in place of a source
)
EXIT_RELEASED, EXIT_BLOCKED, EXIT_WAITING = 0, 3, 5

_EDITION = """\
extends = "sample-2025"
world = "world"
{sizes}

[corpus]
min_papers = 1
"""


@dataclass(frozen=True)
class Tiny:
    """One edition below `folder`. `run` runs the `reclaim` command in this process."""

    folder: Path
    name: str = "tiny"

    @property
    def world(self) -> Path:
        return self.folder / "world"

    @property
    def toml(self) -> Path:
        return self.folder / f"{self.name}.toml"

    @property
    def root(self) -> Path:
        return self.folder / "store"

    @property
    def store(self) -> Store:
        return Store.open(self.root)

    def arguments(self, *command: str) -> list[str]:
        return ["--store", str(self.root), *command]

    def run(self, *command: str) -> int:
        from assets.cli import main

        return main(self.arguments(*command))

    def build(self) -> int:
        return self.run("build", str(self.toml))

    def decide(self) -> None:
        """Answer every open question of every pool row with what the row says, and import the answers."""
        form, filled = self.folder / "form.jsonl", self.folder / "decisions.jsonl"
        assert self.run("audit", "form", str(form), "--edition", str(self.toml)) == 0
        filled.write_text(filled_in(form.read_text(encoding="utf-8")), encoding="utf-8")
        assert self.run("audit", "import", str(filled), "--edition", str(self.toml)) == 0

    def paper(self, arxiv_id: str) -> Path:
        return self.world / "papers" / arxiv_id / "src" / "main.tex"

    def releases(self) -> list[Path]:
        return sorted(path for path in (self.root / "releases").iterdir() if not path.name.startswith("."))

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.store.read_table(self.name, table)["json"].to_list()]

    def ledger(self) -> list[Entry]:
        return Ledger(self.store.engine, self.name).entries()

    def count(self, table: str) -> int:
        """How many lines a table of the record holds: `sightings` counts requests, `episodes` episodes."""
        engine = self.store.engine
        with engine.connect() as connection:
            return int(connection.execute(sa.text(f"select count(*) from {table}")).scalar() or 0)

    def copy(self, folder: Path) -> Tiny:
        """The same world, edition and store in another folder."""
        shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("locks"))
        return Tiny(folder, self.name)


SIZES = {"sample": 10, "pool_size": 6, "eval_size": 3, "dev_per_tier": 1}


def make(folder: Path, papers: Iterable[str] = PAPERS, **sizes: int) -> Tiny:
    """A new edition whose world holds these papers and everything the sample world has beside its papers."""
    tiny = Tiny(folder)
    for part in ("github", "hf", "sites"):
        shutil.copytree(SAMPLE / part, tiny.world / part)
    shutil.copy(SAMPLE / "world.toml", tiny.world)
    for paper in papers:
        shutil.copytree(SAMPLE / "papers" / paper, tiny.world / "papers" / paper)
    lines = "\n".join(f"{name} = {size}" for name, size in (SIZES | sizes).items())
    tiny.toml.write_text(_EDITION.format(sizes=lines), encoding="utf-8")
    return tiny


_finished: dict[str, Tiny] = {}


def finished(factory: pytest.TempPathFactory) -> Tiny:
    """One released edition for all tests of this process, not to be changed: `copy` it. It was built once without
    decisions and once with them."""
    if not _finished:
        tiny = make(factory.mktemp("finished") / "tiny")
        assert tiny.build() == EXIT_WAITING
        tiny.decide()
        assert tiny.build() == EXIT_RELEASED
        _finished["tiny"] = tiny
    return _finished["tiny"]


def filled_in(form: str, who: str = "ada", at: str = "2025-12-02T10:00:00Z") -> str:
    """A form of `reclaim audit form` with every open question answered as its row says."""
    lines = []
    for text in form.splitlines():
        line = json.loads(text)
        agreed = agreement(line["shown"])
        line |= {"who": who, "at": at, "why": "read it", "answers": {q: agreed[q] for q in line["answers"]}}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines)


def agreement(shown: Mapping[str, Any]) -> dict[str, Any]:
    signals = {
        name: "not_needed" if verification == "not_applicable" else value
        for name, (value, verification) in shown["signals"].items()
    }
    return {
        **signals,
        "kind": shown["kind"],
        "needs": sorted(need for need, quote in shown["needs"].items() if quote),
        "eligibility": True,
        **dict.fromkeys(("claim", "target", "bar", "hours"), "stands"),
    }


def contents(folder: Path) -> dict[str, str]:
    """Every file below a folder with the hash of its bytes."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def environment(tree: Path) -> dict[str, str]:
    """This process's environment, with the code of `tree` and without a store of the person who runs the tests.

    Bytecode is kept beside the temporary files, also where the environment forbids it: each process would compile
    Dagster anew.
    """
    dropped = ("RECLAIM_STORE", "RECLAIM_DATABASE", "RECLAIM_BLOBS", "DAGSTER_HOME", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    bytecode = str(Path(tempfile.gettempdir()) / "reclaim-test-bytecode")
    return {"PYTHONPYCACHEPREFIX": bytecode, **kept, "PYTHONPATH": str(tree)}


def process(
    arguments: list[str],
    *,
    tree: Path = ROOT,
    before: tuple[str, ...] = (),
    run: tuple[str, ...] = ("-m", "assets.cli"),
    umask: int = -1,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """`reclaim` in a process of its own, with the code of `tree`."""
    return subprocess.run(
        [*before, sys.executable, *run, *arguments],
        cwd=tree,
        env={**environment(tree), **variables},
        capture_output=True,
        text=True,
        umask=umask,
        timeout=300,
        check=False,
    )


def edit(path: Path, change: Callable[[str], str]) -> None:
    """Change a file, and fail where the change changed nothing."""
    before = path.read_text(encoding="utf-8")
    after = change(before)
    assert after != before, f"nothing changed in {path}"
    path.write_text(after, encoding="utf-8")
