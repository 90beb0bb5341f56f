"""`reclaim inspect`: what the benchmark would say of one paper, with its evidence, and what is missing for Run.

For authors, before they submit. A local source is read without a word to the network unless `--live` asks for it, since
it may not be public yet.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from datetime import time as clock_time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from assets import inspection_text
from classifiers.examination import Examined, NotAsked, Source, examine
from classifiers.models import Classifier, NoSuchModel, model_for
from classifiers.toolbox import Probes as Asking
from pipeline import editions, reference
from pipeline.corpus import Exclusion, PaperRecord, valid_arxiv_id

if TYPE_CHECKING:
    from pipeline.offline.server import OfflineWorld
    from pipeline.sources.reading import PaperFacts
    from pipeline.sources.recorder import Recorder

RULES = "sample-2025"
"""The edition whose rules apply: needs scoring, and the caps and bands a new edition has."""
UNPUBLISHED = "0000.00000"
"""Stands for a paper without an arXiv id: no real one has month 00."""
FILE_BYTES, TOTAL_BYTES = 32 << 20, 256 << 20
"""Bounds on what is read of a source folder; larger files are data or pictures, not LaTeX."""
_SKIPPED = frozenset({".git", ".svn", ".hg", "__pycache__", "node_modules", ".venv"})


class InspectError(ValueError):
    """Something that cannot be inspected: the message says why and what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """A way to the world: `recorder` None asks nobody. `words` say which it is."""

    recorder: Recorder | None
    world: OfflineWorld | None
    words: str


def command(arguments: argparse.Namespace) -> int:
    """Print what is found; code 1 with one message for what cannot be inspected, 2 for a source that holds no paper."""
    try:
        found, words = inspect(
            arguments.paper,
            world=arguments.world,
            live=arguments.live,
            classifier=arguments.classifier,
            store=arguments.store,
        )
    except (InspectError, NoSuchModel) as error:
        print(f"reclaim: {error}", file=sys.stderr)
        return 1
    out = inspection_text.as_json(found, words) if arguments.json else None
    print(json.dumps(out, indent=2, ensure_ascii=False) if out else inspection_text.as_text(found, words))
    return 2 if isinstance(found, Exclusion) else 0


def inspect(
    paper: str,
    *,
    world: Path | None = None,
    live: bool = False,
    classifier: str = "embedded",
    store: str | None = None,
) -> tuple[Examined | Exclusion, str]:
    """Examine one paper; returns what came out and how its links were asked. `store`: where a model's turns are kept,
    if anywhere.

    Raises InspectError for a paper that is not there, NoSuchModel for a classifier that is not, Stopped for one that
    may not be paid for.
    """
    place = Path(paper).expanduser()
    named = None if place.exists() else valid_arxiv_id(paper.removeprefix("arXiv:"))
    if not place.exists() and named is None:
        raise InspectError(f"{paper} is neither a folder, nor a file, nor an arXiv id (2401.01234); check its spelling")
    reader, edition = _reader(classifier, store), editions.load(RULES)
    with _way(world, live=live or named is not None) as way:
        record, source = _local(place) if named is None else _listed(named[0], named[1], way)
        if isinstance(source, Exclusion):
            return source, way.words

        def probes(facts: PaperFacts) -> Asking:
            if way.recorder is None:
                return NotAsked(record.arxiv_id)
            from pipeline.sources.probes import Probes
            from pipeline.sources.web_search import Engine

            engine = Engine.of(reader.web_search, os.environ)
            return Probes(record.arxiv_id, way.recorder, {}, facts, reference.walls(), engine=engine)

        return asyncio.run(examine(record, source, probes, reader, edition)), way.words


def _reader(name: str, store: str | None) -> Classifier:
    reader = model_for(name)
    reader.check()
    if reader.endpoint is None or store is None:
        return reader
    from classifiers.turns import RecordedTurns
    from pipeline.record import Record
    from pipeline.store import Store

    kept = Store.open(Path(store).expanduser().resolve())
    return replace(reader, turns=partial(RecordedTurns, Record(kept.engine), kept.blobs, "inspect"))


