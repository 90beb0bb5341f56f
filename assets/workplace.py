"""Everything a stage needs to do its work on one edition: settings, store, record, and a way to the world.

No Dagster in here: `reclaim build` compares fingerprints with it before Dagster is imported, and Dagster's assets
receive it as a resource.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from datetime import time as clock_time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import editions
from pipeline.editions import Edition, EditionError
from pipeline.evidence import digest
from pipeline.files import json_object, write
from pipeline.record import Record
from pipeline.store import Store

if TYPE_CHECKING:
    from classifiers.budget import Purse, Stopped
    from pipeline.ledger import Ledger
    from pipeline.offline.server import OfflineWorld
    from pipeline.sources.clocks import Clock
    from pipeline.sources.recorder import AgeRule, Mode, Recorder

Say = Callable[[str], None]


SAMPLE_AT_LEAST = 60
"""A world edition takes all its papers; this many places hold the sample edition's pool even for a small folder."""


def store_root(given: str | None = None) -> Path:
    """Where generated things lie: `--store`, RECLAIM_STORE, or `data/store` of a checkout, else `reclaim-store`
    here."""
    if given or os.environ.get("RECLAIM_STORE"):
        return Path(given or os.environ["RECLAIM_STORE"]).expanduser().resolve()
    checkout = Path(__file__).resolve().parent.parent
    return checkout / "data" / "store" if (checkout / "pyproject.toml").is_file() else Path("reclaim-store").resolve()


def to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@dataclass
class Workplace:
    """One edition in one store.

    `say` takes a line of progress. `minutes` bounds the classification of a build; `take_prefix` makes the longest
    prefix of ranks that was classified the whole sample. `stopped`: why the classifier may be asked no more;
    `purse`: what its readers may spend together; `environ`: its keys and budgets. `mode` and `ages`: whether the world
    is asked, and for a refresh what of it (see `Recorder`). `extracts`: what was read out of papers, as JSON by the
    hash of what it follows from. `started`: when the look began that this is a part of; None: as it begins.
    """

    edition: Edition
    store: Store
    say: Say = to_stderr
    minutes: float | None = None
    take_prefix: bool = False
    stopped: Stopped | None = None
    purse: Purse | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    mode: Mode = "record"
    ages: AgeRule | None = None
    extracts: dict[str, str] = field(default_factory=dict)
    started: datetime | None = None
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    began: float = field(default_factory=time.monotonic)

    @cached_property
    def record(self) -> Record:
        return Record(self.store.engine)

    @cached_property
    def ledger(self) -> Ledger:
        from pipeline.ledger import Ledger

        return Ledger(self.store.engine, self.edition.name, os.environ.get("RECLAIM_SITE", "main"))

    @cached_property
    def world(self) -> OfflineWorld | None:
        """The offline world of the edition, or None for a live one. Starts its server when first asked for an
        address."""
        if self.edition.world is None:
            return None
        path = self.edition.world_path
        if path is None or not path.is_dir():
            raise EditionError(f"edition {self.edition.name}: its world {self.edition.world} is not a folder here")
        from pipeline.offline.server import OfflineWorld

        return OfflineWorld(path)

    @property
    def offline(self) -> bool:
        return self.edition.world is not None

    @cached_property
    def world_print(self) -> str:
        """What the world answers, sources aside: part of every episode's key. Live services have no print, only
        pins, and a world that a refresh went on with keeps the print it had."""
        return self._worlds.get(self.world_now, self.world_now)

    @property
    def world_now(self) -> str:
        """What the world answers by now, whatever print it goes by."""
        return self.world.digest if self.offline else f"live@{self.edition.as_of}"

    @property
    def _worlds_kept(self) -> Path:
        return self.store.root / "worlds" / f"{self.edition.name}.json"

    @cached_property
    def _worlds(self) -> dict[str, str]:
        """What a refresh took for the same world, by what it answers; and under "" the print of the last build."""
        place = self._worlds_kept
        if not place.is_file():
            return {}
        mend = "delete it and build again: a later refresh then goes on from that build"
        return {str(now): str(print_) for now, print_ in json_object(place, mend).items()}

    def continue_world(self) -> None:
        """Go on with the world of the last build, whatever it answers by now; before anything asks for its print."""
        if last := self._worlds.get(""):
            self._worlds[self.world_now] = last

    def keep_world(self) -> None:
        """Remember which world a build ended with, for a refresh to go on from."""
        place, text = self._worlds_kept, json.dumps({**self._worlds, "": self.world_print}, sort_keys=True)
        if not place.is_file() or place.read_text(encoding="utf-8") != text:
            write(place, text)

    @cached_property
    def sources_print(self) -> str:
        """What the world's sources hold; a live edition's versions are pinned by the corpus."""
        if not self.offline:
            return "pinned"
        return digest([[p["arxiv_id"], self.world.paper_digest(p["arxiv_id"])] for p in self.world.papers()])

    def source_token(self, arxiv_id: str, version: int) -> str:
        """What must be unchanged for a fetched bundle to be current."""
        return self.world.paper_digest(arxiv_id) if self.offline else f"v{version}"

    @cached_property
    def clock(self) -> Clock:
        """The offline world has a clock of its own, from the edition's day on; it never runs behind the record."""
        from pipeline.sources.clocks import SimulatedClock, SystemClock

        if not self.offline:
            return SystemClock()
        start = datetime.combine(self.edition.as_of, clock_time(), tzinfo=UTC)
        return SimulatedClock(max(start, self.record.last_seen_at(self._line) or start))

    def catch_up(self) -> None:
        """Let an offline clock go on from what other processes have seen meanwhile."""
        if self.offline and (seen := self.record.last_seen_at(self._line)):
            self.clock.sleep((seen - self.clock.now()).total_seconds())

    @property
    def _line(self) -> str:
        """Offline worlds share a line of time in a store, apart from that of live services."""
        return "offline:" if self.offline else "live:"

    def recorder(self, *, again: bool = False) -> Recorder:
        from pipeline.sources.recorder import Recorder

        transport = None
        if self.offline:
            from pipeline.offline.transports import WorldTransport

            transport = WorldTransport(self.world)
        return Recorder(
            self.store,
            self.clock,
            run=self.run,
            epoch=f"{self._line}{digest([self.world_print, self.sources_print, self.edition.as_of.isoformat()])[:32]}",
            transport=transport,
            second_look_hours=self.edition.second_look_hours,
            again=again,
            mode=self.mode,
            ages=self.ages,
            started=self.started,
        )

    def minutes_left(self) -> float | None:
        return None if self.minutes is None else self.minutes - (time.monotonic() - self.began) / 60

    @property
    def runs_begun(self) -> Path:
        """A file that is there from the first run of this edition under Dagster on until a build has ended whole: runs
        of processes that were killed may be left then, which Dagster shows as under way for ever."""
        return self.store.dagster_home / f"{self.edition.name}.begun"

    def out_of_time(self) -> bool:
        left = self.minutes_left()
        return (left is not None and left < 0) or self.stopped is not None


