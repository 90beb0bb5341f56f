"""The corpus stage as a build runs it on live services: what it lists, pins, counts and refuses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from assets import bundles, corpus
from assets.stages import UNFINISHED, read_rows
from assets.workplace import Workplace
from pipeline.editions import load
from pipeline.fingerprints import closure
from pipeline.offline.limits import Keeper
from pipeline.offline.values import Paper, World
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.recorder import Recorder
from pipeline.sources.trouble import FetchError
from pipeline.store import Store
from tests.bundles.served import START, VENUE, Served, paper, world_of

DAY = 86_400.0
PEOPLE = ("Ada Stone", "Bo Chen", "Cy Park")
EDITION = f"""\
conference = "Tiny"
year = 2025
venue = "{VENUE}"
as_of = 2025-12-01
seed = "tiny"
sample = 3
pool_size = 1
eval_size = 1
dev_per_tier = 0
[live]
"""


@dataclass
class Live(Workplace):
    """A live edition whose services answer in this process."""

    served: Served = field(kw_only=True)
    keeper: Keeper = field(kw_only=True)
    simulated: SimulatedClock = field(kw_only=True)
    epoch: str = "live:tiny"

    @property
    def clock(self) -> SimulatedClock:  # type: ignore[override]
        return self.simulated

    def recorder(self, *, again: bool = False, **more: Any) -> Recorder:
        return Recorder(
            self.store, self.simulated, run=self.run, epoch=self.epoch, transport=self.served, again=again, **more
        )

    def two_looks(self) -> dict[str, Any]:
        """The stage on one day and on the next: that arXiv has nothing, it says twice."""
        corpus.run(self, "p")
        self.simulated.sleep(DAY + 60)
        return corpus.run(self, "p")

    def asked(self, what: str) -> int:
        return sum(what in f"{seen.host}{seen.path}" for seen in self.keeper.seen)

    def rows(self, table: str) -> list[dict[str, Any]]:
        return read_rows(self, table)

    def ids(self) -> list[str]:
        return [row["arxiv_id"] for row in self.rows("papers")]

    def reasons(self) -> dict[str, str]:
        return {row["title"]: row["reason"] for row in self.rows("corpus_exclusions")}


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Live]:
    monkeypatch.delenv("RECLAIM_ARXIV_SNAPSHOT", raising=False)

    def make(world: World, settings: str = "") -> Live:
        toml = tmp_path / "tiny.toml"
        toml.write_text(EDITION + settings, encoding="utf-8")
        clock = SimulatedClock(START)
        keeper = Keeper(clock)
        served = Served(world, keeper)
        store = Store(tmp_path / "store")
        return Live(edition=load(toml), store=store, served=served, keeper=keeper, simulated=clock)

    return make


def venue_papers() -> list[Paper]:
    """One of one title in both places, one renamed, one that arXiv does not have."""
    return [
        paper("2505.00001", "Sparse Walks on Graphs", authors=PEOPLE, forum_id="F1", supplement="zip"),
        paper(
            "2505.00002",
            "Dense Trees in Shallow Water",
            authors=PEOPLE,
            forum_id="F2",
            openreview_title="Growing Dense Trees from Shallow Water by Night",
        ),
        paper(
            "2505.00003",
            "Counting Cells in Maize",
            authors=("Fay Lund",),
            forum_id="F3",
            openreview_title="Rotary Encodings at Rest",
            openreview_authors=("Gus Hall",),
        ),
    ]


# ------------------------------------------------------------------------------------------ the index: a venue's notes


def test_a_venues_notes_are_found_on_arxiv_and_the_others_are_counted(live: Callable[..., Live]) -> None:
    work = live(world_of(venue_papers()))
    assert corpus.run(work, "p")["reasons"] == {"undetermined": 1}
    told = work.two_looks()
    assert work.ids() == ["2505.00001", "2505.00002"]
    assert work.reasons() == {"Rotary Encodings at Rest": "no_arxiv_id"}
    assert told["index"] == told["papers"] + told["excluded"] == 3
    assert told["reasons"] == {"no_arxiv_id": 1}
    first = work.rows("papers")[0]
    assert (first["forum_id"], first["supplement_path"] is not None, first["note_number"] > 0) == ("F1", True, True)
    assert corpus.check(work) == (3, [])


def test_a_snapshot_spares_arxivs_search(
    live: Callable[..., Live], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        {
            "id": p.arxiv_id,
            "title": p.facts.title,
            "authors_parsed": [[a.split()[1], a.split()[0], ""] for a in p.facts.authors],
            "versions": [{"version": "v1", "created": ""}],
        }
        for p in venue_papers()
    ]
    (tmp_path / "arxiv.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    work = live(world_of(venue_papers()), 'arxiv_snapshot = "arxiv.jsonl"\n')
    corpus.run(work, "p")
    assert work.ids() == ["2505.00001", "2505.00002"]
    assert (work.asked("search_query=ti"), work.asked("id_list=2505")) == (0, 1)
    monkeypatch.setenv("RECLAIM_ARXIV_SNAPSHOT", str(tmp_path / "elsewhere.jsonl"))
    with pytest.raises(FetchError, match="no such file"):
        corpus.run(work, "p")


def test_a_search_without_an_answer_leaves_its_entries_open_until_it_comes(live: Callable[..., Live]) -> None:
    work = live(world_of(venue_papers()))
    work.served.down = frozenset({"export.arxiv.org"})
    assert corpus.run(work, "p")["undetermined"] == 3
    assert (work.store.table_print("tiny", "papers") or "").endswith(UNFINISHED)
    assert set(work.reasons().values()) == {"undetermined"}
    work.served.down = frozenset()
    work.simulated.sleep(DAY + 60)
    assert corpus.run(work, "p")["undetermined"] == 1  # one that it does not find: for the first time
    work.simulated.sleep(DAY + 60)
    assert corpus.run(work, "p")["undetermined"] == 0
    assert work.ids() == ["2505.00001", "2505.00002"]
    assert work.store.table_print("tiny", "papers") == "p"


def test_a_refused_or_unknown_venue_is_an_error_that_says_what_to_set(
    live: Callable[..., Live], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    work = live(world_of(venue_papers(), challenge=True))
    with pytest.raises(FetchError, match=r"wants a login .* set OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD"):
        corpus.run(work, "p")
    monkeypatch.setenv("OPENREVIEW_USERNAME", "reader@example.org")
    with pytest.raises(FetchError, match="one is not set"):
        corpus.run(work, "p")
    monkeypatch.setenv("OPENREVIEW_PASSWORD", "a-long-secret")
    assert corpus.run(work, "p")["papers"] == 2
    other = live(world_of(venue_papers()), 'venues = ["Tiny.cc/2025/Conference", "Tiny.cc/2025/Position_Track"]\n')
    with pytest.raises(FetchError, match=r"no notes for venue Tiny\.cc/2025/Position_Track"):
        corpus.run(other, "p")


def test_what_openreview_counts_and_does_not_list_is_missed(
    live: Callable[..., Live], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pipeline.offline.openreview as service

    whole = service._notes

    def short(world: World, call: Any) -> Any:
        found = whole(world, call)
        body = json.loads(found.content.read(0, 1 << 20))
        body["notes"] = [note for note in body["notes"] if note["id"] != "F3"]
        return service.as_json(body)

    monkeypatch.setattr(service, "_notes", short)
    with pytest.raises(FetchError, match="counts 3 notes and listed 2"):
        corpus.run(live(world_of(venue_papers())), "p")


# -------------------------------------------------------------------------------------- the index: a file of one's own


def test_an_edition_of_arxiv_ids_from_a_file_asks_openreview_nothing(live: Callable[..., Live], tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(
        "title,arxiv_id,authors\n"
        "Sparse Walks on Graphs,2505.00001,Ada Stone; Bo Chen\n"
        "Dense Trees in Shallow Water,2505.00002v1,\n"
        "Never Posted,,\n"
    )
    work = live(world_of(venue_papers()), 'index_file = "mine.csv"\n')
    told = corpus.run(work, "p")
    assert (told["papers"], told["reasons"], told["with_supplement"]) == (2, {"no_arxiv_id": 1}, 0)
    assert bundles.run(work, "p")["sampled"] == 2
    assert (work.asked("openreview"), work.asked("arxiv.org/src/")) == (0, 2)


def test_another_file_makes_the_corpus_stale_and_the_same_bytes_do_not(
    live: Callable[..., Live], tmp_path: Path
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("title,arxiv_id\nOne,2505.00001\n")
    work = live(world_of([]), 'index_file = "mine.csv"\n')
    before = corpus.STAGE.inputs(work)
    path.write_text("title,arxiv_id\nOne,2505.00001\n")
    assert corpus.STAGE.inputs(work) == before
    path.write_text("title,arxiv_id\nTwo,2505.00001\n")
    assert corpus.STAGE.inputs(work) != before


# -------------------------------------------------------------------------------------------------------------- floors


@pytest.mark.parametrize(
    ("floor", "words"),
    [
        ("min_papers = 4", "the index names 3 papers, fewer than min_papers 4"),
        ("min_kept = 3", "2 papers are kept, fewer than min_kept 3"),
        ("min_kept = 4", "2 papers are kept and 1 may be, fewer than min_kept 4"),
        ("min_supplements = 2", "the notes name 1 supplements, fewer than min_supplements 2"),
    ],
)
def test_a_corpus_below_a_floor_is_an_error_that_names_both_numbers(
    live: Callable[..., Live], floor: str, words: str
) -> None:
    work = live(world_of(venue_papers()), f"[corpus]\n{floor}\n")
    with pytest.raises(corpus.CorpusError, match=words):
        work.two_looks()


# ---------------------------------------------------------------------------------------------------------------- pins


def newer(papers: Sequence[Paper], version: int) -> World:
    return world_of(replace(p, facts=p.facts.model_copy(update={"version": version})) for p in papers)


def test_a_version_is_pinned_at_first_sight_also_through_a_build_without_an_answer(
    live: Callable[..., Live], tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text("title,arxiv_id\nSparse Walks on Graphs,2505.00001\n")
    work = live(world_of(venue_papers()), 'index_file = "mine.csv"\n')
    corpus.run(work, "p")
    work.served.world = newer(venue_papers(), 2)
    versions = []
    for down in (frozenset({"export.arxiv.org"}), frozenset[str]()):
        work.served.down = down
        work.simulated.sleep(DAY + 60)
        again = replace(work, epoch=f"live:{len(versions)}")
        corpus.run(again, "p")
        versions.append([row["version"] for row in again.rows("papers")])
    assert versions == [[], [1]]
    assert corpus.pins(work) == {"2505.00001": 1}


# ----------------------------------------------------------------------------------------------------------- the check


def test_the_check_fails_with_the_list_of_ids_that_lead_to_other_papers(
    live: Callable[..., Live], tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text(
        "title,arxiv_id,authors\n"
        "Sparse Walks on Graphs,2505.00001,Ada Stone\n"
        "Rotary Encodings at Rest,2505.00003,Gus Hall\n"
        "Counting Cells in Maize,2505.00002,Eli Fox\n"
    )
    work = live(world_of(venue_papers()), 'index_file = "mine.csv"\n')
    corpus.run(work, "p")
    looked, faults = corpus.check(work)
    assert looked == 3
    assert Counter(fault.split(":")[0] for fault in faults) == {"mine.csv#1": 1, "mine.csv#2": 1}
    assert "Counting Cells in Maize" in faults[0]
    assert "Gus Hall" in faults[0]


def test_the_corpus_does_not_depend_on_how_bundles_are_made() -> None:
    reached = {name for rule in corpus.STAGE.rules for name in closure(rule)}
    assert "pipeline.sources.fetch" in reached
    assert not reached & {"pipeline.bundles", "pipeline.archives", "pipeline.sources.packages"}
