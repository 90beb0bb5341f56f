"""Editions brought to the point where a kill will find them, and what they end in when nobody disturbs them."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from pipeline.events import Event, chained
from pipeline.ledger import Entry, Ledger, verify_chain
from pipeline.release.compose import compose
from pipeline.release.freeze import freeze
from tests.e2e import tiny
from tests.e2e.tiny import Tiny, contents
from tests.faults import served_page
from tests.release import made

UNDER_WAY = ("QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING")
REPO = "lab/made"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenes:
    """`finished`: released once; `later`: released twice. `decided`: its ledger and an empty store; `undecided`: built,
    and waiting for its one auditor; `first` and `second`: all done but the freeze of version 1 and 2. `published`: two
    versions of a made release that names a repository."""

    finished: Tiny
    later: Tiny
    decided: Tiny
    undecided: Tiny
    first: Tiny
    second: Tiny
    published: tuple[Path, Path]


def prepare(finished: Tiny, folder: Path) -> Scenes:
    """`finished` is only read; everything else is made in `folder`."""
    decided = tiny.make(folder / "decided")
    assert decided.run("audit", "import", str(finished.folder / "decisions.jsonl"), "--edition", str(decided.toml)) == 0
    shutil.copytree(finished.root / "dagster", decided.root / "dagster")  # an instance takes seconds to set up

    undecided = finished.copy(folder / "undecided")
    with undecided.store.engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE ledger"))
    shutil.rmtree(undecided.root / "releases")
    for table in ("audited", "splits", "release"):
        undecided.store.table_path(undecided.name, table).unlink()
    served_page.account(undecided.root)

    first = finished.copy(folder / "first")
    _unfreeze(first, 1)
    later = finished.copy(folder / "later")
    row = next(r for r in later.rows("audited") if r["hours"] and r["excluded"] is None)
    said = {"kind": "re_estimate", "question": "hours", "value": row["hours"] * 1.01, "row_hash": row["row_hash"]}
    about = {"paper": row["arxiv_id"], "who": "grace", "at": "2025-12-05T10:00:00Z", "why": "appendix C"}
    Ledger(later.store.engine, later.name).append([Event.model_validate({**said, **about})])
    assert later.build() == tiny.EXIT_RELEASED
    assert [place.name for place in later.releases()] == ["tiny-v1", "tiny-v2"]
    second = later.copy(folder / "second")
    _unfreeze(second, 2)
    return Scenes(
        finished=finished,
        later=later,
        decided=decided,
        undecided=undecided,
        first=first,
        second=second,
        published=_published(folder),
    )


def _unfreeze(edition: Tiny, version: int) -> None:
    shutil.rmtree(edition.root / "releases" / f"{edition.name}-v{version}")
    edition.store.table_path(edition.name, "release").unlink()


def _published(folder: Path) -> tuple[Path, Path]:
    held = made.material()
    held = replace(held, edition=held.edition.model_copy(update={"repo": REPO}))
    last = held.entries[-1]
    one = {
        "who": "grace",
        "at": "2026-02-27T10:00:00Z",
        "kind": "re_estimate",
        "question": "hours",
        "why": "appendix C",
    }
    row = compose(held).chosen[0]
    about = {"paper": row.arxiv_id, "row_hash": row.derivation.row_hash, "value": 7.25}
    more = chained([Event.model_validate({**one, **about})], last.site, last.seq, last.hash)
    places = []
    for version, material in enumerate((held, replace(held, entries=(*held.entries, *more))), start=1):
        done = freeze(material, made.given(material), folder / "published" / f"made-2026-v{version}", "code")
        assert done.place is not None, "\n".join(done.report.lines())
        places.append(done.place)
    return places[0], places[1]


def faults(found: Tiny, releases: dict[str, str], entries: list[Entry]) -> tuple[list[str], int]:
    """What differs from an undisturbed end, and how many events were lost or doubled."""
    wrong = []
    there = {name: sha for name, sha in contents(found.root / "releases").items() if not name.startswith(".")}
    if there != releases:
        names = sorted(n for n in there.keys() | releases.keys() if there.get(n) != releases.get(n))
        wrong.append(f"other release bytes: {', '.join(names[:5])}")
    ledger = found.ledger()
    wrong += verify_chain(ledger, found.name)
    have, want = (Counter(e.event.id for e in some) for some in (ledger, entries))
    lost = (want - have).total() + (have - want).total()
    if ledger != entries:
        wrong.append("another ledger")
    if left := under_way(found):
        wrong.append(f"Dagster shows runs of dead processes: {left}")
    return wrong, lost


def under_way(found: Tiny) -> dict[str, int]:
    """Runs that Dagster takes for unfinished, by status."""
    return {status: count for status, count in statuses(found).items() if status in UNDER_WAY}


def statuses(found: Tiny) -> dict[str, int]:
    """How many runs of each status Dagster knows."""
    engine = sa.create_engine(f"sqlite:///{found.root / 'dagster' / 'history' / 'runs.db'}")
    with engine.connect() as connection:
        rows = connection.execute(sa.text("select status, count(*) from runs group by status")).all()
    engine.dispose()
    return {str(status): int(count) for status, count in rows}