def load_edition(name: str | None, store: Store, world: Path | None = None, classifier: str | None = None) -> Edition:
    """The edition a command means, read by another classifier where one is named: an edition of its own then, written
    into the store like that of `--world`. A search engine that the environment names is a setting like any other."""
    edition = _edition(name, store, world, classifier)
    reads = edition.classifier
    if {reads.model, *reads.looks} == {"embedded"} or (asked := editions.searching(reads.llm, os.environ)) == reads.llm:
        return edition
    return edition.variant({"classifier": {"llm": asked.model_dump() if asked else None}})


def _edition(name: str | None, store: Store, world: Path | None, classifier: str | None) -> Edition:
    edition = _named_edition(name, store, world)
    if classifier is None or classifier == edition.classifier.model:
        return edition
    kept = store.root / "editions"
    plain = re.sub(r"[^a-z0-9.-]+", "-", classifier.partition("@http")[0].lower()).strip("-.")
    path = kept / f"{edition.name}-{plain}.toml"
    model = f"model = {json.dumps(classifier)}"
    if path.exists():  # only where the model is asked may change; the rest may have been edited
        text = re.sub(r"(?m)^model = .*$", lambda _: model, path.read_text(encoding="utf-8"))
    else:
        found_by_name = edition.name in editions.shipped() or (kept / f"{edition.name}.toml").is_file()
        base = edition.name if found_by_name else str(Path(name or edition.name).resolve())
        lines = [f"extends = {json.dumps(base)}"]
        if edition.world_path is not None and not editions.data(str(edition.world)).is_dir():
            lines.append(f"world = {json.dumps(str(edition.world_path.resolve()))}")
        text = _CLASSIFIER_EDITION.format(lines="\n".join(lines), model=model)
    write(path, text)
    return editions.load(str(path))


_CLASSIFIER_EDITION = """\
# The same papers, read by another classifier. How it is asked and what a paper may cost goes into [classifier.llm].
{lines}

[classifier]
{model}
"""


def _named_edition(name: str | None, store: Store, world: Path | None = None) -> Edition:
    """The edition a command means: shipped, a file, or one that an earlier command left in this store.

    `--world FOLDER` without a name makes an edition of that folder, named after it, with the sample edition's settings;
    it is written into the store, so that every process that opens the store finds it.
    """
    kept = store.root / "editions"
    if world is not None:
        folder = world.expanduser().resolve()
        if not folder.is_dir():
            raise EditionError(f"--world {world}: not a folder; name a world folder")
        plain = re.sub(r"[^a-z0-9.-]+", "-", folder.name.lower()).strip("-.") or "world"
        name = name or plain
        if name in editions.shipped():
            name = f"{name}-{plain}"
        path = kept / f"{name}.toml"
        if not path.exists():
            from pipeline.offline.world import papers_of

            papers = papers_of(folder)
            write(path, _WORLD_EDITION.format(world=json.dumps(str(folder)), sample=max(papers, SAMPLE_AT_LEAST)))
        edition = editions.load(str(path))
        if edition.world_path is None or edition.world_path.resolve() != folder:
            raise EditionError(f"{path} is about {edition.world_path}, not {folder}; give this one another name")
        return edition
    name = name or "sample-2025"
    path = kept / f"{name}.toml"
    return editions.load(str(path) if path.is_file() and name not in editions.shipped() else name)


_WORLD_EDITION = """\
# Made from a world folder with the sample edition's settings; change what you like.
extends = "sample-2025"
world = {world}
sample = {sample}

[corpus]
min_papers = 1
"""


@contextmanager
def workplace(name: str, root: Path, say: Say = to_stderr, minutes: float | None = None) -> Iterator[Workplace]:
    """Open an edition's workplace, and close it at the end."""
    store = Store.open(root)
    with opened(Workplace(edition=load_edition(name, store), store=store, say=say, minutes=minutes)) as work:
        yield work


@contextmanager
def opened(work: Workplace) -> Iterator[Workplace]:
    """Close a workplace's world and database at the end: SQLite then puts its log into the one file that is copied."""
    try:
        yield work
    finally:
        if "world" in work.__dict__ and work.world is not None:
            work.world.close()
        work.store.engine.dispose()
