"""Corpus: the index of accepted papers, arXiv's metadata and OpenReview's notes, joined by the rules of
`pipeline.corpus`."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from assets.stages import UNFINISHED, Checked, Stage, Summary, read_rows, write_rows
from assets.workplace import Workplace
from pipeline.corpus import Exclusion, PaperRecord, mismatches, papers, unaccounted, valid_arxiv_id
from pipeline.evidence import Json


class CorpusError(RuntimeError):
    """The corpus cannot be what the edition says it is; the message names the count or the papers at fault."""


def run(work: Workplace, print_: str) -> Summary:
    """Tables `papers` (records), `index` (every entry) and `corpus_exclusions`. Earlier versions stay pinned."""
    from pipeline.sources.fetch import fetch_index, fetch_metadata, fetch_notes

    edition = work.edition
    with_pins = work.store.table_print(edition.name, "papers") is not None
    pinned = {r.arxiv_id: r.version for r in records(work)} if with_pins and not work.offline else {}
    recorder = work.recorder()
    entries = fetch_index(edition, recorder, work.world.papers() if work.offline else None)
    floor = edition.corpus.min_papers
    if len(entries) < floor:
        raise CorpusError(
            f"edition {edition.name}, corpus: the index names {len(entries)} papers, fewer than min_papers {floor}; "
            "an index that answered in part is not a small conference: build again, or lower corpus.min_papers"
        )
    wanted = [found[0] for e in entries if e.arxiv_id and (found := valid_arxiv_id(e.arxiv_id))]
    metadata = fetch_metadata(recorder, list(dict.fromkeys(wanted)))
    notes = fetch_notes(recorder, edition.venue, (e.forum_id for e in entries if e.forum_id))
    kept, excluded = papers(entries, metadata, notes, pinned)
    lost = unaccounted((e.key for e in entries), [*(r.index_key for r in kept), *(e.key for e in excluded)])
    if lost:
        raise CorpusError(
            f"edition {edition.name}, corpus: {len(lost)} index entries are unaccounted for, first {lost[0]}"
        )
    silent = sum(e.retry for e in excluded)
    if silent:
        print_ += UNFINISHED
    write_rows(work, "index", (asdict(e) | {"key": e.key} for e in entries), ["key"], print_)
    write_rows(work, "corpus_exclusions", map(asdict, excluded), ["key", "stage", "reason"], print_)
    write_rows(work, "papers", map(asdict, kept), ["arxiv_id"], print_, version=pl.Int64)
    foreign = mismatches(excluded)
    return {
        "index": len(entries),
        "papers": len(kept),
        "excluded": len(excluded),
        "undetermined": silent,
        "mismatched": [f"{e.key}: {e.detail}" for e in foreign],
        "with_supplement": sum(r.supplement_path is not None for r in kept),
    }


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


STAGE = Stage(
    name="corpus",
    after=(),
    tables=("index", "corpus_exclusions", "papers"),
    rules=("pipeline.corpus", "pipeline.sources.fetch"),
    parts=("corpus",),
    run=run,
    check=check,
    inputs=lambda work: {"world": work.world_print},
    libraries=("arxiv", "openreview-py"),
)
