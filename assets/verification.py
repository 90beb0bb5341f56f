"""`reclaim verify` beyond a release's folder: receipts and readings replayed from an evidence pack, receipts probed
anew."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from datetime import time as clock_time
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import editions
from pipeline.editions import Edition, EditionError
from pipeline.fingerprints import cache, code_print, keep, remember
from pipeline.release import levels
from pipeline.release.freeze import RULES
from pipeline.release.pack import Pack
from pipeline.release.report import Report
from pipeline.release.verify import Case, Look, verify

if TYPE_CHECKING:
    from pipeline.sources.recorder import Recorder

HUB = "hub:"
"""What a release on the Hub is named with: hub:ORG/NAME@TAG."""


def command(arguments: argparse.Namespace) -> int:
    """Print the report, and how far each label was proven; 0 where every check passed. Drift that changes no label is a
    note."""
    if str(arguments.release).startswith(HUB):
        from assets.publish import downloaded

        with downloaded(str(arguments.release).removeprefix(HUB)) as (folder, look):
            return _verified(arguments, folder, [look])
    return _verified(arguments, Path(arguments.release), [])


def _verified(arguments: argparse.Namespace, folder: Path, also: list[Look]) -> int:
    seen: list[Case] = []
    came_back: dict[str, bool] = {}

    def see(case: Case, pack: Pack | None) -> Report:
        seen.append(case)
        return Report(())

    also.append(see)
    if arguments.replay:
        from classifiers.replay import readings
        from pipeline.sources.replay import replay

        also += [lambda case, pack: replay(case, pack, came_back), readings]
    if arguments.live is not None:
        also.append(lambda case, pack: _live(case, pack, arguments))
    report = verify(
        folder,
        arguments.evidence,
        ledger_head=arguments.ledger_head,
        edition_hash=arguments.edition_hash,
        manifest=arguments.manifest,
        code_print=_code(),
        also=also,
    )
    found = levels.levels(seen[0], report, came_back) if seen else ()
    if arguments.json:
        print(json.dumps({**asdict(report), "labels": [asdict(level) for level in found]}, indent=2))
    else:
        print("\n".join([*report.lines(), *levels.told(found)]))
    return 0 if report.ok else 1


def _code() -> str:
    """The print of this machine's code. Its modules are parsed once for all releases of a user."""
    place = cache(os.environ)
    if place is None:
        return code_print(*RULES)
    remember(place)
    print_ = code_print(*RULES)
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        keep(place)
    return print_


def _live(case: Case, pack: Pack | None, arguments: argparse.Namespace) -> Report:
    from pipeline.sources.github_tokens import Tokens
    from pipeline.sources.live import live

    edition = case.material.edition
    seed = edition.seed if arguments.seed is None else arguments.seed
    tokens = Tokens.from_environment(os.environ, own_only=edition.world is not None)
    with _recorder(edition, arguments.world or world_of(edition, arguments.store)) as recorder:
        return live(case, pack, recorder, arguments.live, seed, tokens)


def world_of(edition: Edition, store: str | None) -> Path | None:
    """The folder of an edition's world on this machine; None for an edition of the real one. EditionError where it is
    not here."""
    from assets.workplace import store_root

    if edition.world is None:
        return None
    kept = store_root(store) / "editions" / f"{edition.name}.toml"
    for known in (edition, *([editions.load(str(kept))] if kept.is_file() else [])):
        path = known.world_path
        if known.hash == edition.hash and path is not None and path.is_dir():
            return path
    raise EditionError(
        f"edition {edition.name} was made in the world {edition.world}, which is not on this machine; "
        "name its folder with --world"
    )


@contextmanager
def _recorder(edition: Edition, world: Path | None) -> Iterator[Recorder]:
    """A recorder that remembers nothing yet, into a world folder or onto the network; it is forgotten at the end."""
    from pipeline.offline.server import OfflineWorld
    from pipeline.offline.transports import WorldTransport
    from pipeline.offline.values import WorldError
    from pipeline.sources.clocks import SimulatedClock, SystemClock
    from pipeline.sources.recorder import Recorder
    from pipeline.store import Store

    with tempfile.TemporaryDirectory(prefix="reclaim-live-") as folder:
        store, hours = Store(Path(folder)), edition.second_look_hours
        if world is None:
            yield Recorder(store, SystemClock(), run="live", epoch="live", second_look_hours=hours)
            return
        with OfflineWorld(world) as served:
            try:
                day = served.world.facts.as_of  # read now: a folder that is no world looks like a network that is down
            except WorldError as error:
                raise EditionError(str(error)) from error
            clock = SimulatedClock(datetime.combine(max(day, edition.as_of), clock_time(), tzinfo=UTC))
            transport = WorldTransport(served)
            yield Recorder(store, clock, run="live", epoch="live", transport=transport, second_look_hours=hours)
