"""A build killed at any moment and started again ends in the same release as one that nobody disturbed."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import tiny
from tests.e2e.tiny import ROOT, Tiny, contents, environment

SEED = 2025
KILLED = -9


class Launcher:
    """Builds in forked children of one process that has everything imported."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log.txt"
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("launcher.py"))],
            cwd=ROOT,
            env=environment(ROOT),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def build(self, tiny: Tiny, kill: int | None = None) -> tuple[int, int]:
        """Exit status (-9: killed) and how many moments the build had."""
        order = {"arguments": tiny.arguments("build", str(tiny.toml)), "kill": kill, "log": str(self.log)}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["status"], answer["moments"]

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    found = Launcher(tmp_path_factory.mktemp("launcher"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def decided(finished: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """The decisions of the finished edition, and nothing else yet: one build goes from the index to the release."""
    fresh = tiny.make(tmp_path_factory.mktemp("decided") / "tiny")
    assert fresh.run("audit", "import", str(finished.folder / "decisions.jsonl"), "--edition", str(fresh.toml)) == 0
    shutil.copytree(finished.root / "dagster", fresh.root / "dagster")  # an instance takes seconds to set up
    return fresh


@pytest.fixture(scope="module")
def undisturbed(
    launcher: Launcher, decided: Tiny, finished: Tiny, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, str], int]:
    """What the releases of an undisturbed build hold, and how many moments it has."""
    whole = decided.copy(tmp_path_factory.mktemp("whole") / "tiny")
    status, moments = launcher.build(whole)
    assert status == tiny.EXIT_RELEASED, launcher.log.read_text()
    found = contents(whole.root / "releases")
    assert found == contents(finished.root / "releases")
    return found, moments


def killed_at(share: float, launcher: Launcher, decided: Tiny, whole: tuple[dict[str, str], int], place: Path) -> None:
    """Kill a build after `share` of its moments, start it again, and compare."""
    expected, moments = whole
    again = decided.copy(place)
    kill = int(share * moments)
    status, _ = launcher.build(again, kill)
    # Threads share the moments, so the last few may not be reached; then nothing was killed, and nothing is shown.
    assert status == KILLED, f"moment {kill} of {moments} was not reached"
    status, _ = launcher.build(again)
    assert status == tiny.EXIT_RELEASED, launcher.log.read_text()[-3000:]
    found = contents(again.root / "releases")
    assert {name: sha for name, sha in found.items() if "/" in name and not name.startswith(".")} == expected
    shutil.rmtree(place)


_draw = random.Random(SEED)
POINTS = sorted(round(_draw.uniform(0.01, 0.97), 3) for _ in range(20))


@pytest.mark.slow
@pytest.mark.parametrize("share", POINTS)
def test_a_build_killed_at_any_of_twenty_moments_ends_the_same(
    share: float, launcher: Launcher, decided: Tiny, undisturbed: tuple[dict[str, str], int], tmp_path: Path
) -> None:
    killed_at(share, launcher, decided, undisturbed, tmp_path / "again")


@pytest.mark.slow
def test_a_build_killed_again_and_again_still_ends_the_same(
    launcher: Launcher, decided: Tiny, undisturbed: tuple[dict[str, str], int], tmp_path: Path
) -> None:
    expected, moments = undisturbed
    again = decided.copy(tmp_path / "again")
    kills = 0
    while (status := launcher.build(again, moments // 6)[0]) == KILLED:
        kills += 1
        assert kills < 60, "no progress between kills"
    assert kills > 2
    assert status == tiny.EXIT_RELEASED
    assert contents(again.root / "releases") == expected
