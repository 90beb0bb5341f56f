"""References: what is cited, what the PDF prints of it, and the addresses in entries nobody cites."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from pipeline.paper.expand import Macro
from pipeline.paper.links import clean_url, urls_in_source
from pipeline.paper.notes import RawLink
from pipeline.paper.render import Renderer
from pipeline.paper.tokens import Source, tokenize

MAX_ENTRIES = 20_000
MAX_ENTRY = 8_000  # characters
MAX_UNCITED_LINKS = 1_500
_HEAD = re.compile(r"@(\w+)\s*[{(]\s*([^\s,{}()]+)\s*,")
_FIELD = re.compile(r"(?:^|[,\n])\s*([A-Za-z][\w-]*)\s*=\s*")
_BRACES = re.compile(r"\\.|[{}\"]", re.DOTALL)
_PRINTED = ("title", "journal", "booktitle", "howpublished", "note", "publisher", "year", "url")
_HIDDEN_FIELDS = frozenset(("abstract", "file", "keywords", "bdsk-url-1", "annote", "timestamp", "biburl", "pdf"))


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    source: Source
    start: int
    body: str


def entries(source: Source) -> list[Entry]:
    text = source.text
    heads = list(_HEAD.finditer(text))[:MAX_ENTRIES]
    found = []
    for k, head in enumerate(heads):
        if head[1].lower() in ("comment", "string", "preamble"):
            continue
        end = heads[k + 1].start() if k + 1 < len(heads) else len(text)
        found.append(Entry(head[2], source, head.start(), text[head.end() : min(end, head.end() + MAX_ENTRY)]))
    return found


def fields(body: str) -> dict[str, str]:
    """Field values of an entry, outer braces or quotes gone."""
    found: dict[str, str] = {}
    at = 0
    for _ in range(60):
        head = _FIELD.search(body, at)
        if head is None:
            break
        i = head.end()
        if i < len(body) and body[i] in '{"':
            quote, depth, end = body[i] == '"', 0, len(body)
            for mark in _BRACES.finditer(body, i):
                c = mark[0]
                depth += (c == "{") - (c == "}")
                if c[0] != "\\" and not depth and (not quote or (c == '"' and mark.start() > i)):
                    end = mark.start()
                    break
            value, at = body[i + 1 : end], end + 1
        else:
            stop = re.compile(r"[,}\n]").search(body, i)
            at = stop.start() if stop else len(body)
            value = body[i:at]
        found.setdefault(head[1].lower(), value.strip())
    return found


def short_label(author: str, year: str) -> str:
    """ "Cohen et al., 2018" from BibTeX fields."""
    people = re.split(r"\s+and\s+", re.sub(r"\s+", " ", author).strip())
    lasts = []
    for person in people[:3]:
        person = re.sub(r"\\[a-zA-Z]+|\\.|[{}]", "", person).strip()
        if person and person.lower() != "others":
            lasts.append(person.split(",")[0].strip() if "," in person else person.split(" ")[-1])
    if not lasts:
        return ""
    if len(people) > 2 or "others" in people:
        name = f"{lasts[0]} et al."
    else:
        name = " and ".join(lasts[:2])
    year = re.sub(r"\D", "", year)[:4]
    return f"{name}, {year}" if year else name


def bib_sources(r: Renderer) -> list[Source]:
    tex = r.tex
    named = []
    for name in dict.fromkeys(r.notes.bib_files):
        before = len(r.warnings)
        path = tex.bundle.resolve(name, (tex.folder,), (".bib", ""))
        if path is None and len(r.warnings) > before and "no such file" in r.warnings[-1]:
            r.warnings[-1] = r.warnings[-1].replace("\\input", "\\bibliography")
        if path and path not in named and path.endswith(".bib"):
            named.append(path)
    if not named and not r.notes.bib_files:
        named = [p for p in sorted(tex.bundle.files) if p.endswith(".bib") and "/._" not in "/" + p][:5]
    return [BibSource(p, tex.bundle.text(p)) for p in named]


class BibSource(Source):
    """A .bib file: located by offset, never tokenized."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text, self.tokens, self.offsets, self._lines = path, text, [], [0], None

    def line_of(self, index: int) -> int:
        return self.line_at(index)


