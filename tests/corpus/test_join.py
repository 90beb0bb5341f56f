"""Which paper on arXiv a venue's title and authors name: precision and recall on real titles, renamed ones included."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpus import ArxivMetadata, Found, IndexEntry, Note, found_among, note_entries, papers, valid_arxiv_id
from pipeline.sources.arxiv_snapshot import candidates
from pipeline.sources.trouble import FetchError
from pipeline.titles import likeness, title_similarity

PEOPLE = ("Ada Stone", "Bo Chen", "Cy Park", "Dee Moss")
OTHERS = ("Eli Fox", "Fay Lund")


def entry(title: str, authors: Sequence[str] = PEOPLE, row: int = 0) -> IndexEntry:
    return IndexEntry(title=title, authors=tuple(authors), source="t", row=row)


def meta(arxiv_id: str, title: str, authors: Sequence[str] = PEOPLE) -> ArxivMetadata:
    return ArxivMetadata(arxiv_id=arxiv_id, version=1, title=title, authors=tuple(authors))


# ------------------------------------------------------------------------------------------------------------ the rule


def test_an_equal_title_wins_over_a_renamed_one_by_the_same_people() -> None:
    wanted = entry("Sparse Walks on Dense Graphs")
    close = meta("2505.00001", "Sparse Walks on Dense Graphs: A Longer Story")
    assert found_among(wanted, [close]).arxiv_id == "2505.00001"
    equal = meta("2505.00002", "SPARSE walks on dense {G}raphs")
    assert found_among(wanted, [close, equal]).arxiv_id == "2505.00002"


def test_two_papers_that_fit_equally_well_are_ambiguous_and_both_are_named() -> None:
    found = found_among(entry("Same Title"), [meta("2505.00002", "Same title"), meta("2505.00001", "Same Title")])
    assert (found.outcome, found.arxiv_id) == ("ambiguous", None)
    assert "2505.00001" in found.detail
    assert "2505.00002" in found.detail


@pytest.mark.parametrize(
    ("title", "authors"),
    [
        ("Sparse Walks on Dense Graphs", OTHERS),
        ("Calibrated Sampling under Budgets", PEOPLE),
        ("Sparse Recovery in Bounded Time", PEOPLE),
        ("Sparse Walks and Dense Graphs Revisited", (*OTHERS, "Gus Hall", "Hana Ito", "Ada Stone")),
    ],
)
def test_other_peoples_titles_and_one_groups_other_papers_are_not_the_paper(
    title: str, authors: tuple[str, ...]
) -> None:
    found = found_among(entry("Sparse Walks on Dense Graphs"), [meta("2505.00001", title, authors)])
    assert (found.outcome, found.detail) == ("none", "arXiv has no paper with its title and authors")


def test_without_known_authors_only_an_equal_title_counts() -> None:
    wanted = entry("Sparse Walks on Dense Graphs", ())
    assert found_among(wanted, [meta("2505.00001", "Sparse Walks on Dense Graphs")]).outcome == "found"
    assert found_among(wanted, [meta("2505.00001", "Sparse Walks on Dense Graph")]).outcome == "none"


titles = st.sampled_from(["Sparse Walks on Graphs", "Sparse walks on graphs!", "Dense Trees", "Sparse Walks on Trees"])
people = st.sampled_from([(), PEOPLE, OTHERS, PEOPLE[:2]])
drawn = st.lists(st.tuples(st.integers(1, 4), titles, people), max_size=5)


@settings(max_examples=40)
@given(titles, people, drawn, st.randoms())
def test_what_is_found_is_a_candidate_that_fits_and_order_does_not_count(
    title: str, authors: tuple[str, ...], told: list[tuple[int, str, tuple[str, ...]]], rng: random.Random
) -> None:
    listed = list({i: meta(f"2505.0000{i}", t, p) for i, t, p in told}.values())
    wanted = entry(title, authors)
    found = found_among(wanted, listed)
    shuffled = list(listed)
    rng.shuffle(shuffled)
    assert found_among(wanted, shuffled) == found
    fitting = {c.arxiv_id for c in listed if likeness(title, c.title, authors, c.authors) is not None}
    assert (found.outcome == "none") == (not fitting)
    assert found.arxiv_id is None or found.arxiv_id in fitting


def test_entries_without_an_id_end_as_what_their_search_came_to() -> None:
    notes = [Note(forum_id=f"F{n}", title=f"Title number {n}", authors=PEOPLE, number=n) for n in range(4)]
    entries = note_entries(notes, "openreview")
    outcomes = [
        Found(outcome="found", arxiv_id="2505.00001"),
        Found(outcome="none", detail="arXiv has no paper with its title and authors"),
        Found(outcome="ambiguous", detail="several"),
        Found(outcome="undetermined", detail="no answer"),
    ]
    searched = {e.key: outcome for e, outcome in zip(entries, outcomes, strict=True)}
    told: Mapping[str, ArxivMetadata | None] = {"2505.00001": meta("2505.00001", "Title number 0")}
    records, excluded = papers(entries, told, {n.forum_id: n for n in notes}, found=searched)
    assert [(r.arxiv_id, r.forum_id, r.note_number) for r in records] == [("2505.00001", "F0", 0)]
    assert [(e.reason, e.retry) for e in excluded] == [
        ("no_arxiv_id", False),
        ("ambiguous_arxiv_id", False),
        ("undetermined", True),
    ]


# --------------------------------------------------------------------------------------------------------- measurements


def pairs(published: Path) -> list[dict[str, str]]:
    with (published / "title_check.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_rule_finds_199_of_the_200_published_pairs(published: Path) -> None:
    rows = pairs(published)
    far = [r for r in rows if title_similarity(r["arxiv_title"], r["neurips_title"]) < 0.88]
    lost = [r["arxiv_id"] for r in rows if likeness(r["neurips_title"], r["arxiv_title"], PEOPLE, PEOPLE) is None]
    assert (len(rows), len(far)) == (200, 16)
    print(f"recall {1 - len(lost) / len(rows):.3f}, of {len(far)} far ones {1 - len(lost) / len(far):.3f}")
    assert len(lost) <= 1
    # Whoever shares nobody is never joined, whatever the title.
    assert not any(likeness(r["neurips_title"], r["arxiv_title"], PEOPLE, OTHERS) for r in rows)


@pytest.mark.slow
def test_wrong_pairs_are_joined_by_nobody_and_rarely_by_the_same_people(published: Path) -> None:
    """Every title with every other's, by other people and, far worse than life, all by the same people."""
    rows = pairs(published)[::2]
    wrong = [(a["neurips_title"], b["arxiv_title"]) for a in rows for b in rows if a is not b]
    foreign = [pair for pair in wrong if likeness(*pair, PEOPLE, OTHERS) is not None]
    kin = [pair for pair in wrong if likeness(*pair, PEOPLE, PEOPLE) is not None]
    print(f"{len(wrong)} wrong pairs: {len(foreign)} by other people, {len(kin)} by the same people joined")
    assert len(wrong) == 9_900
    assert not foreign
    assert len(kin) / len(wrong) < 0.002


