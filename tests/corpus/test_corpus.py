"""Which entries of an index are papers: each once, under its own title, with nothing lost on the way."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus import (
    ArxivMetadata,
    Exclusion,
    IndexEntry,
    Note,
    forum_of,
    index_entries,
    mismatches,
    papers,
    unaccounted,
    valid_arxiv_id,
)
from pipeline.titles import folded, titles_agree

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
AUTHORS = ("Ada Stone", "Bo Chen", "Cy Park")


def entry(row: int, arxiv_id: str | None, title: str = "A Title", **more: object) -> IndexEntry:
    return IndexEntry(title=title, arxiv_id=arxiv_id, row=row, source="t", **more)  # type: ignore[arg-type]


def meta(
    arxiv_id: str, title: str = "A Title", authors: tuple[str, ...] = AUTHORS, version: int = 2
) -> dict[str, ArxivMetadata | None]:
    return {arxiv_id: ArxivMetadata(arxiv_id=arxiv_id, version=version, title=title, authors=authors)}


def reasons(exclusions: tuple[Exclusion, ...]) -> list[str]:
    return [e.reason for e in exclusions]


# ---------------------------------------------------------------------------------------------------------------- ids


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2505.12340", ("2505.12340", None)),
        (" 2505.12340v12 ", ("2505.12340", 12)),
        ("0704.0001", ("0704.0001", None)),
        ("hep-th/9901001", ("hep-th/9901001", None)),
        ("math.GT/0309136v1", ("math/0309136", 1)),
        ("cond-mat/0309136", ("cond-mat/0309136", None)),
    ],
)
def test_both_schemes_of_arxiv_ids_are_known_with_and_without_version(text: str, found: tuple[str, int | None]) -> None:
    assert valid_arxiv_id(text) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "2505", "2505.123", "2505.123456", "2505.12340v", "2505.12340v0", "2505.12340 v1", "arXiv:2505.12340"),
        *("nan", "https://arxiv.org/abs/2505.12340", "2505.12340,2505.12341", "２５０５.12340", "2505.12340\n2505.1"),
        *("math/030913", "math.gt/0309136", "MATH/0309136", "../0309136", "2505-12340", "2505.12340v99999"),
    ],
)
def test_anything_else_is_no_arxiv_id(text: str) -> None:
    assert valid_arxiv_id(text) is None


@given(st.text(max_size=30))
def test_a_valid_id_is_its_own_canonical_form(text: str) -> None:
    found = valid_arxiv_id(text)
    if found is not None:
        assert valid_arxiv_id(found[0]) == (found[0], None)
        assert found[0].isascii()


# ------------------------------------------------------------------------------------------------------------- joining


def test_a_supplement_is_joined_by_forum_id_and_never_by_title() -> None:
    notes = {
        "F1": Note(forum_id="F1", title="Other Words", supplement_path="/attachment/1.zip"),
        "F2": Note(forum_id="F2", title="Second Title", supplement_path="/attachment/2.zip"),
    }
    entries = [entry(0, "2505.00001", forum_id="F1"), entry(1, "2505.00002", "Second Title")]
    records, excluded = papers(entries, meta("2505.00001") | meta("2505.00002", "Second Title"), notes)
    assert not excluded
    assert [r.supplement_path for r in records] == ["/attachment/1.zip", None]


def test_the_version_is_the_indexs_then_the_pinned_one_then_the_newest() -> None:
    entries = [entry(0, "2505.00001v1", "One"), entry(1, "2505.00002", "Two"), entry(2, "2505.00003", "Three")]
    metadata = meta("2505.00001", "One") | meta("2505.00002", "Two") | meta("2505.00003", "Three")
    records, _ = papers(entries, metadata, pinned={"2505.00001": 3, "2505.00002": 3})
    assert [r.version for r in records] == [1, 3, 2]


def test_the_first_of_several_entries_counts_and_the_others_say_why() -> None:
    entries = [
        entry(0, "2505.00001", "One", forum_id="F1"),
        entry(1, "2505.00001v2", "One", forum_id="F2"),
        entry(2, "2505.00002", "Two", forum_id="F1"),
        entry(3, "2505.00003", "one!"),
    ]
    metadata = meta("2505.00001", "One") | meta("2505.00002", "Two") | meta("2505.00003", "One")
    records, excluded = papers(entries, metadata)
    assert [r.arxiv_id for r in records] == ["2505.00001"]
    assert reasons(excluded) == ["duplicate_arxiv_id", "duplicate_forum", "duplicate_substance"]
    assert all("2505.00001" in e.detail or "t#0" in e.detail for e in excluded)


def test_two_papers_of_one_title_by_different_people_are_two_papers() -> None:
    entries = [entry(0, "2505.00001"), entry(1, "2505.00002")]
    metadata = meta("2505.00001") | meta("2505.00002", authors=("Dee Moss", "Eli Fox"))
    records, excluded = papers(entries, metadata)
    assert len(records) == 2
    assert not excluded


def test_an_id_that_leads_to_another_paper_is_listed_as_a_mismatch() -> None:
    entries = [entry(0, "2505.00001", "Deep Nets Are Wide", authors=("Dee Moss",))]
    records, excluded = papers(entries, meta("2505.00001", "Counting Cells in Maize"))
    assert not records
    assert mismatches(excluded) == excluded
    assert "Counting Cells in Maize" in excluded[0].detail


def test_authors_that_the_index_lacks_come_from_the_papers_note() -> None:
    entries = [entry(0, "2505.00001", "TabNet: An Open Tabular Foundation Model", forum_id="F1")]
    metadata = meta("2505.00001", "TabNet: Scaling Tabular Foundation Models on Real Data")
    assert reasons(papers(entries, metadata)[1]) == ["mismatch"]
    notes = {"F1": Note(forum_id="F1", title="x", authors=AUTHORS)}
    assert len(papers(entries, metadata, notes)[0]) == 1


def test_what_arxiv_did_not_answer_is_undetermined_and_what_it_does_not_know_is_not() -> None:
    _, excluded = papers([entry(0, "2505.00001"), entry(1, "2505.00002")], {"2505.00002": None})
    assert reasons(excluded) == ["undetermined", "unknown_to_arxiv"]
    assert [e.retry for e in excluded] == [True, False]


ids = st.sampled_from([None, "", "x", "2505.00001", "2505.00001v2", "2505.00002", "math.GT/0309136", "2505.00003"])
titles = st.sampled_from(["Alpha Graphs", "Beta Trees", "Gamma Rays at Rest"])
drawn = st.lists(
    st.tuples(ids, titles, st.sampled_from([None, "F1", "F2"]), st.sampled_from([(), AUTHORS, ("Dee Moss",)])),
    max_size=8,
)
answers = st.dictionaries(
    st.sampled_from(["2505.00001", "2505.00002", "2505.00003", "math/0309136"]), st.none() | titles, max_size=4
)


@given(drawn, answers)
def test_every_entry_of_the_index_ends_in_exactly_one_place(
    rows: list[tuple[str | None, str, str | None, tuple[str, ...]]], told: Mapping[str, str | None]
) -> None:
    entries = [entry(n, i, t, forum_id=f, authors=a) for n, (i, t, f, a) in enumerate(rows)]
    metadata = {k: None if t is None else meta(k, t)[k] for k, t in told.items()}
    records, excluded = papers(entries, metadata)
    assert unaccounted([e.key for e in entries], [r.index_key for r in records] + [e.key for e in excluded]) == ()
    assert len({r.arxiv_id for r in records}) == len(records)
    forums = [r.forum_id for r in records if r.forum_id]
    assert len(set(forums)) == len(forums)
    assert [r.arxiv_id for r in records] == sorted(r.arxiv_id for r in records)
    assert papers(entries, metadata) == (records, excluded)


def test_accounting_names_what_is_lost_doubled_or_from_nowhere() -> None:
    assert unaccounted(["a", "b", "c"], ["a", "b", "b", "x"]) == ("b", "c", "x")


# --------------------------------------------------------------------------------------------------------- the index


def test_rows_of_the_published_index_become_entries() -> None:
    rows = [
        {
            "title": "One",
            "paper_url": "https://openreview.net/forum?id=AbC",
            "arxiv_id": "2505.00001",
            "type": "poster",
        },
        {"title": "Two ", "paper_url": "https://neurips.cc/virtual/2025/poster/1?id=no", "arxiv_id": None},
        {"title": "Three", "forum_id": "F3", "arxiv_id": " ", "authors": "Ada Stone; Bo Chen"},
        {"title": "Four", "authors": ["Ada Stone", " "]},
    ]
    entries = index_entries(rows, "list")
    assert [e.forum_id for e in entries] == ["AbC", None, "F3", None]
    assert [e.arxiv_id for e in entries] == ["2505.00001", None, None, None]
    assert [e.authors for e in entries] == [(), (), ("Ada Stone", "Bo Chen"), ("Ada Stone",)]
    assert [e.key for e in entries] == ["list#0", "list#1", "list#2", "list#3"]
    assert forum_of("https://openreview.net/pdf?id=Q") == "Q"


# ------------------------------------------------------------------------------------------------------------- titles


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (("Jackie Rao",), ("Rao, Jackie",)),
        (("Wang Wei",), ("Wei Wang",)),
        (("J. Rao",), ("Jackie Rao",)),
        (("Ferran Gonzalez",), ("Ferran González Hernández",)),
        (("Jean-Luc Müller",), ("Jean Luc Muller",)),
    ],
)
def test_one_person_is_known_under_several_spellings(a: tuple[str, ...], b: tuple[str, ...]) -> None:
    assert titles_agree("Same", "Same", a, b)


@pytest.mark.parametrize(
    ("a", "b"), [(("Wei Wang",), ("Wei Zhang",)), (("Jackie Rao",), ("Karl Rao",)), (("A. B.",), ("Ada Bell",))]
)
def test_a_shared_part_of_a_name_is_not_the_same_person(a: tuple[str, ...], b: tuple[str, ...]) -> None:
    assert not titles_agree("Same", "Same", a, b)


def test_case_accents_tex_and_dashes_do_not_make_another_title() -> None:
    assert folded("Týr–the–Pruner: $E^2$ \\emph{RAG}") == folded("tyr the pruner e 2 rag")


def test_one_groups_next_paper_is_not_a_renamed_one() -> None:
    a, b = "Rotary Encodings for Long Documents", "Calibrated Sampling under Budget Constraints"
    assert not titles_agree(a, b, AUTHORS, AUTHORS)


def published() -> list[dict[str, str]]:
    path = SHARED / "reference" / "published" / "title_check.csv"
    if not path.is_file():
        pytest.skip(f"no published title list at {path}")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_all_two_hundred_published_titles_agree_with_their_arxiv_titles_given_the_authors() -> None:
    rows = published()
    renamed = [r for r in rows if r["how"] != "exact"]
    assert (len(rows), len(renamed)) == (200, 35)
    assert [
        r["arxiv_id"] for r in rows if not titles_agree(r["arxiv_title"], r["neurips_title"], AUTHORS, AUTHORS)
    ] == []


@pytest.mark.slow
def test_no_published_title_agrees_with_a_foreign_one() -> None:
    rows = published()[::4]
    other = ("Dee Moss", "Eli Fox")
    pairs = [(a["arxiv_title"], b["neurips_title"]) for a, b in permutations(rows, 2)]
    assert len(pairs) == 2450
    assert [pair for pair in pairs if titles_agree(*pair)] == []
    assert [pair for pair in pairs if titles_agree(*pair, AUTHORS, other)] == []


def test_real_arxiv_look_ups_agree_where_a_person_would() -> None:
    path = SHARED / "realworld" / "index" / "raw" / "arxiv_queries_aistats2026.json"
    if not path.is_file():
        pytest.skip(f"no recorded look-ups at {path}")
    queries = json.loads(path.read_text(encoding="utf-8"))["queries"]
    matched = [q for q in queries if q["status"] == "matched"]
    assert len(matched) > 400
    for query in matched:
        found = query["match"]
        assert titles_agree(query["title"], found["title"], query["authors"], found["authors"]), query["title"]
    foreign = [
        (q["title"], c["title"])
        for q in queries
        for c in q["candidates"]
        if not set(map(str.casefold, q["authors"])) & set(map(str.casefold, c["authors"]))
        and titles_agree(q["title"], c["title"], q["authors"], c["authors"])
    ]
    assert foreign == []
