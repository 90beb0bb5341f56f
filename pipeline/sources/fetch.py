"""Fetching what the corpus is made of: the index of accepted papers, and arXiv's metadata.

What a service does not answer is missing from the result, never a statement about a paper: it is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    itself, since a feed that came short looks the same.
    """
    client = arxiv_client(recorder)
    asked = sorted({found[0] for text in ids if (found := valid_arxiv_id(text))})
    told: dict[str, ArxivMetadata | None] = {}
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        answered = _batch(recorder, client, batch)
        told.update(answered or {})
        if answered is not None and len(batch) > 1:
            for missing in [one for one in batch if one not in answered]:
                told.update(_batch(recorder, client, [missing]) or {})
    return told


def _batch(recorder: Recorder, client: arxiv.Client, ids: list[str]) -> dict[str, ArxivMetadata | None] | None:
    """One query's answer; None where nothing was established."""
    import arxiv

    try:
        found = _asked(recorder, lambda: list(client.results(arxiv.Search(id_list=ids, max_results=len(ids)))))
    except arxiv.HTTPError:
        # One of them is malformed to arXiv. Which one, single queries tell.
        return {ids[0]: None} if len(ids) == 1 else {}
    if found is None:
        return None
    told: dict[str, ArxivMetadata | None] = {one.arxiv_id: one for one in found if one.arxiv_id in ids}
    if len(ids) == 1 and not told:
        return {ids[0]: None}
    return told


def search_titles(recorder: Recorder, entries: Iterable[IndexEntry]) -> dict[str, tuple[ArxivMetadata, ...]]:
    """What arXiv's search has by each entry's title, or else by its first and last author, by entry key. Entries whose
    searches were not answered whole are not in the result. One or two requests an entry, three seconds each: a
    conference takes hours, see `arxiv_snapshot`."""
    client = arxiv_client(recorder)
    told: dict[str, tuple[ArxivMetadata, ...]] = {}
    for entry in entries:
        words = folded(entry.title)
        found = _searched(recorder, client, f'ti:"{words}"') if words else ()
        if found is not None and found_among(entry, found).outcome == "none" and entry.authors:
            # A renamed paper is found by its people.
            ends = dict.fromkeys(folded(name) for name in (entry.authors[0], entry.authors[-1]))
            more = _searched(recorder, client, " AND ".join(f'au:"{name}"' for name in ends if name))
            found = None if more is None else (*found, *more)
        if found is not None:
            told[entry.key] = found
    return told


def _searched(recorder: Recorder, client: arxiv.Client, query: str) -> tuple[ArxivMetadata, ...] | None:
    import arxiv

    try:
        return _asked(recorder, lambda: list(client.results(arxiv.Search(query=query, max_results=SEARCH_RESULTS))))
    except arxiv.HTTPError:
        return None


def _asked(recorder: Recorder, ask: Callable[[], list[arxiv.Result]]) -> tuple[ArxivMetadata, ...] | None:
    """A feed's papers; None where nothing was established."""
    import arxiv
    import requests

    with recorder.call() as seen:
        try:
            found = ask()
        except arxiv.HTTPError as error:
            if error.status == 400:
                raise
            return None
        except (arxiv.ArxivError, requests.RequestException, ValueError, AttributeError, KeyError, TypeError):
            return None
    if not all(_whole_feed(recorder.answer(exchange)) for exchange in seen):
        return None
    return tuple(told for result in found if (told := _metadata(result)) is not None)


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


def _whole_feed(answer: Answer) -> bool:
    """An Atom feed with its end: an error page or a cut body says nothing about the ids."""
    return answer.status == 200 and b"totalResults" in answer.body and answer.body.rstrip().endswith(b"</feed>")