def test_recorded_look_ups_are_found_as_people_found_them(realworld: Path) -> None:
    path = realworld / "index" / "raw" / "arxiv_queries_aistats2026.json"
    ends: Counter[tuple[str, str]] = Counter()
    for number, query in enumerate(json.loads(path.read_text(encoding="utf-8"))["queries"]):
        listed = [*(query.get("candidates") or ()), *([query["match"]] if query.get("match") else ())]
        found = found_among(entry(query["title"], query["authors"], number), map(told, listed))
        right = found.arxiv_id == told(query["match"]).arxiv_id if query["status"] == "matched" else True
        assert right or found.arxiv_id is None, f"{query['title']}: a wrong paper"
        ends[query["status"], found.outcome] += 1
    print(dict(ends))
    assert ends["matched", "found"] == 427
    assert ends["rejected", "none"] >= 150


def told(candidate: Mapping[str, Any]) -> ArxivMetadata:
    parsed = valid_arxiv_id(str(candidate["id"]).rpartition("/abs/")[2])
    assert parsed is not None
    return meta(parsed[0], candidate["title"], candidate["authors"])


# ---------------------------------------------------------------------------------------------------------- a snapshot


def line(arxiv_id: str, title: str, authors: Sequence[str], versions: int = 1) -> str:
    parts = [[name.split()[-1], " ".join(name.split()[:-1]), ""] for name in authors]
    listed = [{"version": f"v{n + 1}", "created": "Mon, 5 May 2025 10:00:00 GMT"} for n in range(versions)]
    row = {"id": arxiv_id, "title": title, "authors": ", ".join(authors), "authors_parsed": parts}
    return json.dumps(row | {"versions": listed, "update_date": "2025-06-01", "comments": None}) + "\n"


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "arxiv.jsonl"
    path.write_text(
        line("2505.00001", "Sparse Walks on\n  Dense $G$raphs", PEOPLE, versions=3)
        + line("2505.00002", "Sparse Walks on Dense Graphs", OTHERS)
        + line("math/0309136", "T\u00fdr, the Pruner", ("Mar\u00eda Gonz\u00e1lez", "Jan van der Berg"))
        + line("2505.00004", "Quantiles in Private", ("Wei Wang", "Xin Li", "Yu Zhou")),
        encoding="utf-8",
    )
    return path