def place_bibliography(r: Renderer) -> None:
    """Prints the references where \\bibliography stands: the .bbl if there is one, else what .bib files hold."""
    r.paragraph()
    r.notes.bibliography_at = r.pos
    bbl = find_bbl(r)
    if bbl is not None:
        if "\\entry{" in r.tex.bundle.text(bbl):
            biblatex(r, bbl)
        else:
            start_references(r)
            if r.tex.push_file(bbl):
                r.tex.frame.close = lambda: finish_references(r)
        return
    cited_from_bib(r)


def start_references(r: Renderer) -> None:
    r.paragraph()
    r.emit("## References\n\n")
    r.references_start = r.pos


def finish_references(r: Renderer) -> None:
    r.paragraph()
    r.notes.marks.append((r.references_start, r.pos, "bibliography"))


def find_bbl(r: Renderer) -> str | None:
    files = r.tex.bundle.files
    stem = posixpath.splitext(r.main)[0]
    if stem + ".bbl" in files:
        return stem + ".bbl"
    others = [p for p in sorted(files) if p.endswith(".bbl") and not posixpath.basename(p).startswith("._")]
    return others[0] if len(others) == 1 else None


def cited_from_bib(r: Renderer) -> None:
    sources = bib_sources(r)
    # citations after \bibliography (an appendix) are not known yet: the list is written at the end of the walk
    r.pending_bib = sources
    r.references_piece = len(r.out)
    r.out.append("")


def write_references(r: Renderer) -> tuple[str, list[RawLink]]:
    """The reference list of the cited .bib entries and its links, offsets relative to its start."""
    lines: list[str] = ["## References\n"]
    links: list[RawLink] = []
    at = len(lines[0]) + 1
    everything = "*" in r.notes.cited
    seen: set[str] = set()
    for source in r.pending_bib or []:
        for entry in entries(source):
            if entry.key in seen or not (everything or entry.key in r.notes.cited):
                continue
            seen.add(entry.key)
            values = fields(entry.body)
            label = short_label(
                values.get("author", values.get("editor", "")), values.get("year", values.get("date", ""))
            )
            r.notes.bib_labels.setdefault(entry.key, label or entry.key)
            shown = [plain(r, values[k]) for k in _PRINTED if values.get(k) and k != "year"]
            if not values.get("url") and values.get("doi"):
                shown.append("doi:" + values["doi"])
            line = "- " + ". ".join([label or entry.key, *[s for s in shown if s]])
            for url, raw in _links(entry.body, values):
                where = line.find(url)
                if where < 0:
                    line += f" {url}"
                    where = len(line) - len(url)
                offset = entry.start + max(source.text[entry.start :].find(raw[:40]), 0) if raw else entry.start
                links.append(
                    RawLink(
                        url,
                        raw,
                        source,
                        offset,
                        at + where,
                        at + where + len(url),
                        "bibliography",
                        True,
                        key=entry.key,
                        text=url,
                    )
                )
            lines.append(line)
            at += len(line) + 1
    if len(lines) == 1:
        return "", []
    return "\n".join(lines) + "\n\n", links


