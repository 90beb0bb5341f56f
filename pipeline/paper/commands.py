"""What each command does to the text: the dispatch table the renderer starts with."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from pipeline.paper import bibliography as bib
from pipeline.paper import floats, symbols
from pipeline.paper.expand import Macro, Tokens
from pipeline.paper.links import clean_url
from pipeline.paper.render import Handler, Heading, Renderer, accent
from pipeline.paper.tables import begin_tabular

LEVELS = {"part": 1, "chapter": 1, "section": 1, "subsection": 2, "subsubsection": 3, "paragraph": 4, "subparagraph": 4}
_APPENDIX = re.compile(r"^\s*(?:appendix|appendices|supplement(?:ary|al)?\b|technical appendi)", re.IGNORECASE)
_CONFERENCE_STYLE = re.compile(
    r"^(?:neurips|nips|iclr|icml|acl|emnlp|naacl|cvpr|iccv|eccv|aaai|ijcai|colm|tmlr|jmlr|llncs|acmart|ieee|natbib|fancyhdr|algorithm"
    r"|corl|wacv|bmvc|aistats|uai|hyperref|cleveref|eso-pic|times|rlc|colt|elsart|arxiv|interspeech|collas|spconf|titlesec)",
    re.IGNORECASE,
)


# -- definitions


def newcommand(r: Renderer, token: str) -> None:
    tex = r.tex
    tex.star()
    target = tex.argument()
    name = next((t for t in target if t[0] == "\\"), "")
    count = tex.optional()
    default = tex.optional() if count is not None else None
    digits = "".join(count or []).strip()
    body = tex.argument()
    if name:
        params = int(digits) if digits.isdigit() and len(digits) == 1 else 0
        tex.define(name, params, default, body, provide=token.startswith("\\providecommand"))


def definition(r: Renderer, token: str) -> None:
    name = r.tex.next()
    if name and name[0] == "\\":
        r.tex.define_tex(name)


def let(r: Renderer, token: str) -> None:
    tex = r.tex
    name = tex.next()
    source = tex.next()
    if source is not None and source[0] == "=":
        rest = source[1:].lstrip()
        source = rest or tex.next()
    if not name or not source or name[0] != "\\" or name in tex.protected:
        return
    if source[0] == "\\":
        meaning = tex.table.get(source)
        if isinstance(meaning, (str, Macro)):
            tex.table[name] = meaning
        elif meaning is not None:
            original = source
            tex.table[name] = lambda r, t: meaning(r, original)  # a handler goes by its own name
        else:
            tex.table.pop(name, None)
    else:
        if len(source) > 1:
            tex.push([source[1:]])
        tex.define(name, 0, None, [source[0]])


def operator(r: Renderer, token: str) -> None:
    r.tex.star()
    target = r.tex.argument()
    body = r.tex.argument()
    name = next((t for t in target if t[0] == "\\"), "")
    if name:
        r.tex.define(name, 0, None, body)


def newif(r: Renderer, token: str) -> None:
    name = r.tex.next() or ""
    if not name.startswith("\\if"):
        return
    stem = name[3:]
    r.tex.flags[name] = False
    r.tex.table[name] = lambda r, t: r.conditional(t)
    r.tex.table["\\" + stem + "true"] = lambda r, t: r.tex.flags.__setitem__(name, True)
    r.tex.table["\\" + stem + "false"] = lambda r, t: r.tex.flags.__setitem__(name, False)


def newboolean(r: Renderer, token: str) -> None:
    name = r.tex.flat(r.tex.argument()).strip()
    r.tex.flags.setdefault("\\if" + name, False)
    if token in ("\\setboolean", "\\setbool", "\\settoggle"):
        r.tex.flags["\\if" + name] = r.tex.flat(r.tex.argument()).strip().lower() == "true"
    elif token in ("\\toggletrue", "\\booltrue", "\\togglefalse", "\\boolfalse"):
        r.tex.flags["\\if" + name] = token.endswith("true")


def branch(r: Renderer, token: str) -> None:
    """\\ifthenelse, \\ifbool, \\iftoggle and their kin: two arguments, one of them read."""
    tex = r.tex
    condition = tex.flat(tex.argument()) if token == "\\ifthenelse" else ""
    taken: bool | None = None
    if token == "\\ifthenelse":
        test = re.match(r"\s*(?:\\boolean)?\{?\s*([A-Za-z@]+)\s*\}?\s*$", condition)
        if test:
            taken = tex.flags.get("\\if" + test[1])
        equal = re.match(r"\s*\{([^{}]*)\}\{([^{}]*)\}\s*$", condition)
        if equal:
            taken = equal[1].strip() == equal[2].strip()
    elif token in ("\\ifbool", "\\iftoggle"):
        taken = tex.flags.get("\\if" + tex.flat(tex.argument()).strip())
    elif token in ("\\ifdef", "\\ifundef"):
        name = next(iter(tex.argument()), "")
        taken = (name in tex.table) == (token == "\\ifdef")
    elif token in ("\\ifblank", "\\ifstrempty", "\\ifnotblank"):
        taken = (not tex.flat(tex.argument()).strip()) != (token == "\\ifnotblank")
    elif token == "\\ifstrequal":
        taken = tex.flat(tex.argument()).strip() == tex.flat(tex.argument()).strip()
    yes, no = tex.argument(), tex.argument()
    chosen, left = (no, yes) if taken is False else (yes, no)
    for t in left:
        r.note_hidden(t)
    tex.push(chosen)


def newenvironment(r: Renderer, token: str) -> None:
    tex = r.tex
    tex.star()
    name = tex.flat(tex.argument()).strip()
    count = "".join(tex.optional() or []).strip()
    default = tex.optional()
    opening, closing = tex.argument(), tex.argument()
    if name and name not in symbols.FLOATS and name not in symbols.TABULARS and name != "abstract":
        params = int(count) if count.isdigit() and len(count) == 1 else 0
        tex.environments[name] = (Macro(name, params, default, opening), Macro(name, 0, None, closing))


def newtheorem(r: Renderer, token: str) -> None:
    tex = r.tex
    tex.star()
    tex.argument()
    tex.optional()
    tex.argument()
    tex.optional()


def csname(r: Renderer, token: str) -> None:
    name = "\\"
    while (t := r.tex.next()) is not None and t != "\\endcsname" and len(name) < 200:
        name += t
    meaning = r.tex.table.get(name)
    if isinstance(meaning, Macro):
        r.tex.call(meaning)


# -- files


def input_file(r: Renderer, token: str) -> None:
    tex = r.tex
    folder = ""
    if token in ("\\import", "\\subimport", "\\inputfrom", "\\subinputfrom", "\\includefrom", "\\subincludefrom"):
        tex.star()
        folder = tex.flat(tex.argument()).strip()
    ahead = tex.skip_space()
    if ahead == "{" or ahead is None:
        name = tex.flat(tex.argument())
    else:  # \input file without braces ends at white space
        word = tex.next() or ""
        if word[0] == "\\":
            name = tex.flat([word])
        else:
            name = word
            while not re.search(r"\s", name) and (more := tex.peek()) is not None and more in "_~^&":
                tex.frame.i += 1
                name += more + (tex.next() or "")
            parts = re.split(r"\s", name, maxsplit=1)
            name = parts[0]
            if len(parts) > 1 and parts[1]:
                tex.push([parts[1]])
    if token == "\\InputIfFileExists":
        yes, no = tex.argument(), tex.argument()
        path = r.tex.bundle.resolve(name, (tex.folder,))
        tex.push(yes if path else no)
        if path:
            tex.push_file(path)
        return
    here = tex.file_frame().folder
    folders = (tex.folder, here) if not folder else ()
    if folder:
        base = here if token.startswith("\\sub") else tex.folder
        name = posixpath.join(folder, name)
        folders = (base, tex.folder)
    path = r.tex.bundle.resolve(name, folders)
    if path is None or not path_is_tex(path):
        return
    if tex.push_file(path) and token in ("\\include",):
        r.paragraph()


def path_is_tex(path: str) -> bool:
    return posixpath.splitext(path)[1].lower() not in (".pdf", ".png", ".jpg", ".eps", ".zip")


def use_package(r: Renderer, token: str) -> None:
    """A style file of the authors' own may hold their macros."""
    tex = r.tex
    tex.optional()
    for name in tex.flat(tex.argument()).split(","):
        name = name.strip()
        if not name or name.startswith(("/", ".", "~")) or _CONFERENCE_STYLE.match(posixpath.basename(name)):
            continue
        path = next(
            (p for p in (posixpath.join(tex.folder, name) + ".sty", name + ".sty") if p in tex.bundle.files), None
        )
        if path is None or len(tex.bundle.files[path]) > 200_000 or path in tex.sources:
            continue
        harvest(r, path)


