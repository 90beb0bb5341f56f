"""OpenReview's notes (API v2): a venue's accepted papers, their authors, and which supplement each names.

A refusal is an error that says what to set, and a list that is empty or came in part is one too: "no papers" and "no
supplement" are never concluded from silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.corpus import Note
from pipeline.sources.clients import openreview_client
from pipeline.sources.recorder import Recorder
from pipeline.sources.trouble import FetchError

if TYPE_CHECKING:
    import openreview.api

API = "https://api2.openreview.net"
USERNAME, PASSWORD = "OPENREVIEW_USERNAME", "OPENREVIEW_PASSWORD"
PAGE = 1000
SINGLE_NOTES = 50
"""Forums looked up one by one when the venues' lists lack them. More of them means that a venue id is missing."""


def openreview_from_environment(recorder: Recorder) -> openreview.api.OpenReviewClient:
    """The client, logged in where the environment has an account. Raises `FetchError` where the login fails."""
    import requests
    from openreview import OpenReviewException

    username, password = os.environ.get(USERNAME), os.environ.get(PASSWORD)
    if bool(username) != bool(password):
        raise FetchError(f"OpenReview: {USERNAME} and {PASSWORD} belong together, and one is not set; set both")
    try:
        return openreview_client(recorder, username, password)
    except (OpenReviewException, requests.RequestException, ValueError, KeyError, TypeError) as error:
        raise FetchError(f"OpenReview: the login failed ({_said(error)}); check {USERNAME} and {PASSWORD}") from error


def challenge(what: str) -> FetchError:
    """OpenReview challenges strangers since August 2026 (openreview-py issues; an account is free)."""
    return FetchError(
        f"OpenReview wants a login (ChallengeRequired) {what}; set {USERNAME} and {PASSWORD} (an account is free)"
    )


def venue_notes(
    recorder: Recorder, venues: Sequence[str], client: openreview.api.OpenReviewClient | None = None
) -> dict[str, Note]:
    """Every note of the venues by forum id. Raises `FetchError` where OpenReview refuses, has none, or tells fewer
    than it counts."""
    client = client or openreview_from_environment(recorder)
    found: dict[str, Note] = {}
    for venue in venues:
        notes = _asked(f"the notes of {venue}", lambda venue=venue: list(_notes(_pages(client, venue))))
        if not notes:
            raise FetchError(
                f"OpenReview lists no notes for venue {venue}: that is no conference without papers but a wrong venue "
                "id (venues before 2023 live in API v1), or notes that are not public yet; check the edition's venues"
            )
        found.update((note.forum_id, note) for note in notes)
    return found


def fetch_notes(
    recorder: Recorder,
    venues: Sequence[str],
    forums: Iterable[str],
    client: openreview.api.OpenReviewClient | None = None,
) -> dict[str, Note]:
    """The notes of `forums` by forum id; those that the venues' lists lack are looked up singly.

    No forums, no request: venues without OpenReview work. Raises `FetchError` where OpenReview does not answer, since
    "no note" would read as "no supplement".
    """
    wanted = sorted(set(forums))
    if not wanted:
        return {}
    client = client or openreview_from_environment(recorder)
    notes = venue_notes(recorder, venues, client)
    missing = [forum for forum in wanted if forum not in notes]
    if len(missing) > SINGLE_NOTES:
        raise FetchError(
            f"OpenReview lists {len(notes)} notes for {', '.join(venues)}, without {len(missing)} of the index's "
            f"{len(wanted)} forums (first {missing[0]}); name every track in the edition's live.venues"
        )
    for forum in missing:
        one = _asked(f"the note {forum}", lambda forum=forum: list(_notes(client.get_notes(id=forum))))
        notes.update((note.forum_id, note) for note in one)
    return {forum: notes[forum] for forum in wanted if forum in notes}


def _pages(client: openreview.api.OpenReviewClient, venue: str) -> Iterator[Any]:
    """A venue's notes, page by page to the empty one. The library's own loop drops the count, and never ends where
    notes come without ids."""
    ask = {"content": {"venueid": venue}, "limit": PAGE, "sort": "id"}
    notes, count = client.get_notes(**ask, with_count=True)
    seen: set[str] = set()
    while notes:
        before = len(seen)
        seen.update(str(note.id) for note in notes if note.id)
        if len(seen) == before:
            raise ValueError(f"a page of {len(notes)} notes brought none that is new")
        yield from notes
        notes = client.get_notes(**ask, after=notes[-1].id, with_count=False)
    if len(seen) < count:
        raise ValueError(f"it counts {count} notes and listed {len(seen)}")


def _notes(notes: Iterable[Any]) -> Iterator[Note]:
    for note in notes:
        content = {key: field.get("value") for key, field in (note.content or {}).items() if isinstance(field, Mapping)}
        yield Note(
            forum_id=str(note.forum or note.id),
            title=str(content.get("title") or ""),
            authors=tuple(name for name in map(_author, content.get("authors") or ()) if name),
            supplement_path=content.get("supplementary_material") or None,
            number=note.number if isinstance(note.number, int) else None,
        )


def _author(told: object) -> str:
    """Names are texts, or objects since OpenReview's profiles are part of a note's authors."""
    return str(told.get("fullname") or "") if isinstance(told, Mapping) else str(told or "")


def _asked(what: str, ask: Any) -> list[Note]:
    import requests
    from openreview import OpenReviewException

    try:
        found: list[Note] = ask()
        return found
    except OpenReviewException as error:
        if "challenge" in str(error).lower():
            raise challenge(f"to list {what}") from error
        raise FetchError(f"OpenReview did not list {what} ({_said(error)}); build again later") from error
    except (requests.RequestException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FetchError(f"OpenReview did not list {what} ({_said(error)}); build again later") from error


def _said(error: Exception) -> str:
    """OpenReview's exceptions carry a dict with name and message, or a text."""
    told = error.args[0] if error.args else ""
    text = f"{told.get('name')}: {told.get('message')}" if isinstance(told, dict) else str(told)
    return text[:200] or type(error).__name__
