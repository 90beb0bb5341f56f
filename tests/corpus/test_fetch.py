"""The fetchers on a small world of their own, and on services that are in trouble."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import polars as pl
import pytest

from pipeline.bundles import Bundle, Exclusion, bundle
from pipeline.corpus import IndexEntry, PaperRecord, papers
from pipeline.editions import Edition
from pipeline.editions import load as load_edition
from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldTransport
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.fetch import fetch_index, fetch_metadata, read_rows, search_titles
from pipeline.sources.openreview_notes import fetch_notes
from pipeline.sources.packages import fetch_source, fetch_supplement
from pipeline.sources.recorder import Recorder
from pipeline.sources.trouble import FetchError
from pipeline.store import Store

MAIN = "\\documentclass{article}\n\\begin{document}\nWords.\n\\end{document}\n"
VENUE = "Tiny.cc/2025/Conference"
VENUES = (VENUE,)
FEED = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
    "<title>q</title><opensearch:totalResults>{}</opensearch:totalResults></feed>"
)


def paper(root: Path, arxiv_id: str, **facts: object) -> None:
    folder = root / "papers" / arxiv_id
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.tex").write_text(MAIN)
    told = {"arxiv_id": arxiv_id, "title": f"Title {arxiv_id}", "authors": ["Ada Stone"], **facts}
    lines = [f"{k} = {str(v).lower() if isinstance(v, bool) else v!r}" for k, v in told.items()]
    (folder / "paper.toml").write_text("\n".join(lines) + "\n")
    if facts.get("supplement") == "zip":
        (folder / "supplement").mkdir()
        (folder / "supplement" / "train.py").write_text("import torch\n")


@pytest.fixture
def world(tmp_path: Path) -> OfflineWorld:
    root = tmp_path / "world"
    root.mkdir()
    (root / "world.toml").write_text(f'name = "tiny"\nas_of = "2025-12-01"\nvenue = "{VENUE}"\n')
    paper(root, "2505.00001", forum_id="F1", supplement="zip", version=3)
    paper(root, "2505.00002", forum_id="F2", pack="gzip")
    paper(root, "2505.00003", pack="pdf")
    paper(root, "2505.00004", pack="html")
    paper(root, "2505.00005", pack="missing")
    return OfflineWorld(root)


def recorder(tmp_path: Path, transport: httpx2.BaseTransport, hours: float = 0.0) -> Recorder:
    """`hours` after the first one on the same store."""
    clock = SimulatedClock(datetime(2025, 12, 1, tzinfo=UTC) + timedelta(hours=hours))
    return Recorder(Store(tmp_path / "store"), clock, run="r", epoch="e", transport=transport)


def answering(tmp_path: Path, reply: Callable[[httpx2.Request], httpx2.Response], hours: float = 0.0) -> Recorder:
    return recorder(tmp_path, httpx2.MockTransport(reply), hours)


@pytest.fixture
def edition() -> Edition:
    return load_edition("sample-2025")


def record(
    arxiv_id: str = "2505.00001", forum_id: str | None = "F1", path: str | None = "/attachment/x.zip"
) -> PaperRecord:
    return PaperRecord(
        arxiv_id=arxiv_id,
        version=1,
        title="T",
        authors=(),
        abstract="",
        forum_id=forum_id,
        published="",
        categories=(),
        supplement_path=path,
        index_key="t#0",
    )


def test_a_worlds_papers_go_from_index_to_bundles_with_everything_accounted_for(
    tmp_path: Path, world: OfflineWorld, edition: Edition
) -> None:
    with world:
        rec = recorder(tmp_path, WorldTransport(world))
        entries = fetch_index(edition, rec, world.papers())
        notes = fetch_notes(rec, VENUES, [e.forum_id for e in entries if e.forum_id])
        metadata = fetch_metadata(rec, [e.arxiv_id for e in entries if e.arxiv_id])
        records, excluded = papers(entries, metadata, notes)
        assert not excluded
        ends = {r.arxiv_id: bundle(r, fetch_source(rec, r), fetch_supplement(rec, r)) for r in records}
    first = ends["2505.00001"]
    assert isinstance(first, Bundle)
    assert (first.version, first.supplement_status) == (3, "downloaded")
    assert [f.path for f in first.supplement_files] == ["train.py"]
    second = ends["2505.00002"]
    assert isinstance(second, Bundle)
    assert (second.source_kind, second.supplement_status) == ("gzip", "none")
    reasons = {k: e.reason for k, e in ends.items() if isinstance(e, Exclusion)}
    assert reasons == {"2505.00003": "not_latex", "2505.00004": "not_latex", "2505.00005": "undetermined"}


@pytest.mark.slow
def test_metadata_is_asked_in_batches_and_an_unknown_id_is_known_to_be_unknown_on_the_second_day(
    tmp_path: Path, world: OfflineWorld
) -> None:
    asked = ["2505.00001v1", "2505.00001", "2505.09999", "nonsense", "2505.00002"]
    with world:
        for hours in (0.0, 1.0):
            rec = recorder(tmp_path, WorldTransport(world), hours)
            assert set(fetch_metadata(rec, asked)) == {"2505.00001", "2505.00002"}
        rec = recorder(tmp_path, WorldTransport(world), 25.0)
        told = fetch_metadata(rec, asked)
        with rec.call() as seen:
            fetch_metadata(rec, [f"2505.{n:05}" for n in range(1, 251)])
    assert set(told) == {"2505.00001", "2505.00002", "2505.09999"}
    assert told["2505.09999"] is None
    one = told["2505.00001"]
    assert one is not None
    assert (one.version, one.title, one.authors) == (3, "Title 2505.00001", ("Ada Stone",))
    batches = [e.url for e in seen if e.url.count("2505.") > 1]
    assert [url.count("2505.") for url in batches] == [100, 100, 50]


@pytest.mark.parametrize(
    "response",
    [
        httpx2.Response(503, text="busy"),
        httpx2.Response(429, text="slow down"),
        httpx2.Response(200, text="<html>Rate exceeded.</html>"),
        httpx2.Response(200, text=""),
        httpx2.Response(200, text="<feed xmlns='http://www.w3.org/2005/Atom'><entry>"),
        httpx2.Response(200, text=FEED.format(7)),
        httpx2.Response(400, text="<html>Bad Request</html>"),
    ],
)
def test_arxiv_in_trouble_says_nothing_about_any_id(tmp_path: Path, response: httpx2.Response) -> None:
    for hours in (0.0, 25.0, 50.0):
        rec = answering(tmp_path, lambda _: httpx2.Response(response.status_code, content=response.content), hours)
        assert fetch_metadata(rec, ["2505.00001", "2505.00002"]) == {}
        assert fetch_metadata(rec, ["2505.00001"]) == {}
        assert search_titles(rec, [IndexEntry(title="Sparse Walks", authors=("Ada Stone",))]) == {}


def test_an_empty_first_page_of_arxivs_search_is_believed_on_the_second_day_only(tmp_path: Path) -> None:
    """Under load arXiv gives feeds that are whole and empty; a later look finds the paper."""
    entry = IndexEntry(title="Title 2505.00001", authors=("Ada Stone",))

    def empty(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, text=FEED.format(0))

    assert search_titles(answering(tmp_path, empty), [entry]) == {}
    assert search_titles(answering(tmp_path, empty, 1.0), [entry]) == {}
    assert search_titles(answering(tmp_path, empty, 25.0), [entry]) == {entry.key: ()}
    assert fetch_metadata(answering(tmp_path, empty, 26.0), ["2505.00001"]) == {}
    assert fetch_metadata(answering(tmp_path, empty, 51.0), ["2505.00001"]) == {"2505.00001": None}


def test_a_search_that_was_empty_under_load_finds_its_paper_later(tmp_path: Path, world: OfflineWorld) -> None:
    entry = IndexEntry(title="Title 2505.00001", authors=("Ada Stone",))
    assert search_titles(answering(tmp_path, lambda _: httpx2.Response(200, text=FEED.format(0))), [entry]) == {}
    with world:
        told = search_titles(recorder(tmp_path, WorldTransport(world), 25.0), [entry])
    assert [one.arxiv_id for one in told[entry.key]] == ["2505.00001"]


@pytest.mark.parametrize(
    ("status", "body", "state"),
    [
        (200, gzip.compress(b"\\documentclass{article}", mtime=0), "here"),
        (200, gzip.compress(b"x" * 9000, mtime=0)[:-9], "undetermined"),
        (200, b"", "undetermined"),
        (404, b"none", "undetermined"),
        (410, b"", "undetermined"),
        (403, b"rate limit exceeded", "undetermined"),
        (403, b"no", "undetermined"),
        (429, b"", "undetermined"),
        (500, b"", "undetermined"),
        (503, b"Just a moment...", "undetermined"),
    ],
)
def test_no_single_answer_says_that_a_file_is_not_there(tmp_path: Path, status: int, body: bytes, state: str) -> None:
    rec = answering(tmp_path, lambda _: httpx2.Response(status, content=body))
    source, supplement = fetch_source(rec, record()), fetch_supplement(rec, record())
    assert (source.state, supplement.state) == (state, state)
    assert source.exchanges
    assert state == "here" or source.reason


@pytest.mark.parametrize("error", [httpx2.ConnectError("down"), httpx2.ReadTimeout("slow"), httpx2.ReadError("cut")])
def test_a_broken_connection_says_nothing(tmp_path: Path, error: Exception) -> None:
    def fails(_: httpx2.Request) -> httpx2.Response:
        raise error

    assert fetch_source(answering(tmp_path, fails), record()).state == "undetermined"


def test_without_forum_or_named_supplement_openreview_is_not_asked(tmp_path: Path) -> None:
    def never(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(request.url)

    rec = answering(tmp_path, never)
    assert fetch_notes(rec, VENUES, []) == {}
    assert fetch_supplement(rec, record(forum_id=None)).state == "none"
    assert fetch_supplement(rec, record(path=None)).state == "none"


def test_a_challenge_names_the_two_variables_and_is_never_no_supplement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENREVIEW_USERNAME", raising=False)
    monkeypatch.delenv("OPENREVIEW_PASSWORD", raising=False)
    body = {"name": "ChallengeRequiredError", "message": "Please complete the challenge", "status": 403}
    rec = answering(tmp_path, lambda _: httpx2.Response(403, json=body))
    for ask in (lambda: fetch_notes(rec, VENUES, ["F1"]), lambda: fetch_supplement(rec, record())):
        with pytest.raises(FetchError, match=r"OPENREVIEW_USERNAME and.*OPENREVIEW_PASSWORD"):
            ask()


def test_a_login_opens_a_challenged_world(tmp_path: Path, world: OfflineWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    told = world.folder / "world.toml"
    told.write_text(told.read_text() + "openreview_challenge = true\n")
    monkeypatch.setenv("OPENREVIEW_USERNAME", "reader@example.org")
    monkeypatch.setenv("OPENREVIEW_PASSWORD", "a-long-secret")
    with world:
        rec = recorder(tmp_path, WorldTransport(world))
        notes = fetch_notes(rec, VENUES, ["F1", "F2"])
        assert [bool(n.supplement_path) for n in notes.values()] == [True, False]
        assert fetch_supplement(rec, record()).state == "here"


def test_a_wrong_venue_is_an_error_and_not_a_conference_without_supplements(
    tmp_path: Path, world: OfflineWorld
) -> None:
    with world:
        rec = recorder(tmp_path, WorldTransport(world))
        with pytest.raises(FetchError, match="lists no notes for venue Elsewhere"):
            fetch_notes(rec, (VENUE, "Elsewhere"), ["F1"])
        with pytest.raises(FetchError, match="60 of the index's 60 forums"):
            fetch_notes(rec, VENUES, [f"X{n}" for n in range(60)])
        assert set(fetch_notes(rec, VENUES, ["F1", "F9"])) == {"F1"}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_index_of_ones_own_keeps_ids_as_text(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"title": ["One", "Two"], "arxiv_id": ["2505.12340", None]})
    path = tmp_path / f"index.{ending}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[ending](path)  # type: ignore[operator]
    (tmp_path / "own.toml").write_text(f'extends = "sample-2025"\n[live]\nindex_file = "index.{ending}"\n')
    rec = answering(tmp_path, lambda _: httpx2.Response(500))
    entries = fetch_index(load_edition(tmp_path / "own.toml"), rec, world=[{"title": "not asked"}])
    assert [(e.title, e.arxiv_id) for e in entries] == [("One", "2505.12340"), ("Two", None)]
    path.unlink()
    with pytest.raises(FetchError, match=r"no index file there .*correct live\.index_file"):
        fetch_index(load_edition(tmp_path / "own.toml"), rec)


def test_a_file_without_titles_is_no_index(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("name,id\nOne,2505.12340\n")
    (tmp_path / "own.toml").write_text('extends = "sample-2025"\n[live]\nindex_file = "index.csv"\n')
    rec = answering(tmp_path, lambda _: httpx2.Response(500))
    with pytest.raises(FetchError, match="wants columns title, arxiv_id"):
        fetch_index(load_edition(tmp_path / "own.toml"), rec)


@pytest.mark.parametrize(("name", "data"), [("x.parquet", b"PAR1 no"), ("x.jsonl", b"{"), ("x.xlsx", b"")])
def test_an_index_that_cannot_be_read_says_so(name: str, data: bytes) -> None:
    with pytest.raises(FetchError, match=name):
        read_rows(name, data)


def test_the_published_index_comes_from_the_hub_and_its_absence_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "train-0.parquet"
    pl.DataFrame(
        {"title": ["One"], "paper_url": ["https://openreview.net/forum?id=AbC"], "arxiv_id": ["2505.00001"]}
    ).write_parquet(out)
    data = out.read_bytes()

    def hub(request: httpx2.Request) -> httpx2.Response:
        if "/tree/" in request.url.path:
            names = ["README.md", "data/train-0.parquet", "data/test-0.parquet"]
            return httpx2.Response(200, json=[{"type": "file", "path": n, "size": 1, "oid": "0"} for n in names])
        assert request.url.path.endswith("/resolve/main/data/train-0.parquet")
        return httpx2.Response(200, content=data)

    live = load_edition("neurips-2025")
    entries = fetch_index(live, answering(tmp_path, hub))
    assert [(e.arxiv_id, e.forum_id, e.source) for e in entries] == [
        ("2505.00001", "AbC", "ai-conferences/NeurIPS2025")
    ]
    with pytest.raises(FetchError, match="build again later"):
        fetch_index(live, answering(tmp_path / "other", lambda _: httpx2.Response(503)))
    with pytest.raises(FetchError, match="no rows"):
        fetch_index(live, answering(tmp_path / "third", hub), world=[])