# -------------------------------------------------------------------------------------------------------- the world


@contextmanager
def _way(folder: Path | None, *, live: bool) -> Iterator[Way]:
    """Into a world folder, onto the network, or nowhere."""
    if folder is None and not live:
        yield Way(recorder=None, world=None, words="not asked")
        return
    from pipeline.sources.clocks import SimulatedClock, SystemClock
    from pipeline.sources.recorder import Recorder
    from pipeline.store import Store

    with ExitStack() as stack:
        store = Store.open(Path(stack.enter_context(TemporaryDirectory(prefix="reclaim-inspect-"))))
        if folder is None:
            yield Way(recorder=Recorder(store, SystemClock(), run="inspect", epoch="inspect"), world=None, words="live")
            return
        from pipeline.offline.server import OfflineWorld
        from pipeline.offline.transports import WorldTransport
        from pipeline.offline.values import WorldError

        try:
            world = stack.enter_context(OfflineWorld(folder))
            day = world.world.facts.as_of
        except WorldError as error:
            raise InspectError(str(error)) from error
        moment = day if isinstance(day, datetime) else datetime.combine(day, clock_time(), tzinfo=UTC)
        clock = SimulatedClock(moment.replace(tzinfo=moment.tzinfo or UTC))
        recorder = Recorder(store, clock, run="inspect", epoch="inspect", transport=WorldTransport(world))
        yield Way(recorder=recorder, world=world, words=f"world {folder.name}")


# -------------------------------------------------------------------------------------------------------- the paper


def _local(place: Path) -> tuple[PaperRecord, Source]:
    record = _record(UNPUBLISHED, 1, "")
    if place.is_dir():
        return record, _folder(place)
    if place.suffix == ".tex":
        return record, {place.name: place.read_bytes()}
    return record, place.read_bytes()


def _folder(place: Path) -> dict[str, bytes]:
    """Every regular file of a source folder by its path; links lead nowhere, and what is too large is left out."""
    files: dict[str, bytes] = {}
    total = 0
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place)
        if path.is_symlink() or not path.is_file() or _SKIPPED & set(name.parts):
            continue
        size = path.stat().st_size
        if size <= FILE_BYTES and total + size <= TOTAL_BYTES:
            total += size
            files[name.as_posix()] = path.read_bytes()
    return files


def _listed(arxiv_id: str, version: int | None, way: Way) -> tuple[PaperRecord, Source | Exclusion]:
    """Metadata and source of a paper on arXiv, or on the world's."""
    from pipeline.sources.fetch import fetch_metadata
    from pipeline.sources.packages import fetch_source

    assert way.recorder is not None
    where = "arXiv" if way.world is None else way.words
    told = fetch_metadata(way.recorder, [arxiv_id])
    if arxiv_id not in told:
        raise InspectError(f"{where} gave no answer about {arxiv_id}; try again, or give a folder or an archive")
    metadata = told[arxiv_id]
    if metadata is None:
        raise InspectError(f"{where} knows no paper {arxiv_id}; check the id")
    record = _record(arxiv_id, version or metadata.version, metadata.title, metadata.authors)
    fetched = fetch_source(way.recorder, record)
    if fetched.state == "here":
        return record, fetched.data
    reason = "no_source" if fetched.state == "absent" else "undetermined"
    detail = fetched.reason or "arXiv has no source for this version"
    return record, Exclusion(key=arxiv_id, title=record.title, stage="bundles", reason=reason, detail=detail)


def _record(arxiv_id: str, version: int, title: str, authors: tuple[str, ...] = ()) -> PaperRecord:
    return PaperRecord(
        arxiv_id=arxiv_id,
        version=version,
        title=title,
        authors=authors,
        abstract="",
        forum_id=None,
        published="",
        categories=(),
        supplement_path=None,
        index_key="inspect#0",
    )
