"""Kinds of kill. Each brings a scene to its end once undisturbed, and then again and again with a kill on the way: the
same command is run a second time, and everything must be as if nothing had been."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from pipeline.derivation import Derivation
from pipeline.ledger import Entry
from pipeline.release.publication import release_of
from tests.e2e import tiny
from tests.e2e.tiny import Tiny, contents
from tests.faults.launching import Ended, Kill, Launcher
from tests.faults.scenes import REPO, Scenes, faults
from tests.faults.served_page import Auditor, answers
from tests.publish.hub_server import TOKEN, HubServer
from tests.publish.wire import Wire

TRIES = 6
"""How often a kill that came after the end is tried anew, each time earlier and by the time that the last one took:
threads share the moments of a build, and a machine's load changes how long it takes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one kill: `problems`, empty where all ended the same, and acknowledged events that were lost or doubled."""

    problems: tuple[str, ...]
    lost: int = 0


class Campaign(ABC):
    """`ways`: by what its kills are timed. `whole`: the undisturbed run."""

    where: str
    ways: tuple[Literal["moment", "clock", "byte"], ...] = ("moment", "clock")

    def __init__(self, scenes: Scenes, launcher: Launcher) -> None:
        self.scenes, self.launcher = scenes, launcher
        self._seconds: float | None = None

    @abstractmethod
    def killed(self, kill: Kill, folder: Path) -> Outcome | None:
        """Do it in a new folder, and kill it on the way; None where it ended before it was killed."""

    def once(self, kill: Kill, folder: Path) -> Outcome:
        for _ in range(TRIES):
            outcome = self.killed(kill, folder)
            shutil.rmtree(folder, ignore_errors=True)
            if outcome is not None:
                return outcome
            kill = replace(kill, share=kill.share * 0.9)
        return Outcome((f"was never killed: {kill}",))

    def paced(self, whole: Ended) -> Ended:
        """The undisturbed run, as long as it takes now."""
        return replace(whole, seconds=self._seconds or whole.seconds)

    def survived(self, first: Ended) -> None:
        self._seconds = first.seconds

    def close(self) -> None:  # noqa: B027
        """End what it started."""


def draws(campaign: type[Campaign], seed: int, count: int) -> list[Kill]:
    """So many moments at which this kind of thing is killed; more of them do not change the first."""
    draw = random.Random(f"{seed} {campaign.__name__}")
    return [Kill(round(draw.uniform(0.005, 0.985), 4), campaign.ways[n % len(campaign.ways)]) for n in range(count)]


class _Command(Campaign):
    """One `reclaim` command on an edition, and what its store holds then."""

    def __init__(self, scenes: Scenes, launcher: Launcher, scene: Tiny, end: Tiny) -> None:
        super().__init__(scenes, launcher)
        self.scene, self.end = scene, end

    def arguments(self, edition: Tiny) -> list[str]:
        return edition.arguments("build", str(edition.toml))

    @cached_property
    def expected(self) -> tuple[dict[str, str], list[Entry]]:
        return contents(self.end.root / "releases"), self.end.ledger()

    @cached_property
    def whole(self) -> Ended:
        place = self.launcher.log.parent / f"whole-{type(self).__name__}"
        shutil.rmtree(place, ignore_errors=True)
        edition = self.scene.copy(place)
        ended = self.launcher.run(self.arguments(edition))
        assert ended.status == 0, self.launcher.told()
        assert self.settle(edition) == []
        assert faults(edition, *self.expected) == ([], 0)
        shutil.rmtree(edition.folder)
        return ended

    def settle(self, edition: Tiny) -> list[str]:
        """Bring an edition to its release, where the command itself does not."""
        return []

    def killed(self, kill: Kill, folder: Path) -> Outcome | None:
        whole, edition = self.whole, self.scene.copy(folder)
        first = self.launcher.run(self.arguments(edition), kill, self.paced(whole))
        if not first.killed:
            self.survived(first)
            return None
        again = self.launcher.run(self.arguments(edition))
        ended = [] if again.status == 0 else [f"ended with {again.status}: {self.launcher.told()[-500:]}"]
        ended += self.settle(edition)
        problems, lost = faults(edition, *self.expected)
        return Outcome((*ended, *problems), lost)


class KilledBuild(_Command):
    where = "build, from the index to the release"

    def __init__(self, scenes: Scenes, launcher: Launcher) -> None:
        super().__init__(scenes, launcher, scenes.decided, scenes.finished)


