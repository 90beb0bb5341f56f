"""Fetching what corpus and bundles are made of: index, arXiv metadata, OpenReview notes, sources, supplements.

Every answer ends as one of four: it is here, there is nothing to ask for, the service says it is not there, or nothing
was established. What a service says about us (rate limits, challenges, its own trouble) is the last: it is asked again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl

from pipeline.bundles import Fetched
from pipeline.corpus import ArxivMetadata, IndexEntry, Note, PaperRecord, index_entries, valid_arxiv_id
from pipeline.editions import Edition, Live
from pipeline.sources.clients import arxiv_client, openreview_client
from pipeline.sources.outcomes import challenged, json_of
from pipeline.sources.recorder import RATE_LIMITED, TRUNCATED, Answer, Recorder

if TYPE_CHECKING:
    import arxiv
    import openreview.api

BATCH = 100
"""Ids an arXiv metadata query may name."""
SOURCE_BYTES = 256 << 20
SUPPLEMENT_BYTES = 256 << 20
"""OpenReview takes uploads of 100 MB, arXiv of 50 MB; with room."""
INDEX_BYTES = 256 << 20
SINGLE_NOTES = 50
"""Forums looked up one by one when the venue's list lacks them. More of them means that the venue id is wrong."""
USERNAME, PASSWORD = "OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD"
_FILES: Mapping[str, Callable[[BytesIO], pl.DataFrame]] = {
    ".parquet": lambda data: pl.read_parquet(data),
    ".jsonl": lambda data: pl.read_ndjson(data, infer_schema_length=None),
    ".csv": lambda data: pl.read_csv(data, infer_schema=False),
}


class FetchError(RuntimeError):
    """Something a whole edition hangs on could not be fetched; the message says from where, why and what to do."""


# -------------------------------------------------------------------------------------------------------------- index


def fetch_index(
    edition: Edition, recorder: Recorder, world: Sequence[Mapping[str, Any]] | None = None, file: Path | None = None
) -> tuple[IndexEntry, ...]:
    """The edition's list of accepted papers: from a file of one's own, the offline world's rows, or the Hub's data set.

    Raises `FetchError` where there is no list, or an empty one: an edition without papers is a mistake, not a result.
    """
    if file is not None:
        entries = index_entries(read_rows(file.name, file.read_bytes()), file.name)
    elif world is not None:
        entries = index_entries(world, "world")
    elif edition.live is not None:
        entries = index_entries(_hub_rows(recorder, edition.live), edition.live.index_dataset)
    else:
        raise FetchError(f"edition {edition.name}: no index; name a world, a [live] data set or a file")
    if not entries:
        raise FetchError(f"edition {edition.name}: its index has no rows; check the source's name and columns")
    return entries


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


def _hub_rows(recorder: Recorder, live: Live) -> list[dict[str, Any]]:
    revision = live.index_revision or "main"
    where = f"index data set {live.index_dataset}@{revision}"
    answer = recorder.ask(
        "GET",
        f"https://huggingface.co/api/datasets/{quote(live.index_dataset)}/tree/{quote(revision)}"
        "?recursive=true&expand=false",
    )
    listed = json_of(answer) if answer.status == 200 else None
    if not isinstance(listed, list):
        raise FetchError(f"{where}: its file list did not come ({_trouble(answer)}); build again later")
    paths = sorted(
        str(entry.get("path")) for entry in listed if isinstance(entry, dict) and entry.get("type") == "file"
    )
    for ending in _FILES:
        found = [path for path in paths if path.endswith(ending)]
        found = [path for path in found if live.index_split in Path(path).name] or found
        if found:
            break
    else:
        raise FetchError(f"{where}: holds no {', '.join(_FILES)} file")
    rows: list[dict[str, Any]] = []
    for path in found:
        url = f"https://huggingface.co/datasets/{quote(live.index_dataset)}/resolve/{quote(revision)}/{quote(path)}"
        answer = recorder.ask("GET", url, limit=INDEX_BYTES)
        if answer.status != 200 or TRUNCATED in answer.headers:
            raise FetchError(f"{where}: {path} did not come whole ({_trouble(answer)}); build again later")
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
    import requests

    with recorder.call() as seen:
        try:
            found = list(client.results(arxiv.Search(id_list=ids, max_results=len(ids))))
        except arxiv.HTTPError as error:
            if error.status != 400:
                return None
            # One of them is malformed to arXiv. Which one, single queries tell.
            return {ids[0]: None} if len(ids) == 1 else {}
        except (arxiv.ArxivError, requests.RequestException, ValueError, AttributeError, KeyError, TypeError):
            return None
    if not all(_whole_feed(recorder.answer(exchange)) for exchange in seen):
        return None
    told: dict[str, ArxivMetadata | None] = {}
    for result in found:
        parsed = valid_arxiv_id(result.get_short_id())
        if parsed and parsed[0] in ids:
            told[parsed[0]] = ArxivMetadata(
                arxiv_id=parsed[0],
                version=parsed[1] or 1,
                title=" ".join(result.title.split()),
                authors=tuple(author.name for author in result.authors),
                abstract=" ".join(result.summary.split()),
                published=result.published.strftime("%Y-%m-%dT%H:%M:%SZ"),
                categories=tuple(result.categories),
            )
    if len(ids) == 1 and not told:
        return {ids[0]: None}
    return told


