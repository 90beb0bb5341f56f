"""Corpus: the index of accepted papers, arXiv's metadata and OpenReview's notes, joined by the rules of
`pipeline.corpus`."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import polars as pl

from assets.stages import UNFINISHED, Checked, Stage, Summary, read_rows, write_rows
from assets.workplace import Workplace
from pipeline.corpus import (
    Exclusion,
    Found,
    IndexEntry,
    Note,
    PaperRecord,
    found_among,
    mismatches,
    papers,
    unaccounted,
    valid_arxiv_id,
)
from pipeline.evidence import Json

if TYPE_CHECKING:
    from pipeline.sources.recorder import Recorder


class CorpusError(RuntimeError):
    """The corpus cannot be what the edition says it is; the message names the count or the papers at fault."""


def run(work: Workplace, print_: str) -> Summary:
    """Tables `papers` (records), `index` (every entry), `corpus_exclusions`, and `pins`: the version of every paper
    ever kept, which stays."""
    from pipeline.sources.fetch import fetch_index, fetch_metadata
    from pipeline.sources.openreview_notes import fetch_notes, venue_notes

    edition = work.edition
    pinned = {} if work.offline else pins(work)
    recorder = work.recorder()
    # Whatever edition is sent to a world, the world has one venue.
    venues = (work.world.world.facts.venue,) if work.offline else edition.venues
    notes: dict[str, Note] = {}

    def listed() -> Mapping[str, Note]:
        notes.update(venue_notes(recorder, venues))
        return notes

    entries = fetch_index(edition, recorder, work.world.papers() if work.offline else None, listed)
    _reaches(work, "the index names {} papers", len(entries), "min_papers")
    found = _found(work, recorder, entries) if notes else {}
    named = [e.arxiv_id or found.get(e.key, Found(outcome="none")).arxiv_id for e in entries]
    wanted = [parsed[0] for id_ in named if id_ and (parsed := valid_arxiv_id(id_))]
    metadata = fetch_metadata(recorder, wanted)
    if work.offline and not metadata.keys() >= set(wanted):
        # That it knows no such id, arXiv has to say twice: a day passes at once in an offline world.
        work.clock.sleep(edition.second_look_hours * 3600 + 60)
        metadata |= fetch_metadata(work.recorder(), wanted)
    notes = notes or fetch_notes(recorder, venues, (e.forum_id for e in entries if e.forum_id))
    kept, excluded = papers(entries, metadata, notes, pinned, found)
    lost = unaccounted((e.key for e in entries), [*(r.index_key for r in kept), *(e.key for e in excluded)])
    if lost:
        raise CorpusError(
            f"edition {edition.name}, corpus: {len(lost)} index entries are unaccounted for, first {lost[0]}"
        )
    silent = sum(e.retry for e in excluded)
    supplements = sum(r.supplement_path is not None for r in kept)
    may_be = f" and {silent} may be" if silent else ""
    _reaches(work, "{} papers are kept" + may_be, len(kept), "min_kept", silent)
    _reaches(work, "the notes name {} supplements" + may_be, supplements, "min_supplements", silent)
    if silent:
        print_ += UNFINISHED
    fixed = pinned | {r.arxiv_id: r.version for r in kept}
    write_rows(work, "index", (asdict(e) | {"key": e.key} for e in entries), ["key"], print_)
    write_rows(work, "corpus_exclusions", map(asdict, excluded), ["key", "stage", "reason"], print_)
    write_rows(work, "pins", ({"arxiv_id": i, "version": v} for i, v in fixed.items()), ["arxiv_id"], print_)
    write_rows(work, "papers", map(asdict, kept), ["arxiv_id"], print_, version=pl.Int64)
    foreign = mismatches(excluded)
    return {
        "index": len(entries),
        "papers": len(kept),
        "excluded": len(excluded),
        "reasons": dict(sorted(Counter(e.reason for e in excluded).items())),
        "undetermined": silent,
        "mismatched": [f"{e.key}: {e.detail}" for e in foreign],
        "with_supplement": supplements,
    }


def _found(work: Workplace, recorder: Recorder, entries: Sequence[IndexEntry]) -> dict[str, Found]:
    """The arXiv ids of entries that name none, by title and authors: in a snapshot where there is one, else by arXiv's
    search."""
    from pipeline.sources.arxiv_snapshot import SNAPSHOT, candidates
    from pipeline.sources.fetch import search_titles

    live = work.edition.live
    given = os.environ.get(SNAPSHOT) or (live.arxiv_snapshot if live else None)
    told = candidates(work.edition.beside(given), entries) if given else search_titles(recorder, entries)
    silence = Found(outcome="undetermined", detail="arXiv's search has not answered, or found nothing only once")
    return {e.key: found_among(e, told[e.key]) if e.key in told else silence for e in entries}


def _reaches(work: Workplace, said: str, count: int, floor: str, open_: int = 0) -> None:
    """Raises where a floor is out of reach, also when all that is `open_` comes to count."""
    least = getattr(work.edition.corpus, floor)
    if count + open_ < least:
        raise CorpusError(
            f"edition {work.edition.name}, corpus: {said.format(count)}, fewer than {floor} {least}; an index or a "
            f"service that answered in part is not a small conference: build again, or lower corpus.{floor}"
        )


def pins(work: Workplace) -> dict[str, int]:
    """The versions that earlier builds have fixed, also of papers that arXiv was silent about since."""
    if work.store.table_print(work.edition.name, "pins") is None:
        return {}
    return {row["arxiv_id"]: row["version"] for row in read_rows(work, "pins")}


def record_of(row: Json) -> PaperRecord:
    return PaperRecord(**{**row, "authors": tuple(row["authors"]), "categories": tuple(row["categories"])})


def records(work: Workplace) -> list[PaperRecord]:
    """The papers of the corpus, by arXiv id."""
    return [record_of(row) for row in read_rows(work, "papers")]


def exclusions(work: Workplace, table: str) -> list[Exclusion]:
    return [Exclusion(**row) for row in read_rows(work, table)]


def check(work: Workplace) -> Checked:
    """Every index entry ends in one place, and no arXiv id leads to a paper with another title and other authors."""
    entries = read_rows(work, "index")
    ends = [r.index_key for r in records(work)] + [e.key for e in exclusions(work, "corpus_exclusions")]
    lost = unaccounted((row["key"] for row in entries), ends)
    foreign = mismatches(exclusions(work, "corpus_exclusions"))
    return len(entries), [f"{key}: unaccounted for" for key in lost] + [f"{e.key}: {e.detail}" for e in foreign]


def _inputs(work: Workplace) -> dict[str, str]:
    """The world, and the bytes of an index of one's own. A snapshot of arXiv is a service: it has no print."""
    live = work.edition.live
    inputs = {"world": work.world_print}
    if live is not None and live.index_file is not None:
        path = work.edition.beside(live.index_file)
        inputs["index"] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
    return inputs


STAGE = Stage(
    name="corpus",
    after=(),
    tables=("index", "corpus_exclusions", "pins", "papers"),
    rules=(
        "pipeline.corpus",
        "pipeline.sources.fetch",
        "pipeline.sources.openreview_notes",
        "pipeline.sources.arxiv_snapshot",
    ),
    parts=("corpus",),
    run=run,
    check=check,
    inputs=_inputs,
    libraries=("arxiv", "duckdb", "openreview-py"),
)
