"""Title, abstract, headings, footnotes, references, counters: the commands that give a paper its shape."""

from __future__ import annotations

import re

from pipeline.paper import bibliography as bib
from pipeline.paper import floats, symbols
from pipeline.paper.expand import Macro
from pipeline.paper.notes import Heading
from pipeline.paper.render import Renderer

LEVELS = {"part": 1, "chapter": 1, "section": 1, "subsection": 2, "subsubsection": 3, "paragraph": 4, "subparagraph": 4}
_APPENDIX = re.compile(r"^\s*(?:appendix|appendices|supplement(?:ary|al)?\b|technical appendi)", re.IGNORECASE)


def begin_document(r: Renderer, token: str) -> None:
    if r.body:
        return
    r.body = True
    if r.buffers:
        r.close_buffer()
    r.space = True
    r.math = False
    r.groups.clear()
    r.waiting = 0
    r.envs.clear()
    r.cell = None


def end_document(r: Renderer, token: str) -> None:
    if r.envs and any(e.name.startswith("subdoc") for e in r.envs):
        return
    tex = r.tex
    if sum(f.source is not None for f in (*tex.frames, tex.frame)) > 1:  # a \subfile's own end
        tex.end_file()
        return
    tex.end_file()
    r.ended = True


def heading(r: Renderer, token: str) -> None:
    name = token[1:].rstrip("*")
    level = LEVELS[name]
    if r.math or r.buffers:
        r.tex.optional()
        r.group(None)
        return
    starred = token.endswith("*") or r.tex.star()
    r.tex.optional()
    number = "" if starred or level == 4 else section_number(r, level)
    r.here_number = number
    r.label_sink = None
    r.paragraph()
    start = r.pos
    r.emit("#" * (level + 1) + " " + (number + " " if number else ""))
    pieces = len(r.out)
    r.space = True

    def close() -> None:
        title = r.tail(pieces)
        if _APPENDIX.match(title) and level == 1:
            mark_appendix(r, start)
        r.notes.headings.append(Heading(title, start, level, r.appendix, number))
        r.paragraph()

    r.group(close)


def section_number(r: Renderer, level: int) -> str:
    names = ("section", "subsection", "subsubsection")[:level]
    value = int(r.step(names[-1]))
    for lower in ("section", "subsection", "subsubsection")[level:]:
        r.counters[lower] = 0
    if level == 1:
        for counter in ("table", "figure", "equation"):
            if counter in r.within:
                r.counters[counter] = 0
        r.here_section = chr(64 + value) if r.appendix and 1 <= value <= 26 else str(value)
    parts = [r.here_section] + [str(r.counters.get(n, 0)) for n in names[1:]]
    return ".".join(parts)


def mark_appendix(r: Renderer, at: int) -> None:
    if not r.appendix and not r.buffers:
        r.appendix = True
        r.notes.appendix_at = at


def appendix(r: Renderer, token: str) -> None:
    if not r.body:
        return
    mark_appendix(r, r.pos)
    r.counters["section"] = 0
    if token.startswith("\\begin"):
        r.open_env("appendices")


def begin_abstract(r: Renderer, token: str) -> None:
    r.tex.optional()
    if not r.body:
        begin_early_abstract(r)
        return
    r.paragraph()
    r.emit("## Abstract\n\n")
    start = r.pos

    def end() -> None:
        r.notes.marks.append((start, r.pos, "abstract"))
        r.paragraph()

    r.open_env("abstract", end)


def begin_early_abstract(r: Renderer) -> None:
    """An abstract before \\begin{document}: rendered where \\maketitle would put it, that is, first."""
    begin_document(r, "")
    r.body = False
    r.emit("## Abstract\n\n")
    start = r.pos

    def end() -> None:
        r.notes.marks.append((start, r.pos, "abstract"))
        r.paragraph()
        r.body = False
        r.open_buffer()

    r.body = True
    r.open_env("abstract", end)


def abstract(r: Renderer, token: str) -> None:
    ahead = r.tex.skip_space()
    if ahead != "{":
        if r.body and ahead is not None and ahead[0].isalpha():
            begin_abstract(r, token)
        return
    if r.buffers and not r.body:
        begin_early_abstract(r)
    else:
        begin_abstract(r, token)
    r.group(lambda: r.close_env("abstract"))
    if r.envs and r.envs[-1].name == "abstract":
        r.envs[-1].groups = len(r.groups) - 1


def title(r: Renderer, token: str) -> None:
    r.tex.star()
    r.tex.optional()
    front_matter(r, "\x02title", r.titles)


def author(r: Renderer, token: str) -> None:
    r.tex.optional()
    front_matter(r, "\x02author", r.authors)


def front_matter(r: Renderer, name: str, into: list[str]) -> None:
    r.open_buffer()
    first = len(r.front_links)
    r.open_env(name)
    env = r.envs[-1]

    def close() -> None:
        text = re.sub(r"\s+", " ", r.close_buffer()).strip()
        for link in r.front_links[first:]:
            link.place = link.place or "title"
        into.append(text)
        if env in r.envs:
            del r.envs[r.envs.index(env) :]

    r.group(close)
    env.groups = len(r.groups)


def thanks(r: Renderer, token: str) -> None:
    r.tex.optional()
    footnote_like(r, "thanks")


def keywords(r: Renderer, token: str) -> None:
    """A block of their own: many classes want them at the end of the abstract, where they are no sentence's end."""
    r.paragraph()
    r.emit("Keywords: ")
    r.group(r.paragraph) if r.tex.skip_space() == "{" else None


