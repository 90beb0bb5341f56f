"""Fetching what the corpus is made of: the index of accepted papers, and arXiv's metadata.

What a service does not answer is missing from the result, never a statement about a paper: it is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl

from pipeline.corpus import (
    ArxivMetadata,
    IndexEntry,
    Note,
    found_among,
    index_entries,
    note_entries,
    valid_arxiv_id,
)
from pipeline.editions import Edition
from pipeline.sources.clients import arxiv_client
from pipeline.sources.outcomes import json_of
from pipeline.sources.recorder import TRUNCATED, Answer, Recorder
from pipeline.sources.trouble import FetchError, trouble
from pipeline.titles import folded

if TYPE_CHECKING:
    import arxiv

BATCH = 100
"""Ids an arXiv metadata query may name."""
SEARCH_RESULTS = 50
"""Papers a title or author query brings at most; a title's own paper is among the first."""
INDEX_BYTES = 256 << 20
_COUNT = re.compile(rb"totalResults[^>]*>\s*(\d{1,9})\s*<")
_FILES: Mapping[str, Callable[[BytesIO], pl.DataFrame]] = {
    ".parquet": lambda data: pl.read_parquet(data),
    ".jsonl": lambda data: pl.read_ndjson(data, infer_schema_length=None),
    ".csv": lambda data: pl.read_csv(data, infer_schema=False),
}


# -------------------------------------------------------------------------------------------------------------- index


def fetch_index(
    edition: Edition,
    recorder: Recorder,
    world: Sequence[Mapping[str, Any]] | None = None,
    notes: Callable[[], Mapping[str, Note]] | None = None,
) -> tuple[IndexEntry, ...]:
    """The edition's list of accepted papers: a file of one's own, the offline world's rows, the Hub's data set, or the
    `notes` of its OpenReview venues, in this order; entries made of notes name no arXiv ids.

    Raises `FetchError` where there is no list, or an empty one: an edition without papers is a mistake, not a result.
    """
    live = edition.live
    if live is not None and live.index_file is not None:
        entries = index_entries(_file_rows(edition.beside(live.index_file)), Path(live.index_file).name)
    elif world is not None:
        entries = index_entries(world, "world")
    elif live is not None and live.index_dataset is not None:
        rows = _hub_rows(recorder, live.index_dataset, live.index_split, live.index_revision or "main")
        entries = index_entries(rows, live.index_dataset)
    elif live is not None and notes is not None:
        entries = note_entries(notes().values(), "openreview")
    else:
        raise FetchError(f"edition {edition.name}: no index; name a world, a [live] data set, venues, or a file")
    if not entries:
        raise FetchError(f"edition {edition.name}: its index has no rows; check the source's name and columns")
    if not any(entry.title for entry in entries):
        raise FetchError(f"edition {edition.name}: no row of its index has a title; it wants columns title, arxiv_id")
    return entries


def _file_rows(path: Path) -> list[dict[str, Any]]:
    try:
        data = path.read_bytes()
    except OSError as cause:
        raise FetchError(f"{path}: no index file there ({cause.strerror}); correct live.index_file") from cause
    return read_rows(path.name, data)