def _whole_feed(answer: Answer) -> bool:
    """An Atom feed with its end: an error page or a cut body says nothing about the ids."""
    return answer.status == 200 and b"totalResults" in answer.body and answer.body.rstrip().endswith(b"</feed>")


def fetch_source(recorder: Recorder, record: PaperRecord) -> Fetched:
    """The source package of the pinned version, as sent."""
    url = f"https://arxiv.org/src/{record.arxiv_id}v{record.version}"
    return _fetched(recorder.ask("GET", url, limit=SOURCE_BYTES))


# ---------------------------------------------------------------------------------------------------------- OpenReview


def openreview_from_environment(recorder: Recorder) -> openreview.api.OpenReviewClient:
    """The client, logged in where the environment has an account."""
    from openreview import OpenReviewException

    try:
        return openreview_client(recorder, os.environ.get(USERNAME), os.environ.get(PASSWORD))
    except OpenReviewException as error:
        raise FetchError(f"OpenReview refused the login ({_said(error)}); check {USERNAME} and {PASSWORD}") from error


def fetch_notes(
    recorder: Recorder, venue: str, forums: Iterable[str], client: openreview.api.OpenReviewClient | None = None
) -> dict[str, Note]:
    """The venue's notes by forum id, with those of `forums` that its list lacks looked up singly.

    No forums, no request: venues without OpenReview work. Raises `FetchError` where OpenReview does not answer, since
    "no note" would read as "no supplement".
    """
    wanted = sorted(set(forums))
    if not wanted:
        return {}
    import requests
    from openreview import OpenReviewException

    client = client or openreview_from_environment(recorder)
    try:
        notes = {note.forum_id: note for note in _notes(client.get_all_notes(content={"venueid": venue}))}
        missing = [forum for forum in wanted if forum not in notes]
        if len(missing) > SINGLE_NOTES:
            raise FetchError(
                f"OpenReview lists {len(notes)} notes for venue {venue}, without {len(missing)} of the index's "
                f"{len(wanted)} forums; check the edition's venue id"
            )
        for forum in missing:
            notes.update((note.forum_id, note) for note in _notes(client.get_notes(id=forum)))
    except OpenReviewException as error:
        if "challenge" in str(error).lower():
            raise FetchError(
                f"OpenReview wants a login (ChallengeRequired) to list the notes of {venue}; set {USERNAME} and "
                f"{PASSWORD} (an account is free)"
            ) from error
        raise FetchError(f"OpenReview did not list the notes of {venue} ({_said(error)}); build again later") from error
    except (requests.RequestException, ValueError, KeyError, TypeError) as error:
        raise FetchError(f"OpenReview did not list the notes of {venue} ({error}); build again later") from error
    return {forum: notes[forum] for forum in wanted if forum in notes}


def _notes(notes: Iterable[Any]) -> Iterator[Note]:
    for note in notes:
        content = {key: field.get("value") for key, field in (note.content or {}).items() if isinstance(field, dict)}
        yield Note(
            forum_id=note.forum or note.id,
            title=str(content.get("title") or ""),
            authors=tuple(map(str, content.get("authors") or ())),
            supplement_path=content.get("supplementary_material") or None,
        )


def fetch_supplement(
    recorder: Recorder, record: PaperRecord, client: openreview.api.OpenReviewClient | None = None
) -> Fetched:
    """The supplement that the paper's note names, by forum id, as sent. Raises `FetchError` where a login is needed."""
    if record.forum_id is None or record.supplement_path is None:
        return Fetched(state="none")
    client = client or openreview_from_environment(recorder)
    login = {name: value for name, value in client.headers.items() if name.lower() == "authorization"}
    url = f"https://api2.openreview.net/attachment?id={quote(record.forum_id)}&name=supplementary_material"
    answer = recorder.ask("GET", url, headers=login, limit=SUPPLEMENT_BYTES)
    if answer.status == 403 and b"ChallengeRequired" in answer.body[:2000]:
        raise FetchError(
            f"OpenReview wants a login (ChallengeRequired) for the supplement of {record.arxiv_id}; set {USERNAME} and "
            f"{PASSWORD} (an account is free)"
        )
    return _fetched(answer)


def _said(error: Exception) -> str:
    """OpenReview's exceptions carry a dict with name and message, or a text."""
    told = error.args[0] if error.args else ""
    return f"{told.get('name')}: {told.get('message')}" if isinstance(told, dict) else str(told)[:200]


# ------------------------------------------------------------------------------------------------------------ outcomes


def _fetched(answer: Answer) -> Fetched:
    exchanges = (answer.exchange.id,)
    if answer.status == 200 and RATE_LIMITED not in answer.headers and not challenged(answer) and answer.body:
        reason = "longer than the limit, cut" if TRUNCATED in answer.headers else ""
        return Fetched(state="here", data=answer.body, reason=reason, exchanges=exchanges)
    state: Any = "absent" if answer.status in (404, 410, 451) else "undetermined"
    return Fetched(state=state, reason=_trouble(answer), exchanges=exchanges)


def _trouble(answer: Answer) -> str:
    if answer.status is None:
        return str(answer.exchange.fault)
    if RATE_LIMITED in answer.headers:
        return "rate limited"
    if challenged(answer):
        return "challenge"
    return "empty answer" if answer.status == 200 and not answer.body else f"status {answer.status}"
