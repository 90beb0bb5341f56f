"""Finding papers in a local snapshot of arXiv's metadata: one JSON object a line, as Kaggle hands it out.

Read in place by DuckDB: by title, then by authors for entries whose title it does not hold. What comes back are
candidates; which of them is the paper, `pipeline.corpus.found_among` decides. Keys here are wider than its rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb

from pipeline.corpus import ArxivMetadata, IndexEntry, found_among, valid_arxiv_id
from pipeline.sources.trouble import FetchError
from pipeline.titles import FOUND_AT_LEAST, STOP

SNAPSHOT = "RECLAIM_ARXIV_SNAPSHOT"
SHARE = 0.5
"""Share of the longer author list from which a paper is a candidate; `titles.SAME_AUTHORS` asks for more."""

# Accents, TeX, case and punctuation do not count, as in `titles.folded`; one macro folds both sides.
_FOLD = r"""
create macro fold(text) as trim(regexp_replace(regexp_replace(
    strip_accents(lower(text)), '\\[a-z]+|[${}\\^_]', ' ', 'g'), '[^\p{L}\p{N}]+', ' ', 'g'))
"""
_PAPERS = """
create view papers as select id, title, authors_parsed, versions from read_json(
    $path, format = 'newline_delimited', maximum_object_size = 33554432,
    columns = {id: 'VARCHAR', title: 'VARCHAR', authors_parsed: 'VARCHAR[][]',
               versions: 'STRUCT(version VARCHAR, created VARCHAR)[]'})
"""
_BY_TITLE = """
select w.key, p.id, p.title, p.authors_parsed, p.versions
from papers p join wanted w on fold(p.title) = fold(w.title) where fold(w.title) <> ''
"""
# A person is known by surname and initial, in either order of the name's parts. Common names are shared by thousands of
# papers, so persons are looked for together with a telling word of the title: a renamed paper keeps two.
_WORDS = """
create macro words(title) as list_distinct([left(word, 6) for word in string_split(fold(title), ' ')
                                            if len(word) > 2 and not list_contains($stop, word)])
"""
_BY_AUTHORS = """
with people as (
    select key, place, unnest([fold(last) || ' ' || left(fold(first), 1),
                               fold(first) || ' ' || left(fold(last), 1)]) as person
    from authors),
named as (select key, count(distinct place) as many from authors group by key),
asked as (
    select p.key, p.place, p.person, w.word
    from people p join (select key, unnest(words(title)) as word from wanted) w using (key)),
listed as (
    select id, words(title) as words,
           unnest(list_distinct([list_last(string_split(fold(a[1]), ' ')) || ' ' || left(fold(a[2]), 1)
                                 for a in authors_parsed])) as person
    from papers),
told as (
    select id, person, unnest(words) as word from listed where person in (select person from people)),
shared as (
    select a.key, t.id, count(distinct a.place) as people, count(distinct a.word) as words
    from told t join asked a using (person, word) group by a.key, t.id)
select s.key, p.id, p.title, p.authors_parsed, p.versions
from shared s join named n using (key) join papers p on p.id = s.id
where s.words >= $words and s.people >= $share * greatest(n.many, len(p.authors_parsed))
"""


def candidates(path: Path, entries: Sequence[IndexEntry]) -> dict[str, tuple[ArxivMetadata, ...]]:
    """Papers of the snapshot that may be an entry's, by entry key; every entry has its answer.

    Raises `FetchError` where the file is not there, is damaged or holds nothing: silence would read as "not on arXiv".
    """
    if not path.is_file():
        raise FetchError(f"arXiv snapshot {path}: no such file; correct live.arxiv_snapshot or {SNAPSHOT}")
    connection = duckdb.connect()
    try:
        connection.execute(_FOLD)
        connection.execute(_WORDS.replace("$stop", str(sorted(STOP))))
        connection.execute(_PAPERS.replace("$path", "'" + str(path).replace("'", "''") + "'"))
        _lend(connection, "wanted", [{"key": e.key, "title": e.title} for e in entries], ("key", "title"))
        found = _candidates(connection.execute(_BY_TITLE).fetchall())
        open_ = [e for e in entries if e.authors and found_among(e, found.get(e.key, ())).outcome == "none"]
        if open_:
            _lend(connection, "authors", _authors(open_), ("key", "place", "first", "last"))
            for key, more in _candidates(
                connection.execute(_BY_AUTHORS, {"share": SHARE, "words": FOUND_AT_LEAST}).fetchall()
            ).items():
                found[key] = (*found.get(key, ()), *more)
        if not found and connection.execute("select count(*) from papers").fetchone() == (0,):
            raise FetchError(f"arXiv snapshot {path}: it holds no papers; fetch it again")
    except duckdb.Error as error:
        first = str(error).splitlines()[0][:200]
        raise FetchError(f"arXiv snapshot {path}: cannot be read as one JSON object a line ({first})") from error
    finally:
        connection.close()
    return {entry.key: found.get(entry.key, ()) for entry in entries}


def _lend(
    connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Mapping[str, str]], columns: Sequence[str]
) -> None:
    taken = ", ".join(f"unnest(${column}::varchar[]) as {column}" for column in columns)
    told = {column: [row[column] for row in rows] for column in columns}
    connection.execute(f"create table {name} as select {taken}", told)


def _authors(entries: Iterable[IndexEntry]) -> list[dict[str, str]]:
    """First and last word of every author's name; a name of one word is a surname without an initial."""
    rows = []
    for entry in entries:
        for place, name in enumerate(dict.fromkeys(entry.authors)):
            words = name.replace("-", " ").replace(".", " ").split() or [""]
            rows.append({"key": entry.key, "place": str(place), "first": words[0], "last": words[-1]})
    return rows


def _candidates(rows: Iterable[Sequence[object]]) -> dict[str, tuple[ArxivMetadata, ...]]:
    found: dict[str, list[ArxivMetadata]] = {}
    for key, id_, title, authors, versions in rows:
        parsed = valid_arxiv_id(str(id_))
        if parsed is not None:
            told = ArxivMetadata(
                arxiv_id=parsed[0],
                version=_newest(versions),
                title=" ".join(str(title).split()),
                authors=tuple(_person(parts) for parts in (authors if isinstance(authors, list) else ())),
            )
            found.setdefault(str(key), []).append(told)
    return {key: tuple(sorted(told, key=lambda one: one.arxiv_id)) for key, told in found.items()}


def _person(parts: Sequence[object]) -> str:
    """`[last, first, suffix, …]` as one name."""
    last, first, *_ = [*(str(part or "") for part in parts), "", ""]
    return f"{first} {last}".strip()


def _newest(versions: object) -> int:
    numbers = [str(v["version"]).removeprefix("v") for v in versions] if isinstance(versions, list) else []
    return max((int(number) for number in numbers if number.isdecimal()), default=1)
