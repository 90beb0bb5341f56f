"""Commands inside a line of text, a formula or a table row."""

from __future__ import annotations

import re

from pipeline.paper import symbols
from pipeline.paper.expand import Tokens
from pipeline.paper.links import clean_url
from pipeline.paper.render import Handler, Renderer
from pipeline.paper.writer import accent


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
    if r.front and not r.math and r.pos:
        r.emit("; ")  # one line of an author block
        return
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


_DIMENSION = re.compile(
    r"\s*=?\s*[-+]?(?:\d+\.?\d*|\.\d+)\s*(?:pt|in|cm|mm|em|ex|pc|sp|mu|true\w*)\b"
    r"(?:\s*(?:plus|minus)\s*[\d.]+\s*(?:pt|in|cm|mm|em|ex|fill?l?)\b)*\s?"
)


def dimension(r: Renderer, token: str) -> None:
    """\\vskip 3pt: a length without braces."""
    ahead = r.tex.peek()
    found = _DIMENSION.match(ahead) if ahead is not None and ahead[0] not in "{}$&%" else None
    if found and ahead is not None:
        r.tex.frame.i += 1
        r.tex.push([ahead[found.end() :]] if ahead[found.end() :] else [])
    if token.endswith("skip") and not r.math:
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
