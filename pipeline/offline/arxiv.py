"""arXiv: the query API (Atom), source packages, and its pages.

Form of the feed: info.arxiv.org/help/api/user-manual, and the fixtures of lukasschwab/arxiv.py.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape

from pipeline.offline.content import Held, minimal_pdf, packed_gzip, packed_tar_gz, sha256
from pipeline.offline.values import Paper, World
from pipeline.offline.wire import UNREACHABLE, Answer, Call, Failures, Fault, as_html

HOSTS = frozenset({"arxiv.org", "export.arxiv.org", "www.arxiv.org"})
_ID = re.compile(r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v(\d+))?")
_TERM = re.compile(r'\s*(ANDNOT|AND|OR)?\s*\(?\s*(?:(ti|au|abs|co|cat|all|id):)?("[^"]*"|[^\s()]+)\)?')
_WORD = re.compile(r"[^\W_]+")


def answer(world: World, call: Call, failures: Failures) -> Answer | Fault:
    match call.segments:
        case ["api", "query"]:
            return _query(world, call)
        case ["src" | "e-print" | "abs" | "pdf" as kind, *name]:
            return _paper_answer(world, kind, "/".join(name).removesuffix(".pdf"))
    return UNREACHABLE


def _query(world: World, call: Call) -> Answer:
    asked = [part.strip() for part in call.arg("id_list").split(",") if part.strip()]
    for name in asked:
        if _ID.fullmatch(name) is None:
            return _malformed(call, name)
    query = call.arg("search_query")
    papers = [paper for name in asked if (paper := _known(world, name)) is not None]
    if query.strip():
        listed = papers if asked else [world.papers[key] for key in sorted(world.papers)]
        papers = [paper for paper in listed if _matches(paper, query)]
    start, size = call.number("start", 0, 1 << 30), call.number("max_results", 10, 2000)
    entries = "".join(_entry(paper) for paper in papers[start : start + size])
    return _feed(world, call, entries, len(papers), start, size)


def _known(world: World, name: str) -> Paper | None:
    match = _ID.fullmatch(name)
    paper = world.papers.get(match[1]) if match else None
    if paper is None or match is None or int(match[2] or 1) > paper.facts.version:
        return None
    return paper


def _matches(paper: Paper, query: str) -> bool:
    """Terms joined left to right by AND (also when unsaid), OR, ANDNOT."""
    holds = True
    for position, (joint, field, term) in enumerate(_TERM.findall(query)):
        here = _holds(paper, field or "all", term.strip('"'))
        if position == 0:
            holds = here
        elif joint == "OR":
            holds = holds or here
        else:
            holds = holds and (not here if joint == "ANDNOT" else here)
    return holds


def _holds(paper: Paper, field: str, term: str) -> bool:
    told = paper.facts
    if field == "cat":
        return term in told.categories
    if field == "id":
        return term == told.arxiv_id
    texts = {"ti": told.title, "au": ", ".join(told.authors), "abs": told.abstract, "co": told.comment or ""}
    words = _words(texts.get(field) or " ".join(texts.values()) if field == "all" else texts.get(field, ""))
    phrase = _words(term.replace("_", " "))
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words) - len(phrase) + 1))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _feed(world: World, call: Call, entries: str, total: int, start: int, size: int, status: int = 200) -> Answer:
    day = world.facts.as_of
    when = _stamp(datetime(day.year, day.month, day.day, tzinfo=UTC))
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom"'
        ' xmlns="http://www.w3.org/2005/Atom">\n'
        f"  <id>https://arxiv.org/api/{sha256(Held(call.url.encode()))[:27]}</id>\n"
        f"  <title>arXiv Query: {escape(call.url.partition('?')[2])}</title>\n"
        f"  <updated>{when}</updated>\n"
        f'  <link href="{escape(call.url)}" type="application/atom+xml"/>\n'
        f"  <opensearch:itemsPerPage>{size}</opensearch:itemsPerPage>\n"
        f"  <opensearch:totalResults>{total}</opensearch:totalResults>\n"
        f"  <opensearch:startIndex>{start}</opensearch:startIndex>\n"
        f"{entries}</feed>\n"
    )
    return Answer(status, Held(body.encode()), (("Content-Type", "application/atom+xml; charset=utf-8"),))


def _malformed(call: Call, name: str) -> Answer:
    """One malformed id spoils the whole batch; its error entry has no `published`."""
    link = f"https://arxiv.org/api/errors#incorrect_id_format_for_{escape(name)}"
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns="http://www.w3.org/2005/Atom">\n'
        f"  <title>arXiv Query: {escape(call.url.partition('?')[2])}</title>\n"
        "  <opensearch:totalResults>1</opensearch:totalResults>\n"
        f"  <entry>\n    <id>{link}</id>\n    <title>Error</title>\n"
        f"    <summary>incorrect id format for {escape(name)}</summary>\n"
        f'    <link href="{link}" rel="alternate" type="text/html"/>\n  </entry>\n</feed>\n'
    )
    return Answer(400, Held(body.encode()), (("Content-Type", "application/atom+xml; charset=utf-8"),))


def _entry(paper: Paper) -> str:
    told = paper.facts
    versioned = f"{told.arxiv_id}v{told.version}"
    authors = "".join(f"    <author>\n      <name>{escape(name)}</name>\n    </author>\n" for name in told.authors)
    scheme = 'scheme="http://arxiv.org/schemas/atom"'
    categories = "".join(f'    <category term="{escape(term)}" {scheme}/>\n' for term in told.categories)
    comment = f"    <arxiv:comment>{escape(told.comment)}</arxiv:comment>\n" if told.comment else ""
    return (
        "  <entry>\n"
        f"    <id>http://arxiv.org/abs/{versioned}</id>\n"
        f"    <title>{escape(told.title)}</title>\n"
        f"    <updated>{_stamp(told.updated or told.published)}</updated>\n"
        f'    <link href="https://arxiv.org/abs/{versioned}" rel="alternate" type="text/html"/>\n'
        f'    <link href="https://arxiv.org/pdf/{versioned}" rel="related" type="application/pdf" title="pdf"/>\n'
        f"    <summary>{escape(told.abstract)}</summary>\n"
        f"{categories}"
        f"    <published>{_stamp(told.published)}</published>\n"
        f"{comment}"
        f'    <arxiv:primary_category term="{escape(told.categories[0])}"/>\n'
        f"{authors}"
        "  </entry>\n"
    )


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _paper_answer(world: World, kind: str, name: str) -> Answer | Fault:
    match = _ID.fullmatch(name)
    if match is None:
        return as_html("Invalid identifier", f"<p>Invalid arXiv identifier '{escape(name)}'</p>", 400)
    if match[1] not in world.papers:
        return UNREACHABLE
    paper = _known(world, name)
    if paper is None:
        return as_html("Not found", f"<p>No version {match[2]} of {match[1]}</p>", 404)
    told = paper.facts
    if kind in {"src", "e-print"}:
        return _PACKS[told.pack](paper)
    if kind == "pdf":
        return _pdf(paper)
    authors, comment = escape(", ".join(told.authors)), escape(told.comment or "")
    page = f"<h1>{escape(told.title)}</h1>\n<p>{authors}</p>\n<p>{escape(told.abstract)}</p>\n<p>{comment}</p>"
    return as_html(escape(f"[{told.arxiv_id}] {told.title}"), page)


def _package(paper: Paper, body: bytes, suffix: str) -> Answer:
    name = f'attachment; filename="arXiv-{paper.arxiv_id}v{paper.facts.version}{suffix}"'
    tag = f'"sha256:{sha256(Held(body))}"'
    headers = (("Content-Type", "application/gzip"), ("Content-Disposition", name), ("ETag", tag))
    return Answer(200, Held(body), headers, ranges=True)


def _tar(paper: Paper) -> Answer:
    return _package(paper, packed_tar_gz(paper.source), ".tar.gz")


def _single(paper: Paper) -> Answer:
    """A submission of one file arrives as that file, gzipped, under no name."""
    name = min(paper.source, key=lambda path: (not path.endswith(".tex"), path), default=None)
    return _package(paper, packed_gzip(paper.source[name] if name else Held(b"")), ".gz")


def _pdf(paper: Paper) -> Answer:
    body = minimal_pdf(paper.facts.title)
    return Answer(200, Held(body), (("Content-Type", "application/pdf"),), ranges=True)


def _page_only(paper: Paper) -> Answer:
    return as_html(escape(paper.facts.title), f"<p>Source of {paper.arxiv_id} is HTML.</p>")


def _no_source(paper: Paper) -> Answer:
    return as_html("No source", f"<p>No source is available for {paper.arxiv_id}.</p>", 404)


_PACKS: dict[str, Callable[[Paper], Answer]] = {
    "tar.gz": _tar,
    "gzip": _single,
    "pdf": _pdf,
    "html": _page_only,
    "missing": _no_source,
}