def read_rows(name: str, data: bytes) -> list[dict[str, Any]]:
    """The rows of a CSV, JSONL or Parquet file. CSV cells stay text: 2505.12340 is no number."""
    read = _FILES.get(Path(name).suffix.lower())
    if read is None:
        raise FetchError(f"{name}: an index is one of {', '.join(_FILES)}")
    try:
        return read(BytesIO(data)).to_dicts()
    except BaseException as cause:  # polars panics (a BaseException) on some damaged files
        if isinstance(cause, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
            raise
        raise FetchError(f"{name}: cannot be read as an index ({str(cause).splitlines()[0][:200]})") from cause


def _hub_rows(recorder: Recorder, dataset: str, split: str, revision: str) -> list[dict[str, Any]]:
    where = f"index data set {dataset}@{revision}"
    answer = recorder.ask(
        "GET",
        f"https://huggingface.co/api/datasets/{quote(dataset)}/tree/{quote(revision)}?recursive=true&expand=false",
    )
    listed = json_of(answer) if answer.status == 200 else None
    if not isinstance(listed, list):
        raise FetchError(f"{where}: its file list did not come ({trouble(answer)}); build again later")
    paths = sorted(
        str(entry.get("path")) for entry in listed if isinstance(entry, dict) and entry.get("type") == "file"
    )
    for ending in _FILES:
        found = [path for path in paths if path.endswith(ending)]
        found = [path for path in found if split in Path(path).name] or found
        if found:
            break
    else:
        raise FetchError(f"{where}: holds no {', '.join(_FILES)} file")
    rows: list[dict[str, Any]] = []
    for path in found:
        url = f"https://huggingface.co/datasets/{quote(dataset)}/resolve/{quote(revision)}/{quote(path)}"
        answer = recorder.ask("GET", url, limit=INDEX_BYTES)
        if answer.status != 200 or TRUNCATED in answer.headers:
            raise FetchError(f"{where}: {path} did not come whole ({trouble(answer)}); build again later")
        rows += read_rows(path, answer.body)
    return rows


# -------------------------------------------------------------------------------------------------------------- arXiv


def fetch_metadata(recorder: Recorder, ids: Iterable[str]) -> dict[str, ArxivMetadata | None]:
    """What arXiv says of each id, None where it knows none; ids it gave no whole answer for are not in the result.

    Malformed ids are not asked: one of them fails its batch. An id that a batch's answer lacks is asked again by
    itself, since a feed that came short looks the same. arXiv under load gives empty feeds too: that it knows no id, it
    has to say twice, `second_look_hours` apart.
    """
    client = arxiv_client(recorder, lacks)
    asked = sorted({found[0] for text in ids if (found := valid_arxiv_id(text))})
    told: dict[str, ArxivMetadata | None] = {}
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        feed = _asked(recorder, client, id_list=batch, max_results=len(batch))
        if feed is None:
            continue
        told.update(_named(feed, batch))
        for missing in [one for one in batch if one not in told]:
            alone = feed if len(batch) == 1 else _asked(recorder, client, id_list=[missing], max_results=1)
            if alone is None:
                continue
            told.update(_named(alone, [missing]))
            if alone.lacks:
                told[missing] = None
    return told


def search_titles(recorder: Recorder, entries: Iterable[IndexEntry]) -> dict[str, tuple[ArxivMetadata, ...]]:
    """What arXiv's search has by each entry's title, or else by its first and last author, by entry key. One or two
    requests an entry, three seconds each: a conference takes hours, see `arxiv_snapshot`.

    Not in the result are entries whose searches were not answered whole, and those without a fitting paper whose
    searches found nothing at all only once.
    """
    client = arxiv_client(recorder, lacks)
    told: dict[str, tuple[ArxivMetadata, ...]] = {}
    for entry in entries:
        words = folded(entry.title)
        feeds = [_asked(recorder, client, query=f'ti:"{words}"', max_results=SEARCH_RESULTS)] if words else []
        found = _papers(feeds)
        if None not in feeds and found_among(entry, found).outcome == "none" and entry.authors:
            # A renamed paper is found by its people.
            ends = dict.fromkeys(folded(name) for name in (entry.authors[0], entry.authors[-1]))
            query = " AND ".join(f'au:"{name}"' for name in ends if name)
            feeds.append(_asked(recorder, client, query=query, max_results=SEARCH_RESULTS) if query else Feed())
            found = _papers(feeds)
        settled = all(feed is not None and (feed.papers or feed.lacks) for feed in feeds)
        if settled or found_among(entry, found).outcome == "found":
            told[entry.key] = found
    return told


@dataclass(frozen=True, slots=True)
class Feed:
    """A whole answer of arXiv's API. `lacks`: it holds no paper, and did so on two days."""

    papers: tuple[ArxivMetadata, ...] = ()
    lacks: bool = True


def _papers(feeds: Iterable[Feed | None]) -> tuple[ArxivMetadata, ...]:
    return tuple(paper for feed in feeds if feed is not None for paper in feed.papers)


def _named(feed: Feed, ids: Sequence[str]) -> dict[str, ArxivMetadata]:
    return {paper.arxiv_id: paper for paper in feed.papers if paper.arxiv_id in ids}


def _asked(recorder: Recorder, client: arxiv.Client, **search: Any) -> Feed | None:
    """One query's answer; None where nothing was established."""
    import arxiv
    import requests

    with recorder.call() as seen:
        try:
            found = list(client.results(arxiv.Search(**search)))
        except arxiv.HTTPError as error:
            if error.status != 400:
                return None
            found = []  # one of the ids is malformed to arXiv
        except (arxiv.ArxivError, requests.RequestException, ValueError, AttributeError, KeyError, TypeError):
            return None
    said = [lacks(recorder.answer(exchange)) for exchange in seen]
    if not seen or None in said:
        return None
    papers = tuple(told for result in found if (told := _metadata(result)) is not None)
    return Feed(papers, all(said) and recorder.said_gone_twice(seen[0], lacks))


def lacks(answer: Answer) -> bool | None:
    """Whether a feed says that arXiv has nothing of what was asked for: no paper, or an id that it finds malformed.
    None where it says nothing: an error page, a cut body, a feed whose count and papers disagree."""
    if answer.status == 400:
        return True if b"incorrect id format" in answer.body else None
    counted = _COUNT.search(answer.body)
    if answer.status != 200 or counted is None or not answer.body.rstrip().endswith(b"</feed>"):
        return None
    if b"<entry" in answer.body:
        return False
    return True if int(counted[1]) == 0 else None


def _metadata(result: arxiv.Result) -> ArxivMetadata | None:
    parsed = valid_arxiv_id(result.get_short_id())
    if parsed is None:
        return None
    return ArxivMetadata(
        arxiv_id=parsed[0],
        version=parsed[1] or 1,
        title=" ".join(result.title.split()),
        authors=tuple(author.name for author in result.authors),
        abstract=" ".join(result.summary.split()),
        published=result.published.strftime("%Y-%m-%dT%H:%M:%SZ"),
        categories=tuple(result.categories),
    )