def harvest(r: Renderer, path: str) -> None:
    """Only the definitions of a style file."""
    tex = r.tex
    depth = len(tex.frames)
    if not tex.push_file(path):
        return
    tex.harvesting = True
    try:
        while (token := tex.next()) is not None:
            if len(tex.frames) <= depth:
                tex.push([token])
                return
            if token == "{":
                tex.frame.i -= 1
                tex.argument()
            elif token == "\\endinput":
                tex.file_frame().i = tex.file_frame().n
            elif token in _DEFINERS:
                _DEFINERS[token](r, token)
    finally:
        tex.harvesting = False


# -- document structure


def begin_document(r: Renderer, token: str) -> None:
    if r.body:
        return
    r.body = True
    if r.buffers:
        r.close_buffer()
    r.space = True
    r.math = False
    r.groups.clear()
    r.envs.clear()
    r.cell = None


def end_document(r: Renderer, token: str) -> None:
    if r.envs and any(e.name.startswith("subdoc") for e in r.envs):
        return
    tex = r.tex
    if len([f for f in tex.frames if f.source is not None]) > 1:  # a \subfile's own end
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
        title = "".join(r.out[pieces:]).strip()
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


_NAMES = {
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


def item(r: Renderer, token: str) -> None:
    given = r.tex.optional()
    r.line()
    depth = sum(e.name in symbols.LISTS for e in r.envs)
    r.emit("  " * max(depth - 1, 0) + "- ")
    r.space = True
    if given:
        r.tex.push(["{", *given, "}", " "])


def newline(r: Renderer, token: str) -> None:
    r.tex.star()
    if r.cell is not None and len(r.groups) == r.cell.depth:
        r.tex.optional()
        r.cell.end_row(r)
        return
    ahead = r.tex.peek()
    if ahead is not None and re.match(r"\[\s*-?[\d.]+\s*(?:pt|em|ex|cm|mm|in|\\)?", ahead):
        r.tex.optional()
    if r.math or r.buffers:
        r.blank()
        return
    r.line()


def rule(r: Renderer, token: str) -> None:
    if r.cell is None:
        return
    name = token.rstrip("*")
    if name in ("\\cmidrule", "\\cline", "\\cdashline"):
        r.tex.optional()
        r.tex.skip("c")
        r.tex.argument()
        return
    if name in ("\\midrule", "\\toprule", "\\bottomrule", "\\hdashline", "\\specialrule", "\\Xhline", "\\addlinespace"):
        r.tex.optional()
    if name in ("\\Xhline",):
        r.tex.argument()
    if name == "\\specialrule":
        r.tex.skip("mmm")
    if name in ("\\addlinespace",):
        return
    if name != "\\toprule":
        r.cell.rule()


def multicolumn(r: Renderer, token: str) -> None:
    count = re.sub(r"\D", "", r.tex.flat(r.tex.argument()))[:3]
    r.tex.argument()
    if r.cell is not None:
        r.cell.colspan = max(1, min(int(count or 1), 200))
    r.group(None)


def multirow(r: Renderer, token: str) -> None:
    r.tex.optional()
    count = re.sub(r"[^\d-]", "", r.tex.flat(r.tex.argument()))[:4]
    r.tex.optional()
    r.tex.argument()
    r.tex.optional()
    if r.cell is not None and re.fullmatch(r"-?\d+", count):
        r.cell.rowspan = max(-500, min(int(count), 500))
    r.group(None)


def bold(r: Renderer, token: str) -> None:
    if r.cell is not None:
        r.cell.bold = True


def underline(r: Renderer, token: str) -> None:
    if r.cell is not None:
        r.cell.underline = True


def text_in_math(r: Renderer, token: str) -> None:
    restore = r.in_text()
    r.group(restore)


def math_open(r: Renderer, token: str) -> None:
    r.math = True
    r.display = token == "\\["
    if r.display:
        r.blank()


def math_close(r: Renderer, token: str) -> None:
    r.math = r.display = False
    if token == "\\]":
        r.blank()


def fraction(r: Renderer, token: str) -> None:
    top, bottom = r.tex.argument(), r.tex.argument()

    def part(toks: Tokens) -> Tokens:
        return toks if len(toks) == 1 and len(toks[0]) < 12 else ["(", *toks, ")"]

    r.tex.push([*part(top), "/", *part(bottom)])


def root(r: Renderer, token: str) -> None:
    r.tex.optional()
    r.emit("√")
    inner = r.tex.argument()
    r.tex.push(inner if len(inner) == 1 else ["(", *inner, ")"])


def raised(r: Renderer, token: str) -> None:
    """\\textsuperscript: a mark, an exponent or a plus-minus; kept readable."""
    inner = r.tex.argument()
    r.emit("^" if token == "\\textsuperscript" else "_")
    r.tex.push(inner)


def plus_minus(r: Renderer, token: str) -> None:
    r.blank()
    r.emit("± ")


def number(r: Renderer, token: str) -> None:
    """siunitx: the number as typed, the unit as printed."""
    tex = r.tex
    tex.optional()
    if token in ("\\si", "\\unit"):
        r.tex.push(["{", *tex.argument(), "}"])
        return
    raw = tex.flat(tex.argument()).strip()
    raw = re.sub(r"\s*(?:\+-|\+/-|\\pm|±)\s*", " ± ", raw)
    raw = re.sub(r"(?<=\d)[dD](?=[-+]?\d)", "e", raw)
    if token in ("\\numrange", "\\SIrange", "\\qtyrange"):
        raw += "–" + tex.flat(tex.argument()).strip()
    elif token in ("\\numlist", "\\SIlist", "\\qtylist"):
        raw = raw.replace(";", ", ")
    power = re.fullmatch(r"([-+\d.,]*)e([-+]?\d+)", raw)
    if power:
        raw = f"{power[1]}×10^{power[2]}" if power[1] else f"10^{power[2]}"
    r.emit(raw)
    if token in ("\\SI", "\\qty", "\\SIrange", "\\qtyrange", "\\SIlist", "\\qtylist"):
        tex.optional()
        unit = tex.argument()
        tight = "\\percent" in unit or "\\%" in unit
        tex.push([*([] if tight else [" "]), *[t for t in unit if t != "\\per"]])


def accented(r: Renderer, token: str) -> None:
    base = r.tex.argument()
    text = r.tex.flat(base).replace("ı", "i").replace("ȷ", "j")
    if r.math or not text:
        r.tex.push(base)
        return
    r.emit(accent(text, symbols.ACCENTS[token]))


def href_args(r: Renderer, token: str) -> None:
    """\\href or \\url whose address holds braces, so the tokenizer left it whole."""
    raw = r.tex.flat(r.tex.argument())
    if token.startswith("\\href"):
        r.href(raw)
    else:
        start = r.pos
        r.emit(clean_url(raw) or re.sub(r"\s+", "", raw))
        r.add_link(raw, start, r.pos, raw)


def drop(pattern: str) -> Handler:
    def handler(r: Renderer, token: str) -> None:
        r.tex.skip(pattern)

    return handler


def xspace(r: Renderer, token: str) -> None:
    """A space, unless punctuation or the end of the group follows."""
    ahead = r.tex.peek()
    if ahead is None or ahead[0] in "}&~%\n" or (len(ahead) == 2 and ahead[0] == "\\" and not ahead[1].isalpha()):
        return
    if ahead[0].isalnum() or ahead[0] in "\\$(‘“`":
        r.blank()


def nothing(r: Renderer, token: str) -> None:
    return


def takes_first(r: Renderer, token: str) -> None:
    first = r.tex.argument()
    r.tex.argument()
    r.tex.push(["{", *first, "}"])


def skip_verbatim(r: Renderer, token: str) -> None:
    """verbatim, listings and comment environments: the source itself, not TeX."""
    name = token[7:-1]
    tex = r.tex
    frame = tex.frame
    closing = f"\\end{{{name}}}"
    if frame.source is not None:
        start = frame.source.offsets[frame.i]
        end = frame.source.text.find(closing, start)
        content = frame.source.text[start : end if end >= 0 else None]
        frame.i = frame.source.index_at(end + len(closing)) if end >= 0 else frame.n
    else:
        toks: Tokens = []
        while (t := tex.next()) is not None and t != closing:
            toks.append(t)
        content = "".join(toks)
    if name.rstrip("*") in ("comment", "filecontents", "SaveVerbatim"):
        for line in content[:400_000].split("\n") if "." in content else ():
            r.note_hidden(line)
        return
    content = re.sub(r"^\s*(?:\[[^\]]*\])?\s*(?:\{[^}\n]*\})?[ \t]*\n", "", content)
    r.paragraph()
    if r.buffers:
        r.write(content[:2_000] or " ")
    else:
        r.emit("```\n" + content.strip("\n")[:200_000] + "\n```")
        r.paragraph()


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


_DEFINERS: dict[str, Handler] = {
    "\\newcommand": newcommand,
    "\\newcommand*": newcommand,
    "\\renewcommand": newcommand,
    "\\renewcommand*": newcommand,
    "\\providecommand": newcommand,
    "\\providecommand*": newcommand,
    "\\DeclareRobustCommand": newcommand,
    "\\DeclareRobustCommand*": newcommand,
    "\\NewDocumentCommand": newcommand,
    "\\def": definition,
    "\\gdef": definition,
    "\\edef": definition,
    "\\xdef": definition,
    "\\let": let,
    "\\DeclareMathOperator": operator,
    "\\DeclareMathOperator*": operator,
    "\\newif": newif,
    "\\newenvironment": newenvironment,
    "\\renewenvironment": newenvironment,
}


def handlers() -> dict[str, Any]:
    """Every command the reader knows, fresh, so that one paper's definitions never reach the next."""
    return dict(_TABLE)


def _table() -> dict[str, Any]:
    t: dict[str, Any] = dict(symbols.SYMBOLS)
    t |= {name: drop(pattern) if pattern else nothing for name, pattern in symbols.SKIP.items()}
    t |= _DEFINERS
    t |= dict.fromkeys(symbols.ACCENTS, accented)
    groups: dict[Handler, str] = {
        newboolean: "newboolean provideboolean setboolean newbool setbool newtoggle providetoggle settoggle toggletrue togglefalse"
        " booltrue boolfalse",
        branch: "ifthenelse ifbool iftoggle ifdef ifundef ifblank ifstrempty ifnotblank ifstrequal",
        newtheorem: "newtheorem newtheorem*",
        csname: "csname",
        input_file: "input include subfile import subimport inputfrom subinputfrom includefrom subincludefrom InputIfFileExists @input",
        use_package: "usepackage RequirePackage",
        heading: " ".join(f"{n} {n}*" for n in LEVELS),
        appendix: "appendix appendices beginsupplement begin{appendices} begin{appendix}",
        begin_abstract: "begin{abstract}",
        abstract: "abstract",
        title: "title icmltitle title*",
        author: "author",
        icml_author: "icmlauthor",
        thanks: "thanks blfootnote icmlcorrespondingauthor",
        footnote: "footnote footnotetext tablefootnote sidenote marginpar tnote footnotetext*",
        label: "label",
        ref: "ref eqref cref Cref autoref Autoref pageref nameref vref fullref cref* Cref* ref* labelcref",
        cite: "cite citep citet citealp citealt citeauthor citeyear citeyearpar Citep Citet Citealp parencite textcite autocite nocite"
        " fullcite footcite citep* citet* cite* citealp* citeauthor* shortcite newcite citeA shortciteA onlinecite Citet* textcite*",
        item: "item",
        newline: "\\ tabularnewline cr",
        rule: "midrule toprule bottomrule hline cmidrule cline hdashline cdashline specialrule Xhline addlinespace cmidrule* Midrule"
        " Xhline hhline@",
        multicolumn: "multicolumn",
        multirow: "multirow multirow*",
        bold: "textbf bf bfseries mathbf bm boldsymbol pmb boldmath textbf*",
        underline: "underline uline ul underbar",
        text_in_math: "text mbox textrm textnormal textsf mathrm@ hbox textit@ intertext fbox",
        math_open: "( [ ensuremath@",
        math_close: ") ]",
        fraction: "frac dfrac tfrac nicefrac sfrac cfrac",
        root: "sqrt",
        raised: "textsuperscript textsubscript",
        plus_minus: "pm textpm",
        number: "num SI qty si unit numrange SIrange qtyrange numlist SIlist qtylist ang",
        href_args: "href url nolinkurl burl path",
        takes_first: "texorpdfstring",
        floats.caption: "caption caption* subcaption",
        floats.captionof: "captionof captionof*",
        floats.graphics: "includegraphics includegraphics*",
        bibliography: "bibliography printbibliography",
        bib.bibitem: "bibitem",
        bib.begin_thebibliography: "begin{thebibliography}",
        add_resource: "addbibresource addglobalbib",
        setcounter: "setcounter addtocounter",
        stepcounter: "stepcounter refstepcounter",
        numberwithin: "numberwithin counterwithin counterwithin*",
        begin_document: "begin{document}",
        end_document: "end{document} bye",
        drop("m"): "bibliographystyle newlabel comment hspace vspace hspace* vspace* newcolumntype@ iffalse@",
        drop("ommm"): "newcolumntype@@",
        nothing: "protect centering small footnotesize scriptsize tiny normalsize large Large LARGE huge Huge noindent clearpage newpage"
        " bfseries@ itshape scshape ttfamily rmfamily sffamily upshape mdseries normalfont selectfont raggedright raggedleft maketitle"
        " displaystyle textstyle limits nolimits big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle nonumber"
        " notag expandafter noexpand global long outer makeatletter makeatother begingroup endgroup bgroup egroup leavevmode par@ fi"
        " tableofcontents unboldmath boldmath@ ignorespaces unskip null strut hfil sloppy flushbottom frenchspacing lq@ crcr@ endcsname"
        " em it sl sc tt rm sf mathstrut smallskip medskip bigskip phantomsection relax",
    }
    for handler, names in groups.items():
        for name in names.split():
            if not name.endswith("@") and "@" not in name:
                t["\\" + name] = handler
    t["\\xspace"] = xspace
    t["\\par"] = lambda r, token: r.paragraph()
    t["\\else"] = lambda r, token: r.tex.skip_branch(to_else=False)
    t["\\endinput"] = lambda r, token: r.tex.end_file()
    t["\\subfloat"] = t["\\subfigure"] = t["\\subtable"] = subfloat
    t["\\newcolumntype"] = lambda r, token: (r.tex.argument(), r.tex.optional(), r.tex.argument())
    for name in symbols.TABULARS:
        t[f"\\begin{{{name}}}"] = begin_tabular
    for name, kind in symbols.FLOATS.items():
        if name not in symbols.TABULARS and kind:
            t[f"\\begin{{{name}}}"] = begin_float
    from pipeline.paper.tokens import VERBATIM

    for name in VERBATIM:
        t[f"\\begin{{{name}}}"] = t[f"\\begin{{{name}*}}"] = skip_verbatim
    t["\x02open_float"], t["\x02close_float"], t["\x02own_table"] = (
        floats.open_float,
        floats.close_float,
        floats.own_table,
    )
    return t


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


_TABLE = _table()
# the paper's structure, and everything that prints nothing: redefining these changes looks, not content
PROTECTED = symbols.PROTECTED | {name for name, action in _TABLE.items() if action is nothing}
