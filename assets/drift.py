"""Drift: the links of a frozen release probed again, anonymously, and told as a report with its history.

It keeps a record of its own beside the store's: neither the evidence of a build nor its age is touched by it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path
from typing import TYPE_CHECKING

from assets.workplace import Say, to_stderr
from pipeline import drift, reference
from pipeline.drift import Checked, Link
from pipeline.editions import Edition
from pipeline.evidence import Json, Outcome, Receipt, digest
from pipeline.files import write
from pipeline.record import Record
from pipeline.release.case import Case
from pipeline.release.pack import Pack
from pipeline.release.report import Report, printable
from pipeline.release.verify import verify
from pipeline.store import Store, StoreError

if TYPE_CHECKING:
    from pipeline.sources.clocks import Clock
    from pipeline.sources.recorder import Recorder

RUNS, PAGE, ERRATA = "looks", "report.html", "errata.jsonl"
CONTINUED_DAYS = 7
"""For so long a look with open links is continued; after that a new one begins, and those links are open in it too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """One look at a release, and the folder where it and its history were written."""

    report: Json
    place: Path


def look(store: Store, release: Path, world: Path | None = None, say: Say = to_stderr) -> Looked:
    """Probe every link of a frozen release again and write the report below `drift/` in the store.

    What is "gone" once is asked again a day later: at once in an offline world, by the next look elsewhere, which goes
    on with what is open. `world`: the folder of an edition's world, None for the network. Raises StoreError for a
    folder that does not verify: what was frozen has to be known before it can have drifted.
    """
    case = _whole(release)
    edition, place = case.material.edition, store.root / "drift" / release.name
    links = drift.links(case.material, case.made)
    with store.lock(edition.name), _asking(store, release.name, edition, world) as (clock, recorder):
        day = _day(place, clock.now().date())
        say(f"drift of {release.name}: {len(links)} links, asked as a stranger")
        checked = _checked(links, case, recorder(day), say)
        if world is not None and any(one.pending for one in checked):
            clock.sleep(edition.second_look_hours * 3600 + 60)
            open_ = [one.link for one in checked if one.pending]
            again = {one.link.subject: one for one in _checked(open_, case, recorder(day), say)}
            checked = [again.get(one.link.subject, one) for one in checked]
        asked = recorder(day).record.totals(_run(release.name, day)).all.requests
    report = {
        "release": release.name,
        "edition": edition.name,
        "day": day,
        "rows": len(case.rows),
        "requests": asked,
        "second_look_hours": edition.second_look_hours,
        "counts": drift.counts(checked),
        "pending": sum(one.pending for one in checked),
        "links": [one.to_json() for one in checked],
    }
    _write(place, report, drift.proposals(release.name, checked))
    return Looked(report=report, place=place)


