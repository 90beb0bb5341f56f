"""Macros, conditionals and files: the commands that change what is read next."""

from __future__ import annotations

import posixpath
import re

from pipeline.paper import symbols
from pipeline.paper.expand import Macro
from pipeline.paper.render import Handler, Renderer

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
    if tex.push_file(path):
        if token in ("\\include", "\\subfileinclude"):
            r.paragraph()
        if "\\begin{document}" in tex.frame.toks:  # a file that also stands alone: its preamble is not for here
            tex.frame.i = tex.frame.toks.index("\\begin{document}") + 1


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
            elif token in DEFINERS:
                DEFINERS[token](r, token)
    finally:
        tex.harvesting = False


DEFINERS: dict[str, Handler] = {
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