def footnote(r: Renderer, token: str) -> None:
    r.tex.optional()
    footnote_like(r, "footnote")


def footnote_like(r: Renderer, place: str) -> None:
    restore = r.in_text()
    r.blank() if place == "thanks" else None
    start = r.pos
    first, front = len(r.notes.links), len(r.front_links)
    r.emit(" [Footnote: " if place == "footnote" and not r.space else "[Footnote: " if place == "footnote" else "[")
    r.space = True

    def close() -> None:
        if r.out and r.out[-1].endswith((" ", "\n")):
            last = r.out.pop()
            r.pos -= len(last) - len(last.rstrip())
            r.out.append(last.rstrip())
        r.emit("]")
        if not r.buffers:
            r.notes.marks.append((start, r.pos, place))
        for link in (*r.notes.links[first:], *r.front_links[front:]):
            if r.buffers and not link.place:
                link.place = place
        restore()

    r.group(close)


def label(r: Renderer, token: str) -> None:
    key = r.tex.flat(r.tex.argument()).strip()
    if not key:
        return
    r.notes.labels.setdefault(key, r.here_number)
    if r.floats:
        floating: floats.Float = r.floats[-1]
        if floating.items:
            item = floating.items[-1]
            item.label = item.label or key
            r.notes.labels[key] = item.number
        floating.labels.append(key)
    elif r.label_sink is not None:
        r.label_sink(key)


REFERENCE_NAMES = {
    "sec": "Section",
    "tab": "Table",
    "tbl": "Table",
    "fig": "Figure",
    "eq": "Equation",
    "alg": "Algorithm",
    "app": "Appendix",
}


def ref(r: Renderer, token: str) -> None:
    r.tex.star()
    keys = r.tex.flat(r.tex.argument()).split(",")
    named = token.rstrip("*") in ("\\cref", "\\Cref", "\\autoref", "\\Autoref", "\\fullref")
    shown = []
    for key in keys[:20]:
        key = key.strip().replace("\x00", "")
        shown.append(f"\x00{'n' if named else '(' if token == chr(92) + 'eqref' else '-'}{key}\x00")
    r.emit(", ".join(shown))


def cite(r: Renderer, token: str) -> None:
    r.tex.star()
    before = r.tex.optional()
    after = r.tex.optional()
    if after is None:
        before, after = None, before
    keys = [k.strip() for k in r.tex.flat(r.tex.argument()).split(",") if k.strip()][:60]
    for key in keys:
        r.notes.cited.setdefault(key)
    if token == "\\nocite" or not keys:
        return
    style = (
        "t"
        if "t" in token[5:7] and "cite" in token[:6] and token.lower().rstrip("*").endswith(("t", "textcite", "talt"))
        else "p"
    )
    if token.lower().startswith(("\\textcite", "\\citeauthor", "\\newcite")):
        style = "t"
    lead = r.tex.flat(before).strip() + " " if before else ""
    trail = ", " + r.tex.flat(after).strip() if after and r.tex.flat(after).strip() else ""
    if style == "p":
        r.blank() if r.out and r.out[-1][-1:].isalnum() else None
    r.emit(f"\x01{style}{lead}\x01{','.join(keys)}\x01{trail}\x01")


def bibliography(r: Renderer, token: str) -> None:
    r.tex.optional()
    if token == "\\bibliography":
        r.notes.bib_files += [n.strip() for n in r.tex.flat(r.tex.argument()).split(",") if n.strip()]
    if r.notes.bibliography_at < 0 and not r.buffers:
        bib.place_bibliography(r)


def add_resource(r: Renderer, token: str) -> None:
    r.tex.optional()
    r.notes.bib_files.append(re.sub(r"\.bib$", "", r.tex.flat(r.tex.argument()).strip()))


def setcounter(r: Renderer, token: str) -> None:
    name = r.tex.flat(r.tex.argument()).strip()
    value = r.tex.flat(r.tex.argument()).strip()
    if re.fullmatch(r"-?\d{1,6}", value):
        r.counters[name] = int(value) + (r.counters.get(name, 0) if token == "\\addtocounter" else 0)


def stepcounter(r: Renderer, token: str) -> None:
    r.step(r.tex.flat(r.tex.argument()).strip())


def numberwithin(r: Renderer, token: str) -> None:
    r.tex.star()
    r.tex.optional()
    counter = r.tex.flat(r.tex.argument()).strip()
    outer = r.tex.flat(r.tex.argument()).strip()
    if counter in ("table", "figure") and outer == "section":
        r.within.add(counter)
        r.tex.table["\\the" + counter] = Macro(counter, 0, None, ["\\thesection", ".", "\\arabic", "{", counter, "}"])


def icml_author(r: Renderer, token: str) -> None:
    name = r.tex.flat(r.tex.argument()).strip()
    r.tex.argument()
    r.authors.append(name)


def subfloat(r: Renderer, token: str) -> None:
    text = r.tex.optional()
    if text and r.floats:
        floating: floats.Float = r.floats[-1]
        floating.sub += 1
        r.blank()
        r.emit(f"({chr(96 + min(floating.sub, 26))}) ")
        r.tex.push(["{", *text, "}", " "])
    # the content that follows is an ordinary group


def begin_float(r: Renderer, token: str) -> None:
    name = token[7:-1]
    r.tex.skip(symbols.ENVIRONMENT_ARGUMENTS.get(name, "o"))
    floats.open_float(r, name)
    r.open_env(name, lambda: floats.close_float(r, name))
