"""From an index of accepted papers to `papers`: those with a well-formed arXiv id, each once, with arXiv's metadata.

Every entry of the index ends in exactly one place, a record or an exclusion (`unaccounted` checks it). What could not
be determined is an exclusion too, but one to be tried again, never a statement that something does not exist.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from pipeline.titles import folded, likeness, people, same_people, titles_agree


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexEntry:
    """One row of the list of accepted papers. `source` names the list, `row` its place there (from 0)."""

    title: str
    arxiv_id: str | None = None
    forum_id: str | None = None
    authors: tuple[str, ...] = ()
    source: str = "index"
    row: int = 0

    @property
    def key(self) -> str:
        return f"{self.source}#{self.row}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ArxivMetadata:
    """What arXiv's API says about one paper; `version` is the newest one it named. `published`: ISO 8601, UTC."""

    arxiv_id: str
    version: int
    title: str
    authors: tuple[str, ...] = ()
    abstract: str = ""
    published: str = ""
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """What OpenReview says about one forum. `supplement_path`: its attachment, None where the note names none.
    `number`: the note's number within its venue."""

    forum_id: str
    title: str
    authors: tuple[str, ...] = ()
    supplement_path: str | None = None
    number: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperRecord:
    """One paper of the corpus. `arxiv_id` is version-less, `version` pinned; title and authors are arXiv's."""

    arxiv_id: str
    version: int
    title: str
    authors: tuple[str, ...]
    abstract: str
    forum_id: str | None
    published: str
    categories: tuple[str, ...]
    supplement_path: str | None
    index_key: str
    note_number: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a search for an entry's arXiv id, by title and authors, came to. `detail`: a sentence where it found none.

    none: the search was complete and nothing fits. ambiguous: several papers fit equally well. undetermined: the search
    was not answered.
    """

    outcome: Literal["found", "none", "ambiguous", "undetermined"]
    arxiv_id: str | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exclusion:
    """Why something is no row. `key`: in the corpus stage the index entry's, since several may name one paper; then the
    arXiv id. `reason` is one word of the stage's vocabulary, `detail` a sentence."""

    key: str
    title: str
    stage: str
    reason: str
    detail: str

    @property
    def retry(self) -> bool:
        """Nothing was established: the same question asked later may end otherwise."""
        return self.reason == UNDETERMINED


UNDETERMINED = "undetermined"

# The published rule: a full match of either scheme, with an optional version. Digits are ASCII; one id that arXiv finds
# malformed fails a whole batch of a hundred.
_NEW = re.compile(r"(?P<id>[0-9]{4}\.[0-9]{4,5})(?:v(?P<version>[1-9][0-9]{0,3}))?")
_OLD = re.compile(
    r"(?P<archive>[a-z]+(?:-[a-z]+)?)(?:\.[A-Z]{2})?/(?P<number>[0-9]{7})(?:v(?P<version>[1-9][0-9]{0,3}))?"
)


def valid_arxiv_id(text: str) -> tuple[str, int | None] | None:
    """(version-less id, version) of a well-formed arXiv id, else None. `math.GT/0309136` is arXiv's `math/0309136`."""
    text = text.strip()
    if found := _NEW.fullmatch(text):
        paper = found["id"]
    elif found := _OLD.fullmatch(text):
        paper = f"{found['archive']}/{found['number']}"
    else:
        return None
    return paper, int(found["version"]) if found["version"] else None


def index_entries(rows: Iterable[Mapping[str, object]], source: str) -> tuple[IndexEntry, ...]:
    """Rows of an accepted-papers list as entries, in order. Columns: title, arxiv_id, authors (a list, or names between
    semicolons or commas), and forum_id, openreview_id or paper_url."""
    return tuple(
        IndexEntry(
            title=_text(row.get("title")),
            arxiv_id=_text(row.get("arxiv_id")) or None,
            forum_id=_text(row.get("forum_id"))
            or _text(row.get("openreview_id"))
            or forum_of(_text(row.get("paper_url"))),
            authors=_author_list(row.get("authors")),
            source=source,
            row=number,
        )
        for number, row in enumerate(rows)
    )


def forum_of(url: str) -> str | None:
    """The forum id in an OpenReview URL: the `id` argument. Other sites' URLs hold none."""
    parts = urlsplit(url)
    if parts.hostname not in ("openreview.net", "www.openreview.net", "api2.openreview.net"):
        return None
    return next(iter(parse_qs(parts.query).get("id", [])), None)


def note_entries(notes: Iterable[Note], source: str) -> tuple[IndexEntry, ...]:
    """A venue's notes as entries, by forum id; their arXiv ids are to be found (see `found_among`)."""
    return tuple(
        IndexEntry(title=note.title, forum_id=note.forum_id, authors=note.authors, source=source, row=number)
        for number, note in enumerate(sorted(notes, key=lambda note: note.forum_id))
    )


MARGIN = 0.1
"""By so much the best of several fitting titles has to be more alike than the next."""


