"""A live edition whose services are a made-up conference with the real ones' limits, on a simulated clock.

The stages run as they do on a network: real URLs, tokens, waits and quotas; only transport and clock are others.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from assets import bundles, corpus, episodes, repositories
from assets.workplace import Workplace
from classifiers import linkcheck
from classifiers.places import call_for
from classifiers.toolbox import Desk, Limits, PaperInput
from pipeline import reference
from pipeline.bundles import files_of, manifest
from pipeline.editions import load
from pipeline.evidence import Receipt
from pipeline.offline.generated import INDEX, write_generated
from pipeline.offline.limits import Keeper, Seen
from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldTransport
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.github_tokens import Tokens
from pipeline.sources.probes import Probes
from pipeline.sources.reading import PaperFacts
from pipeline.sources.recorder import Recorder
from pipeline.store import Store

START = datetime(2025, 12, 1, tzinfo=UTC)
_EDITION = """\
conference = "Generated"
year = 2025
venue = "Generated.cc/2025/Conference"
as_of = 2025-12-01
seed = "{seed}"
sample = {papers}
pool_size = {pool}
eval_size = 1
dev_per_tier = 0
[live]
index_dataset = "{index}"
[corpus]
min_papers = {papers}
"""


@dataclass
class Rehearsal(Workplace):
    """`served`: where the recorder's requests go."""

    served: OfflineWorld = field(kw_only=True)
    simulated: SimulatedClock = field(kw_only=True)
    keeper: Keeper = field(kw_only=True)
    tokens: str = ""

    @property
    def clock(self) -> SimulatedClock:  # type: ignore[override]
        return self.simulated

    def recorder(self, *, again: bool = False, **more: Any) -> Recorder:
        return Recorder(
            self.store,
            self.simulated,
            run=self.run,
            epoch="live:rehearsal",
            transport=WorldTransport(self.served),
            second_look_hours=self.edition.second_look_hours,
            again=again,
            **more,
        )


@contextmanager
def rehearsal(folder: Path, papers: int, seed: str = "rehearsal", token: str = "a-token") -> Iterator[Rehearsal]:
    """A workplace in `folder`, with its world served in this process. Opened again, it goes on where it was left; the
    server's log (`log.jsonl`) goes on too."""
    toml = folder / "conference.toml"
    served = write_generated(folder / "world", papers, seed)
    toml.write_text(
        _EDITION.format(seed=seed, papers=papers, pool=min(papers, 24), index=INDEX.removeprefix("datasets/")),
        encoding="utf-8",
    )
    store = Store(folder / "store")
    clock = SimulatedClock(START)
    keeper = Keeper(clock, folder / "log.jsonl")
    with OfflineWorld(served, keeper=keeper) as world:
        work = Rehearsal(
            edition=load(toml),
            store=store,
            say=lambda line: None,
            served=world,
            simulated=clock,
            keeper=keeper,
            tokens=token,
        )
        clock.sleep(max(0.0, ((work.record.last_seen_at("live:") or START) - START).total_seconds()))
        yield work


def fetch_all(work: Rehearsal) -> dict[str, Any]:
    """Index, metadata, notes, sources, supplements; every repository looked up, every link of every paper checked.
    Returns counts, and the `receipts` of the links."""
    told = dict(corpus.run(work, "print"))
    told |= {f"bundles_{key}": value for key, value in bundles.run(work, "print").items()}
    recorder, tokens = work.recorder(), Tokens.of(work.tokens)
    items = episodes.items(work)
    papers = {item.record.arxiv_id: episodes.paper_of(work, item) for item in items}
    read = [(item.record, papers[item.record.arxiv_id]) for item in items]
    repositories.look_up(work, recorder, tokens, read)
    named = {name for _, paper in read for link in paper.links if (name := repository_of(link.url))}
    walls = reference.walls()
    receipts: list[Receipt] = []
    for item in items:
        record, paper = item.record, papers[item.record.arxiv_id]
        supplement = files_of(item.bundle.supplement_files, work.store.blobs.get)
        facts = PaperFacts(title=paper.title or record.title, arxiv_id=record.arxiv_id, authors=record.authors)
        listed = tuple((entry.path, entry.size) for entry in manifest(item.bundle.supplement_files))
        given = PaperInput(record=record.arxiv_id, bundle=item.bundle.digest, paper=paper, supplement=listed)
        with recorder.call(record.arxiv_id):
            probes = Probes(record.arxiv_id, recorder, supplement, facts, walls, tokens)
            desk = Desk(given=given, probes=probes, limits=Limits())
            linkcheck.check(desk)
        receipts += desk.receipts
    return told | {"repositories": len(named), "papers": len(items), "receipts": receipts}


def repository_of(url: str) -> str:
    """`owner/name` in lower case of a link to GitHub, or ""."""
    call = call_for(url)
    return str(dict(call.arguments)["repo"]).lower() if call.tool == "github_repo" else ""


def is_plain(seen: Seen) -> bool:
    """A request to GitHub's API that batches of look-ups save: neither a deep tree nor a search."""
    path = seen.path.partition("?")[0]
    return seen.host == "api.github.com" and "/git/trees/" not in path and not path.startswith("/search")


def attachments(log: list[Seen]) -> int:
    return sum(seen.host == "api2.openreview.net" and seen.path.startswith("/attachment") for seen in log)


def hosts(log: list[Seen]) -> Counter[str]:
    return Counter(seen.host for seen in log)


def most_within(log: list[Seen], quota: str, seconds: float) -> int:
    """The most units that one caller spent of a quota in any stretch of so many seconds, wherever it begins."""
    worst = 0
    for who in {seen.who for seen in log}:
        spent = [(datetime.fromisoformat(s.at), s.units) for s in log if s.quota == quota and s.who == who]
        first = total = 0
        for at, units in spent:
            total += units
            while (at - spent[first][0]).total_seconds() >= seconds:
                total -= spent[first][1]
                first += 1
            worst = max(worst, total)
    return worst


def shortest_gap(log: list[Seen], ending: str) -> float:
    """Seconds between two requests to hosts with this ending, at least."""
    times = [datetime.fromisoformat(seen.at) for seen in log if seen.host.endswith(ending)]
    return min((after - before).total_seconds() for before, after in pairwise(times))


def main() -> None:
    """`python -m tests.bench.rehearsal FOLDER PAPERS`: fetch all, in a process that may be killed."""
    with rehearsal(Path(sys.argv[1]), int(sys.argv[2])) as work:
        fetch_all(work)


if __name__ == "__main__":
    main()
