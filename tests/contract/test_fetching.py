"""Our own fetchers over the recorder, on the world or, with `--live`, on arXiv and OpenReview."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from pipeline.archives import sniff
from pipeline.corpus import IndexEntry, PaperRecord, found_among, papers
from pipeline.sources.clocks import SimulatedClock, SystemClock
from pipeline.sources.fetch import fetch_metadata, search_titles
from pipeline.sources.openreview_notes import fetch_notes
from pipeline.sources.packages import Supplements, fetch_source
from pipeline.sources.recorder import Recorder
from pipeline.store import Store
from tests.contract.conftest import Subjects


@pytest.fixture
def recorder(tmp_path: Path, transport: httpx2.BaseTransport | None, live: bool) -> Recorder:
    clock = SystemClock() if live else SimulatedClock(datetime(2025, 9, 1, tzinfo=UTC))
    return Recorder(Store(tmp_path), clock, run="contract", epoch="contract", transport=transport)


def test_a_paper_is_found_by_title_and_its_pinned_source_fetched(recorder: Recorder, subjects: Subjects) -> None:
    told = fetch_metadata(recorder, [subjects.paper, subjects.unknown_paper])
    paper = told[subjects.paper]
    assert paper is not None
    assert subjects.unknown_paper not in told, "that it knows none, arXiv has to say on two days"
    entry = IndexEntry(title=paper.title.upper(), authors=paper.authors)
    assert found_among(entry, search_titles(recorder, [entry])[entry.key]).arxiv_id == subjects.paper
    renamed = IndexEntry(title=f"{paper.title}, and so are nine other things", authors=paper.authors)
    assert found_among(renamed, search_titles(recorder, [renamed])[renamed.key]).arxiv_id == subjects.paper
    records, _ = papers([IndexEntry(title=paper.title, arxiv_id=f"{subjects.paper}v1")], told)
    source = fetch_source(recorder, records[0])
    assert source.state == "here"
    assert sniff(source.data) == "gzip"


def test_notes_and_supplements_come_by_forum_id(recorder: Recorder, live: bool) -> None:
    if live and not os.environ.get("OPENREVIEW_USERNAME"):
        pytest.skip("OpenReview wants a login; set OPENREVIEW_USERNAME and OPENREVIEW_PASSWORD")
    venue = "NeurIPS.cc/2025/Conference" if live else "Tiny.cc/2025/Conference"
    forums = ["KurYdcCbjv", "jzPQRbGkAq"] if live else ["AAAtideAAA", "BBBfileBBB"]
    notes = fetch_notes(recorder, (venue,), forums)
    assert set(notes) == set(forums)
    records = [
        PaperRecord(
            arxiv_id=f"2505.0000{place}",
            version=1,
            title=note.title,
            authors=note.authors,
            abstract="",
            forum_id=forum,
            published="",
            categories=(),
            supplement_path=note.supplement_path,
            index_key="contract#0",
            note_number=note.number,
        )
        for place, (forum, note) in enumerate(sorted(notes.items()))
    ]
    assert all(record.title and record.supplement_path and record.note_number for record in records)
    asked = Supplements(recorder, records)
    with recorder.call() as seen:
        found = [asked.fetch(record) for record in records]
    assert [one.state for one in found] == ["here", "here"]
    assert len({one.data for one in found}) == 2
    assert sum("/attachment" in exchange.url for exchange in seen) == 1
