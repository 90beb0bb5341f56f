"""From an index of accepted papers to `papers`: those with a well-formed arXiv id, each once, with arXiv's metadata.

Every entry of the index ends in exactly one place, a record or an exclusion (`unaccounted` checks it). What could not
be determined is an exclusion too, but one to be tried again, never a statement that something does not exist.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from urllib.parse import parse_qs, urlsplit


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
    """What OpenReview says about one forum. `supplement_path`: its attachment, None where the note names none."""

    forum_id: str
    title: str
    authors: tuple[str, ...] = ()
    supplement_path: str | None = None


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
) -> tuple[tuple[PaperRecord, ...], tuple[Exclusion, ...]]:
    """The corpus: records by arXiv id, and exclusions in index order.

    `metadata`: by version-less id; None says that arXiv answered and does not know the id, a missing key that it has
    not answered yet. `notes`: by forum id, the only way a supplement is joined to a paper. `pinned`: versions that an
    earlier build has fixed. The first of several entries for one paper counts.
    """
    notes, pinned = notes or {}, pinned or {}
    records: dict[str, PaperRecord] = {}
    exclusions: list[Exclusion] = []
    by_forum: dict[str, str] = {}
    by_title: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for entry in entries:
        found = valid_arxiv_id(entry.arxiv_id) if entry.arxiv_id else None

        def out(reason: str, detail: str, entry: IndexEntry = entry) -> None:
            exclusions.append(Exclusion(key=entry.key, title=entry.title, stage="corpus", reason=reason, detail=detail))

        if not entry.arxiv_id or not entry.arxiv_id.strip():
            out("no_arxiv_id", "the index names no arXiv id")
            continue
        if found is None:
            out("malformed_arxiv_id", f"{entry.arxiv_id[:80]!r} is no arXiv id")
            continue
        arxiv_id, version = found
        note = notes.get(entry.forum_id) if entry.forum_id else None
        authors = entry.authors or (note.authors if note else ())
        if arxiv_id in records:
            out("duplicate_arxiv_id", f"{arxiv_id}: same arXiv id as {records[arxiv_id].index_key}")
            continue
        if entry.forum_id and entry.forum_id in by_forum:
            out("duplicate_forum", f"{arxiv_id}: same OpenReview forum as {by_forum[entry.forum_id]}")
            continue
        if arxiv_id not in metadata:
            out(UNDETERMINED, f"arXiv has not answered for {arxiv_id}; build again to ask it once more")
            continue
        told = metadata[arxiv_id]
        if told is None:
            out("unknown_to_arxiv", f"arXiv answered and knows no {arxiv_id}")
            continue
        if not titles_agree(entry.title, told.title, authors, told.authors):
            by = f" by {_people(authors)}" if authors else " (no authors known)"
            out("mismatch", f"{arxiv_id}: index: {entry.title!r}{by}; arXiv: {told.title!r} by {_people(told.authors)}")
            continue
        same = by_title.setdefault(folded(told.title), [])
        twin = next((other for other, people in same if _same_people(told.authors, people) is not False), None)
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


# ------------------------------------------------------------------------------------------------ titles and authors

SAME_TITLE = 0.90
"""Titles this similar are the same where nothing else is known. Foreign pairs of the published pool stay below 0.8."""
SAME_AUTHORS = 0.6
"""Share of the longer author list that both lists hold, from which a renamed title is believed."""
SHARED_WORDS = 0.25
"""Share of the shorter title's telling words that a renamed paper keeps: one group writes several papers a year."""

_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at beyond by can do does for from how in into is it its more not of on or over that the to "
        "toward towards via what when which why with without we you your one two all using based learning model models "
        "method",
    )
)


def titles_agree(a: str, b: str, authors_a: Sequence[str] = (), authors_b: Sequence[str] = ()) -> bool:
    """Whether two titles name one paper.

    Equal or nearly equal titles agree unless both author lists are known and share nobody. Renamed ones agree if the
    lists are largely the same and the titles still share a telling word. Without authors only near equality counts.
    """
    same = _same_people(authors_a, authors_b)
    near = title_similarity(a, b) >= SAME_TITLE
    if same is None:
        return near
    if near:
        return same
    most = max(len(set(authors_a)), len(set(authors_b)))
    return _shared(authors_a, authors_b) >= SAME_AUTHORS * most and _word_overlap(a, b) >= SHARED_WORDS


def folded(text: str) -> str:
    """A title as it is compared: no case, accents, TeX, punctuation or spacing."""
    text = re.sub(r"\\[a-zA-Z]+|[${}\\^_]", " ", text)
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", plain))


def title_similarity(a: str, b: str) -> float:
    """0 … 1, of the folded titles."""
    one, two = folded(a), folded(b)
    if not one or not two:
        return 0.0
    return SequenceMatcher(None, one, two, autojunk=False).ratio()


def _words(title: str) -> set[str]:
    # A crude stem, so that "generative" and "generation", "model" and "models" meet.
    return {word[:6] for word in folded(title).split() if word not in _STOP and len(word) > 2}


def _word_overlap(a: str, b: str) -> float:
    one, two = _words(a), _words(b)
    return len(one & two) / min(len(one), len(two)) if one and two else 0.0


def _same_people(a: Sequence[str], b: Sequence[str]) -> bool | None:
    """Whether two author lists share anybody; None where either is unknown."""
    if not a or not b:
        return None
    return _shared(a, b) > 0


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    left = [_name(author) for author in b]
    count = 0
    for author in map(_name, a):
        match = next((k for k, other in enumerate(left) if _same_name(author, other)), None)
        if match is not None:
            del left[match]
            count += 1
    return count


def _name(author: str) -> tuple[str, ...]:
    return tuple(folded(author.replace("-", " ").replace(".", " ")).split())


def _same_name(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Every part of the shorter name is in the longer one, as a word or an initial, and at least one as a word.

    Order does not count: "Rao, Jackie", "Wei Wang" for "Wang Wei".
    """
    short, long = sorted((a, b), key=len)
    rest = list(long)
    words = 0
    for part in sorted(short, key=len, reverse=True):
        whole = next((r for r in rest if r == part), None)
        if whole is None:
            whole = next((r for r in rest if 1 in (len(r), len(part)) and r[0] == part[0]), None)
            if whole is None:
                return False
        elif len(part) > 1:
            words += 1
        rest.remove(whole)
    return words > 0


def _people(authors: Sequence[str]) -> str:
    return ", ".join(authors[:3]) + (" et al." if len(authors) > 3 else "") if authors else "nobody"