def found_among(entry: IndexEntry, candidates: Iterable[ArxivMetadata]) -> Found:
    """The paper among a complete search's candidates that the entry's title and authors name."""
    fitting: list[tuple[float, str, str]] = []
    for one in {c.arxiv_id: c for c in candidates}.values():
        alike = likeness(entry.title, one.title, entry.authors, one.authors)
        if alike is not None:
            fitting.append((-alike, one.arxiv_id, one.title))
    if not fitting:
        return Found(outcome="none", detail="arXiv has no paper with its title and authors")
    best, *rest = sorted(fitting)
    if rest and (rest[0][0] == best[0] or (-best[0] < 1.0 and rest[0][0] - best[0] < MARGIN)):
        several = "; ".join(f"{arxiv_id} {title!r}" for _, arxiv_id, title in [best, *rest][:4])
        return Found(outcome="ambiguous", detail=f"several papers on arXiv fit its title and authors: {several}")
    return Found(outcome="found", arxiv_id=best[1])


def _text(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _author_list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        names: Sequence[object] = value.split(";" if ";" in value else ",")
    else:
        names = value if isinstance(value, list | tuple) else ()
    return tuple(name for name in map(_text, names) if name)


def papers(
    entries: Sequence[IndexEntry],
    metadata: Mapping[str, ArxivMetadata | None],
    notes: Mapping[str, Note] | None = None,
    pinned: Mapping[str, int] | None = None,
    found: Mapping[str, Found] | None = None,
) -> tuple[tuple[PaperRecord, ...], tuple[Exclusion, ...]]:
    """The corpus: records by arXiv id, and exclusions in index order.

    `metadata`: by version-less id; None says that arXiv does not know the id, a missing key that it has not answered
    for it yet. `notes`: by forum id, the only way a supplement is joined to a paper. `pinned`: versions that an
    earlier build has fixed. `found`: by entry key, what a search established where the index names no arXiv id. The
    first of several entries for one paper counts.
    """
    notes, pinned, found = notes or {}, pinned or {}, found or {}
    records: dict[str, PaperRecord] = {}
    exclusions: list[Exclusion] = []
    by_forum: dict[str, str] = {}
    by_title: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for entry in entries:
        search = found.get(entry.key)
        named = entry.arxiv_id or (search.arxiv_id if search else None) or ""

        def out(reason: str, detail: str, entry: IndexEntry = entry) -> None:
            exclusions.append(Exclusion(key=entry.key, title=entry.title, stage="corpus", reason=reason, detail=detail))

        if not named.strip():
            if search is None or search.outcome == "none":
                out("no_arxiv_id", search.detail if search else "the index names no arXiv id")
            elif search.outcome == "ambiguous":
                out("ambiguous_arxiv_id", search.detail)
            else:
                out(UNDETERMINED, f"{search.detail}; build again to search once more")
            continue
        parsed = valid_arxiv_id(named)
        if parsed is None:
            out("malformed_arxiv_id", f"{named[:80]!r} is no arXiv id")
            continue
        arxiv_id, version = parsed
        note = notes.get(entry.forum_id) if entry.forum_id else None
        authors = entry.authors or (note.authors if note else ())
        if arxiv_id in records:
            out("duplicate_arxiv_id", f"{arxiv_id}: same arXiv id as {records[arxiv_id].index_key}")
            continue
        if entry.forum_id and entry.forum_id in by_forum:
            out("duplicate_forum", f"{arxiv_id}: same OpenReview forum as {by_forum[entry.forum_id]}")
            continue
        if arxiv_id not in metadata:
            out(UNDETERMINED, f"arXiv has not answered for {arxiv_id}, or not said twice that it has none; build again")
            continue
        told = metadata[arxiv_id]
        if told is None:
            out("unknown_to_arxiv", f"arXiv said on two days that it knows no {arxiv_id}")
            continue
        if not titles_agree(entry.title, told.title, authors, told.authors):
            by = f" by {people(authors)}" if authors else " (no authors known)"
            out("mismatch", f"{arxiv_id}: index: {entry.title!r}{by}; arXiv: {told.title!r} by {people(told.authors)}")
            continue
        same = by_title.setdefault(folded(told.title), [])
        twin = next((other for other, theirs in same if same_people(told.authors, theirs) is not False), None)
        if twin is not None:
            out("duplicate_substance", f"{arxiv_id}: same title and authors as {twin}")
            continue
        same.append((arxiv_id, told.authors))
        if entry.forum_id:
            by_forum[entry.forum_id] = arxiv_id
        records[arxiv_id] = PaperRecord(
            arxiv_id=arxiv_id,
            version=version or pinned.get(arxiv_id) or told.version,
            title=told.title,
            authors=told.authors,
            abstract=told.abstract,
            forum_id=entry.forum_id or None,
            published=told.published,
            categories=told.categories,
            supplement_path=note.supplement_path if note else None,
            index_key=entry.key,
            note_number=note.number if note else None,
        )
    return tuple(records[key] for key in sorted(records)), tuple(exclusions)


def mismatches(exclusions: Iterable[Exclusion]) -> tuple[Exclusion, ...]:
    """Entries whose arXiv id leads to another paper. A corpus check fails while there are any."""
    return tuple(e for e in exclusions if e.reason == "mismatch")


def unaccounted(began: Iterable[str], ended: Iterable[str]) -> tuple[str, ...]:
    """Keys that did not end exactly once, and ends that never began; empty if the accounting is total.

    For the corpus: the entries' keys, and the records' index keys with the exclusions' keys.
    """
    starts, ends = Counter(began), Counter(ended)
    return tuple(sorted(key for key in starts | ends if not starts[key] == ends[key] == 1))
