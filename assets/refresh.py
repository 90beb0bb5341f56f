"""The yearly run: a new edition built from nothing but its own settings, and a report beside the last one."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from assets.workplace import Workplace
from pipeline.editions import EditionError
from pipeline.evidence import Json
from pipeline.files import write as write_file
from pipeline.release.changelog import HistoryError
from pipeline.release.folder import Sealed, open_sealed
from pipeline.release.freeze import version_of
from pipeline.store import Store

if TYPE_CHECKING:
    from assets.build import End


def release_of(store: Store, named: str) -> Path:
    """A release by its folder, by its name in this store, or the last one of an edition. EditionError where there is
    none."""
    place = Path(named)
    if (place / "manifest.json").is_file():
        return place
    if (store.releases / place.name / "manifest.json").is_file():
        return store.releases / place.name
    found = [path for path in store.releases.iterdir() if version_of(path.name)[0] == place.stem and path.is_dir()]
    if not found:
        raise EditionError(f"{named} is no release, and no edition with one in {store.releases}; name its folder")
    return max(found, key=lambda path: version_of(path.name)[1])


def check(work: Workplace, previous: Path) -> None:
    """Refuse what is no next edition: the same one again (that is `build --refresh`), or one of an earlier day.

    What another edition's build would leave in this store (decisions, tables) is kept by the edition's name, and
    evidence by the world and day it is of: a new name and a later day are what keeps it from being carried over.
    """
    last = json.loads((previous / "edition.json").read_text(encoding="utf-8"))
    if last["name"] == work.edition.name:
        raise EditionError(
            f"{previous.name} is of {last['name']} itself; a new edition has a name of its own (`reclaim build "
            f"{last['name']} --refresh` renews this one)"
        )
    if last["as_of"] >= work.edition.as_of.isoformat():
        raise EditionError(
            f"edition {work.edition.name} is as of {work.edition.as_of}, not after {last['as_of']}, the day of "
            f"{previous.name}: its evidence would be that edition's; set a later `as_of`"
        )


def write(store: Store, previous: Path, release: Path, cutoffs: list[str], asked: int | None = None) -> Path:
    """Compare two releases and write the report below `refresh/` in the store; returns its page."""
    from pipeline.comparison import compare, page

    report: Json = compare(_opened(previous), _opened(release), cutoffs, asked)
    place = store.root / "refresh" / f"{release.name} after {previous.name}"
    for name, text in (
        ("report.json", json.dumps(report, indent=1, ensure_ascii=False)),
        ("report.html", page(report)),
    ):
        write_file(place / name, f"{text}\n")
    return place / "report.html"


def _opened(folder: Path) -> Sealed:
    sealed, checks = open_sealed(folder)
    if sealed is None:
        first = next(failure for check in checks for failure in check.failures)
        raise HistoryError(f"{folder} is not as it was frozen ({first})")
    return sealed


def command(arguments: argparse.Namespace) -> int:
    """Build the new edition and, once it is released, write the report; the exit code is the build's."""
    from assets import report
    from assets.workplace import store_root, workplace

    with workplace(arguments.edition, store_root(arguments.store)) as work:
        end, page = run(work, arguments.previous, arguments.cutoff or [])
        print(report.closing(work, end))
        if page is not None:
            print(f"  beside   {arguments.previous}: {page}")
    return end.exit_code


def run(work: Workplace, previous: str, cutoffs: list[str]) -> tuple[End, Path | None]:
    """Build the edition, and the page that tells how its release differs; None where none was frozen."""
    from assets.build import build

    last = release_of(work.store, previous)
    check(work, last)
    end = build(work)
    if end.release is None:
        return end, None
    asked = work.record.asked(work.recorder().epoch)
    return end, write(work.store, last, end.release, cutoffs, asked)