def _links(body: str, values: dict[str, str]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for name, value in values.items():
        if name in _HIDDEN_FIELDS or "." not in value:
            continue
        if name == "url":
            url = clean_url(value)
            if url:
                found.setdefault(url, value)
        else:
            for url, raw in urls_in_source(value[:4_000]):
                found.setdefault(url, raw)
    return list(found.items())


def plain(r: Renderer, value: str) -> str:
    """A field's text without its TeX."""
    if "\\" not in value and "{" not in value and "$" not in value:
        return re.sub(r"\s+", " ", value).strip()
    urls = re.sub(r"\\url\s*\{([^{}]*)\}", lambda m: clean_url(m[1]) or m[1], value)
    out = []
    for token in tokenize(urls[:2_000]):
        if token[0] == "\\":
            meaning = r.tex.table.get(token)
            out.append(
                meaning if isinstance(meaning, str) else r.tex.flat(meaning.body) if isinstance(meaning, Macro) else ""
            )
        elif token not in "{}$":
            out.append(" " if token == "~" else token)
    return re.sub(r"\s+", " ", "".join(out)).strip()


def uncited_links(r: Renderer) -> list[RawLink]:
    """Addresses in .bib entries that nothing visible cites: leads, not claims."""
    if "*" in r.notes.cited:
        return []
    found: list[RawLink] = []
    for source in r.pending_bib if r.pending_bib is not None else bib_sources(r):
        for entry in entries(source):
            if entry.key in r.notes.cited or ("://" not in entry.body and "www." not in entry.body):
                continue
            for url, raw in _links(entry.body, fields(entry.body)):
                offset = source.text.find(raw[:60], entry.start)
                line = " ".join(entry.body.split())[:400]
                found.append(
                    RawLink(
                        url,
                        raw,
                        source,
                        max(offset, entry.start),
                        -1,
                        -1,
                        "bibliography",
                        False,
                        key=entry.key,
                        sentence=line,
                    )
                )
                if len(found) >= MAX_UNCITED_LINKS:
                    return found
    return found


def bibitem(r: Renderer, token: str) -> None:
    label = r.tex.optional()
    key = r.tex.flat(r.tex.argument()).strip()
    r.paragraph()
    r.bib_count += 1
    r.bib_starts.append((r.pos, key))
    shown = str(r.bib_count)
    if label:
        text = re.sub(r"\\[a-zA-Z]+\s?|[{}]", "", r.tex.flat(label).replace("~", " ")).strip()
        year = re.match(r"(.*?)\((\d{4}\w?|[^)]{0,12})\)", text, re.DOTALL)
        shown = f"{year[1].strip()}, {year[2]}" if year and year[1].strip() else text or shown
    r.notes.bib_labels.setdefault(key, re.sub(r"\s+", " ", shown)[:120])
    r.emit(f"- [{r.notes.bib_labels[key]}] ")
    r.space = True


def begin_thebibliography(r: Renderer, token: str) -> None:
    r.tex.argument()
    if r.notes.bibliography_at < 0:
        r.notes.bibliography_at = r.pos
        start_references(r)
        r.open_env("thebibliography", lambda: finish_references(r))
        return
    r.open_env("thebibliography")


def biblatex(r: Renderer, path: str) -> None:
    """biblatex's .bbl is data, not text: title, year and address of each entry."""
    text = r.tex.bundle.text(path)
    source = BibSource(path, text)
    start_references(r)
    for chunk in re.finditer(r"\\entry\{([^{}]+)\}(.{0,6000}?)\\endentry", text, re.DOTALL):
        key, body = chunk[1], chunk[2]
        title = re.search(r"\\field\{title\}\{(.*?)\}\s*\n", body)
        year = re.search(r"\\field\{year\}\{(\d+)\}", body)
        family = re.findall(r"family=\{?([^{},]+)\}?", body)
        label = short_label(" and ".join(f"{f}, X" for f in family[:4]), year[1] if year else "")
        r.notes.bib_labels.setdefault(key, label or key)
        r.bib_starts.append((r.pos, key))
        r.emit(f"- {label or key}. {plain(r, title[1]) if title else ''} ")
        for found in re.finditer(r"\\verb\{url\}\s*\\verb (\S+)", body):
            start = r.pos
            url = clean_url(found[1])
            if url:
                r.emit(url)
                r.notes.links.append(
                    RawLink(url, found[1], source, chunk.start(), start, r.pos, "bibliography", key=key, text=url)
                )
        r.line()
    finish_references(r)