class KilledImport(_Command):
    where = "audit, a form imported"

    def __init__(self, scenes: Scenes, launcher: Launcher) -> None:
        super().__init__(scenes, launcher, scenes.undecided, scenes.finished)

    def arguments(self, edition: Tiny) -> list[str]:
        return edition.arguments(
            "audit", "import", str(edition.folder / "decisions.jsonl"), "--edition", str(edition.toml)
        )

    def settle(self, edition: Tiny) -> list[str]:
        return _released(self.launcher, edition)


class KilledFreeze(_Command):
    where = "freeze of a first version"

    def __init__(self, scenes: Scenes, launcher: Launcher) -> None:
        super().__init__(scenes, launcher, scenes.first, scenes.finished)


class KilledSecondFreeze(_Command):
    where = "freeze of a second version"

    def __init__(self, scenes: Scenes, launcher: Launcher) -> None:
        super().__init__(scenes, launcher, scenes.second, scenes.later)


def _released(launcher: Launcher, edition: Tiny) -> list[str]:
    ended = launcher.run(edition.arguments("build", str(edition.toml)))
    return [] if ended.status == tiny.EXIT_RELEASED else [f"no release: {ended.status}: {launcher.told()[-500:]}"]


class KilledPage(Campaign):
    """Every decision goes through the audit page of a real store, whose process dies under its one reader."""

    where = "audit, decisions on the page"

    @cached_property
    def whole(self) -> tuple[Ended, dict[str, str], list[Entry]]:
        place = self.launcher.log.parent / "whole-page"
        shutil.rmtree(place, ignore_errors=True)
        edition = self.scenes.undecided.copy(place)
        ended, told, _ = self._read(edition, None, None)
        assert Counter(told).keys() == {(e.event.paper, e.event.question) for e in edition.ledger()}
        assert len(told) > 40
        assert _released(self.launcher, edition) == []
        found = contents(edition.root / "releases"), edition.ledger()
        assert faults(edition, *found) == ([], 0)
        shutil.rmtree(edition.folder)
        return (ended, *found)

    @cached_property
    def rows(self) -> dict[str, Derivation]:
        from assets import audit
        from assets.workplace import workplace

        with workplace(str(self.scenes.undecided.toml), self.scenes.undecided.root) as work:
            return {row.arxiv_id: row for row in audit.pool(work)}

    def killed(self, kill: Kill, folder: Path) -> Outcome | None:
        whole, releases, entries = self.whole
        edition = self.scenes.undecided.copy(folder)
        first, told, refused = self._read(edition, kill, self.paced(whole))
        if not first.killed:
            self.survived(first)
            return None
        problems = _released(self.launcher, edition)
        wrong, lost = faults(edition, releases, entries)
        have = Counter((e.event.paper, str(e.event.question)) for e in edition.ledger())
        lost += sum(have[one] != count for one, count in Counter(told).items())
        # The one answer that was on its way may have been saved without being acknowledged; sent again, it is refused.
        if len(refused) > 1 or len(told) + len(refused) != len(entries):
            problems.append(f"{len(told)} answers acknowledged, refused: {refused}")
        with edition.store.engine.connect() as connection:
            worked = connection.execute(sa.text("select count(*) from audit_work")).scalar()
        if worked != len(entries):
            problems.append(f"{worked} notes of work for {len(entries)} decisions")
        return Outcome((*problems, *wrong), lost)

    def _read(
        self, edition: Tiny, kill: Kill | None, whole: Ended | None
    ) -> tuple[Ended, list[tuple[str, str]], list[str]]:
        """Everything read to its end. Returns how the first page ended, what was acknowledged and what was refused."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        page = {"root": str(edition.root), "edition": str(edition.toml), "port": port}
        pids, ends = [self.launcher.start(page=page, kill=kill, whole=whole)], []
        begun = time.monotonic()

        def restart() -> None:
            deadline = time.monotonic() + 60
            while not answers(port):
                assert time.monotonic() < deadline, f"the page does not come up: {self.launcher.told()}"
                if not Path(f"/proc/{pids[-1]}").exists():
                    ends.append(self.launcher.end())
                    pids.append(self.launcher.start(page=page))
                time.sleep(0.02)

        auditor = Auditor(self.rows, port, restart)
        auditor.read()
        seconds = time.monotonic() - begun
        os.kill(pids[-1], 9)
        ends.append(self.launcher.end())
        # A page never ends by itself: where nothing killed it before, this is the undisturbed run.
        status = ends[0].status if len(ends) > 1 else 0
        first = Ended(status, ends[0].moments, seconds)
        return first, auditor.acknowledged, auditor.refused


class KilledPublication(Campaign):
    """`reclaim publish` of a second version to a Hub on loopback, over a line that counts what passes."""

    where = "publication of a second version"
    ways = ("byte", "moment")
    version = 2

    def __init__(self, scenes: Scenes, launcher: Launcher) -> None:
        super().__init__(scenes, launcher)
        self.hub = HubServer()
        self.line = Wire(self.hub.url, self._cut)
        self._pid = 0

    def _cut(self) -> None:
        if self._pid:
            os.kill(self._pid, 9)

    def close(self) -> None:
        self.line.close()
        self.hub.close()

    @cached_property
    def files(self) -> list[dict[str, bytes]]:
        return [dict(release_of(place).files) for place in self.scenes.published]

    @cached_property
    def whole(self) -> tuple[Ended, int]:
        """The undisturbed publication, and how many bytes passed."""
        store = self.launcher.log.parent / f"whole-{type(self).__name__}"
        shutil.rmtree(store, ignore_errors=True)
        self._before(store)
        start = self.line.passed
        ended = self._publish(store, self.version)
        assert ended.status == 0, self.launcher.told()
        assert self._faults(store) == []
        return ended, self.line.passed - start

    def _before(self, store: Path) -> None:
        """A Hub with the versions before, if any."""
        self.hub.repos.clear()
        if self.version == 2:
            if not hasattr(self, "_first"):
                assert self._publish(store, 1).status == 0, self.launcher.told()
                self._first = self.hub.repos[REPO].copy()
            self.hub.repos[REPO] = self._first.copy()

    def _publish(self, store: Path, version: int, kill: Kill | None = None, whole: Ended | None = None) -> Ended:
        variables = {"HF_ENDPOINT": self.line.url, "HF_TOKEN": TOKEN}
        command = ["publish", str(self.scenes.published[version - 1]), "--repo", REPO, "--yes"]
        self._pid = self.launcher.start(["--store", str(store), *command], kill=kill, whole=whole, variables=variables)
        ended = self.launcher.end()
        self._pid = 0
        return ended

    def killed(self, kill: Kill, folder: Path) -> Outcome | None:
        whole, passes = self.whole
        self._before(folder)
        if kill.by == "byte":
            self.line.cut_after(max(1, int(kill.share * passes)))
        first = self._publish(folder, self.version, kill, whole)
        self.line.mend()
        if not first.killed:
            self.survived(first)
            return None
        problems = self._between()
        again = self._publish(folder, self.version)
        if again.status != 0:
            problems.append(f"ended with {again.status}: {self.launcher.told()[-500:]}")
        return Outcome((*problems, *self._faults(folder)))

    def _at(self, revision: str) -> dict[str, bytes]:
        repo = self.hub.repos[REPO]
        commit = repo.at(revision)
        files: Mapping[str, Any] = repo.commits[commit].files if commit else {}
        return {path: data for path, data in files.items() if path != ".gitattributes"}

    def _between(self) -> list[str]:
        """After the kill: nothing of the version or the whole of it, and the version before as it was."""
        if REPO not in self.hub.repos:
            return []
        before, new = ({}, *self.files)[self.version - 1 : self.version + 1]
        wrong = [] if self._at("main") in (before, new) else ["main holds a part of the release"]
        tags = self.hub.repos[REPO].tags
        if f"made-2026-v{self.version}" in tags and self._at(f"made-2026-v{self.version}") != new:
            wrong.append("the tag is on something else")
        if self.version == 2 and self._at("made-2026-v1") != before:
            wrong.append("the version before is not what it was")
        return wrong

    def _faults(self, store: Path) -> list[str]:
        """After the repeat."""
        repo, name = self.hub.repos[REPO], f"made-2026-v{self.version}"
        wrong = self._between()
        if not self._at("main") == self._at(name) == self.files[self.version - 1]:
            wrong.append("the version is not whole")
        if sorted(repo.tags) != [f"made-2026-v{n}" for n in range(1, self.version + 1)]:
            wrong.append(f"tags: {sorted(repo.tags)}")
        if len(repo.history()) != 1 + self.version:
            wrong.append(f"{len(repo.history())} commits")
        record = store / "published" / f"{name}.json"
        if not record.is_file() or json.loads(record.read_bytes())["commit"] != repo.tags.get(name):
            wrong.append("the store does not remember which commit it was published as")
        return wrong


class KilledFirstPublication(KilledPublication):
    where = "publication of a first version"
    version = 1


CAMPAIGNS: Mapping[str, tuple[type[Campaign], ...]] = {
    "kill-build": (KilledBuild,),
    "kill-audit": (KilledPage, KilledImport),
    "kill-freeze": (KilledFreeze, KilledSecondFreeze),
    "kill-publish": (KilledPublication, KilledFirstPublication),
}
"""The four kinds, by the name under which one is asked for; runs of a kind are shared among its campaigns."""