def test_a_snapshot_is_searched_by_title_whatever_case_accents_and_tex(snapshot: Path) -> None:
    wanted = [entry("sparse walks on dense g raphs", row=0), entry("Tyr the Pruner", ("M. Gonzalez",), row=1)]
    found = candidates(snapshot, wanted)
    assert [[(c.arxiv_id, c.version) for c in found[e.key]] for e in wanted] == [
        [("2505.00001", 3)],
        [("math/0309136", 1)],
    ]
    assert found["t#1"][0].authors == ("Mar\u00eda Gonz\u00e1lez", "Jan van der Berg")
    assert [found_among(e, found[e.key]).arxiv_id for e in wanted] == ["2505.00001", "math/0309136"]


@pytest.mark.parametrize(
    ("title", "authors", "arxiv_id"),
    [
        ("Pruning with T\u00fdr, the Pruner of Trees", ("M. Gonz\u00e1lez", "Jan van der Berg"), "math/0309136"),
        ("Private Quantiles by Halves", ("Wang Wei", "Li Xin", "Yu Zhou"), "2505.00004"),
        ("Private Quantiles by Halves", ("Wei Wang", "Xin Li", "Yu Zhou", "New Author"), "2505.00004"),
        ("Private Quantiles by Halves", ("Wei Wang",), None),
        ("Something Else Entirely", ("Wei Wang", "Xin Li", "Yu Zhou"), None),
    ],
)
def test_a_renamed_paper_is_found_by_its_people_in_any_order_of_names(
    snapshot: Path, title: str, authors: tuple[str, ...], arxiv_id: str | None
) -> None:
    wanted = entry(title, authors)
    assert found_among(wanted, candidates(snapshot, [wanted])[wanted.key]).arxiv_id == arxiv_id


@pytest.mark.parametrize(
    ("content", "message"), [("", "no papers"), ('{"id": "2505.1\n', "one JSON object a line"), (None, "no such file")]
)
def test_a_snapshot_that_cannot_be_searched_is_an_error_and_not_an_empty_conference(
    tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "arxiv.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(FetchError, match=message):
        candidates(path, [entry("Any")])


@pytest.mark.slow
def test_published_pairs_are_found_in_a_snapshot_full_of_their_authors_other_papers(
    tmp_path: Path, published: Path, realworld: Path
) -> None:
    """200 pairs among 3,000 real titles, of which every third has one of the 200 author lists."""
    rows, rng = pairs(published), random.Random(5)
    listed = realworld / "index" / "neurips2025_accepted_titles.jsonl"
    others = [json.loads(text)["title"] for text in listed.read_text(encoding="utf-8").splitlines()]
    known = {r["neurips_title"] for r in rows}

    def people() -> list[str]:
        return [f"{rng.choice(FIRST)} {rng.choice(FIRST)}{rng.choice(LAST)}" for _ in range(rng.randint(2, 7))]

    own = {r["arxiv_id"]: people() for r in rows}
    lines = [line(r["arxiv_id"], r["arxiv_title"], own[r["arxiv_id"]]) for r in rows]
    decoys = rng.sample([title for title in others if title not in known], 3000)
    for number, title in enumerate(decoys):
        authors = own[rng.choice(rows)["arxiv_id"]] if number % 3 == 0 else people()
        lines.append(line(f"2401.{number:05}", title, authors))
    rng.shuffle(lines)
    path = tmp_path / "arxiv.jsonl"
    wanted = [entry(r["neurips_title"], own[r["arxiv_id"]], n) for n, r in enumerate(rows)]
    path.write_text("".join(lines), encoding="utf-8")
    found = candidates(path, wanted)
    ends = [found_among(e, found[e.key]).arxiv_id for e in wanted]
    right = sum(end == r["arxiv_id"] for end, r in zip(ends, rows, strict=True))
    wrong = sum(end not in (None, r["arxiv_id"]) for end, r in zip(ends, rows, strict=True))
    # And where the paper itself is not on arXiv, its authors' other papers are not taken for it.
    path.write_text("".join(text for text in lines if '"id": "2401.' in text), encoding="utf-8")
    without = candidates(path, wanted)
    false = [e.title for e in wanted if found_among(e, without[e.key]).arxiv_id is not None]
    print(f"precision {right / (right + wrong):.3f}, recall {right / len(rows):.3f}; absent: {len(false)} false of 200")
    assert right >= 198
    assert wrong == 0
    assert len(false) <= 2


FIRST = (
    "Ada",
    "Bo",
    "Cyra",
    "Dee",
    "Eli",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "Jun",
    "Kim",
    "Lea",
    "Mia",
    "Nok",
    "Oto",
    "Pia",
)
LAST = ("stone", "berg", "ova", "ski", "ert", "ham", "ell", "ong", "iu", "ander", "wick", "moor", "lund", "gate", "rup")