def history(place: Path) -> list[Json]:
    """The reports of all looks at a release, oldest first."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((place / RUNS).glob("*.json"))]


def open_looks(store: Store) -> list[str]:
    """Releases whose last look has links that want another one."""
    places = sorted(path.parent for path in (store.root / "drift").glob(f"*/{RUNS}"))
    return [place.name for place in places if (runs := history(place)) and runs[-1]["pending"]]


def _whole(release: Path) -> Case:
    held: list[Case] = []

    def see(case: Case, pack: Pack | None) -> Report:
        held.append(case)
        return Report(())

    report = verify(release, also=[see])
    if not report.ok:
        raise StoreError(f"{release} does not verify ({report.failures[0]}); see `reclaim verify {release}`")
    return held[0]


def _day(place: Path, today: date) -> str:
    """The day of a look: that of the last one, where it is not settled and not long ago."""
    last = history(place)[-1:]
    late = last and today - date.fromisoformat(last[0]["day"]) > timedelta(days=CONTINUED_DAYS)
    return str(last[0]["day"]) if last and last[0]["pending"] and not late else today.isoformat()


def _run(release: str, day: str) -> str:
    return digest(["drift", release, day])[:12]


def _checked(links: Sequence[Link], case: Case, recorder: Recorder, say: Say) -> list[Checked]:
    """Every link asked again by the tool call of its receipt; where its head moved on, its frozen commit too."""
    from pipeline.sources.probes import PaperFacts, Probes

    walls, found = reference.walls(), []
    titles = {inputs.arxiv_id: inputs.title for inputs in case.material.sample}
    for number, link in enumerate(links, start=1):
        paper = link.receipt.paper
        probes = Probes(paper, recorder, {}, PaperFacts(title=titles[paper], arxiv_id=paper, authors=()), walls)

        def ask(tool: str, arguments: Json, probes: Probes = probes) -> Receipt:
            return probes.call(tool, arguments).receipt

        found.append(_one(link, ask))
        if number % 25 == 0:
            say(f"drift {number}/{len(links)}")
    return found


def _one(link: Link, ask: Callable[[str, Json], Receipt]) -> Checked:
    now = ask(link.receipt.tool, link.receipt.arguments)
    commit = now.facts.get("commit")
    head = str(commit) if now.outcome is Outcome.AVAILABLE and commit and commit != link.commit else None
    call = link.pinned_call(now) if head else None
    pinned = None if call is None else ask(*call)
    return Checked(link=link, found=drift.classify(link.receipt, now, pinned), head=head)


@contextmanager
def _asking(
    store: Store, release: str, edition: Edition, world: Path | None
) -> Iterator[tuple[Clock, Callable[[str], Recorder]]]:
    """A clock, and recorders for a day's look: into a world folder or onto the network, with drift's own record."""
    from pipeline.offline.server import OfflineWorld
    from pipeline.offline.transports import WorldTransport
    from pipeline.sources.clocks import SimulatedClock, SystemClock
    from pipeline.sources.recorder import Recorder

    memory, hours = Store(store.root / "drift" / "record"), edition.second_look_hours

    def recorder(line: str, clock: Clock, day: str, transport: WorldTransport | None) -> Recorder:
        epoch = f"{line}:{digest([release, day])[:32]}"
        return Recorder(
            memory, clock, run=_run(release, day), epoch=epoch, transport=transport, second_look_hours=hours
        )

    if world is None:
        clock = SystemClock()
        yield clock, lambda day: recorder("live", clock, day, None)
        return
    with OfflineWorld(world) as served:
        start = datetime.combine(max(served.world.facts.as_of, edition.as_of), clock_time(), tzinfo=UTC)
        seen = (Record(one.engine).last_seen_at("offline:") for one in (store, memory))
        simulated = SimulatedClock(max(start, *(at for at in seen if at is not None)))
        yield simulated, lambda day: recorder("offline", simulated, day, WorldTransport(served))


def _write(place: Path, report: Json, proposed: Sequence[Json]) -> None:
    """The look, the errata it proposes, and the page over all looks; each beside its place first."""
    from pipeline.drift_page import page

    write(place / RUNS / f"{report['day']}.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    write(place / ERRATA, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in proposed))
    write(place / PAGE, page(history(place)))


def told(looked: Looked) -> list[str]:
    """A look in a few lines for a terminal, whatever hosts call their things."""
    report, lines = looked.report, []
    counted = ", ".join(f"{n} {way}" for way, n in report["counts"].items())
    lines.append(f"{report['release']} on {report['day']}: {len(report['links'])} links, {counted or 'none'}")
    for link in report["links"]:
        for found in link["found"]:
            lines.append(f"  {found['way']:17} {link['subject']} ({', '.join(link['papers'])}) {found['detail']}")
    if report["pending"]:
        hours = report["second_look_hours"]
        lines.append(f"{report['pending']} are open: run this again {hours:g} hours from now")
    proposals = (looked.place / ERRATA).read_text(encoding="utf-8").count("\n")
    lines.append(f"  report   {looked.place / PAGE}")
    if proposals:
        lines.append(f"  errata   {proposals} proposed in {looked.place / ERRATA}; read them, delete the wrong ones,")
        lines.append(f"           and `reclaim drift {report['release']} --accept {looked.place / ERRATA} --who NAME`")
    return [printable(line) for line in lines]


def look_at(store: Store, named: str | Path, say: Say = to_stderr, world: Path | None = None) -> Looked:
    """Look at a release by its name in the store or its folder, in the world that its edition was made in."""
    from assets.verification import world_of

    release = _place(store, Path(named))
    edition = Edition.model_validate(_edition(release))
    return look(store, release, world or world_of(edition, str(store.root)), say)


def _place(store: Store, named: Path) -> Path:
    found = named if (named / "edition.json").is_file() else store.releases / named.name
    if not (found / "edition.json").is_file():
        raise StoreError(f"{named} is no release: name its folder, or one in {store.releases}")
    return found


def _edition(release: Path) -> Json:
    return json.loads((release / "edition.json").read_text(encoding="utf-8"))


def command(arguments: argparse.Namespace) -> int:
    """Look at a release, or put the errata that a person accepts into the ledger of its edition."""
    from assets.workplace import store_root

    store = Store.open(store_root(arguments.store))
    if arguments.accept is not None:
        return _accept(store, _edition(_place(store, arguments.release))["name"], arguments)
    print("\n".join(told(look_at(store, arguments.release, world=arguments.world))))
    return 0


def _accept(store: Store, edition: str, arguments: argparse.Namespace) -> int:
    """Append the errata that are left in a file of proposals, as the person who accepts them."""
    from pipeline.decisions import read_decisions
    from pipeline.ledger import Ledger

    if not arguments.who:
        print("reclaim: --accept needs --who: a person accepts an erratum, not a program", file=sys.stderr)
        return 2
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = drift.accepted(arguments.accept.read_text(encoding="utf-8"), arguments.who, at)
    events = read_decisions("".join(json.dumps(line) + "\n" for line in lines), str(arguments.accept))
    new = Ledger(store.engine, edition, os.environ.get("RECLAIM_SITE", "main")).append(events)
    print(f"{len(new)} of {len(events)} errata are new in the ledger of {edition}; the next version lists them")
    return 0
