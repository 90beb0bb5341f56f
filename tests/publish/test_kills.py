"""A publication that is killed: at any byte, the last release stays whole, and the next try completes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assets.cli import main
from pipeline.release.publication import release_of

ROOT = Path(__file__).resolve().parent.parent.parent
REPO = "lab/made"
POINTS = 8
pytestmark = pytest.mark.slow


class Publisher:
    """`reclaim publish` in a process of its own, over a line at whose cut it is killed."""

    def __init__(self, hub: Any, line: Any, store: Path) -> None:
        self.line, self.store = line, store
        self._process: subprocess.Popen[str] | None = None
        line.on_cut = self._kill

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def publish(self, folder: Path) -> tuple[int, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("HF_", "RECLAIM_"))}
        given = {"HF_ENDPOINT": self.line.url, "HF_TOKEN": "hf_a_token_that_may_write", "PYTHONPATH": str(ROOT)}
        command = ["-m", "assets.cli", "--store", str(self.store), "publish", str(folder), "--repo", REPO, "--yes"]
        self._process = subprocess.Popen(
            [sys.executable, *command], env={**kept, **given}, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        told, _ = self._process.communicate(timeout=120)
        return self._process.returncode, told


@pytest.fixture
def publisher(hub: Any, line: Any, tmp_path: Path) -> Publisher:
    return Publisher(hub, line, tmp_path / "store")


def at(hub: Any, revision: str) -> dict[str, bytes]:
    repo = hub.repos[REPO]
    return {path: data for path, data in repo.commits[repo.at(revision)].files.items() if path != ".gitattributes"}


def test_killed_at_twenty_random_bytes_the_last_release_stays_whole_and_the_next_try_completes(
    hub: Any, line: Any, publisher: Publisher, v1: Path, v2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = dict(release_of(v1).files), dict(release_of(v2).files)
    assert publisher.publish(v1)[0] == 0
    before = hub.repos[REPO].copy()
    start = line.passed
    code, told = publisher.publish(v2)
    assert code == 0, told
    whole = line.passed - start
    draw = random.Random("killed")
    points = [*sorted(draw.randrange(1, whole) for _ in range(POINTS - 2)), whole - 12_000, whole - 5_000]
    stood, killed = [], 0
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", "hf_a_token_that_may_write")
    for point in points:
        hub.repos[REPO] = before.copy()
        (publisher.store / "published" / "made-2026-v2.json").unlink()
        line.cut_after(point)
        code, told = publisher.publish(v2)
        assert code != 0 or line.left, told  # headers vary by a few bytes: the last point may lie behind the end
        killed += code != 0
        repo = hub.repos[REPO]
        stood.append((repo.main != before.main, "made-2026-v2" in repo.tags))
        assert at(hub, "made-2026-v1") == first
        assert at(hub, "main") in (first, second)
        assert main(["verify", f"hub:{REPO}@made-2026-v1"]) == 0
        line.mend()
        assert main(["--store", str(publisher.store), "publish", str(v2), "--repo", REPO, "--yes"]) == 0
        assert at(hub, "made-2026-v1") == first
        assert at(hub, "made-2026-v2") == at(hub, "main") == second
        assert len(hub.repos[REPO].history()) == len(before.history()) + 1
        record = json.loads((publisher.store / "published" / "made-2026-v2.json").read_bytes())
        assert record["commit"] == hub.repos[REPO].tags["made-2026-v2"]
        assert record["rows_sha256"] == json.loads(second["manifest.json"])["rows_sha256"]
    assert killed >= POINTS - 1
    assert (False, False) in stood  # before the commit
    assert (True, True) in stood  # after the tag
    print(f"{whole} bytes, killed at {len(points)}: {stood}")
