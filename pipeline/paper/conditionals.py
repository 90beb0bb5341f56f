"""TeX's conditionals, as far as the source alone decides them, and the text a decision passes over."""

from __future__ import annotations

import re

from pipeline.paper.expand import Expander, Macro, Tokens

_NOT_CONDITIONALS = frozenset(
    [
        "\\iff",
        "\\ifthenelse",
        "\\ifdef",
        "\\ifundef",
        "\\ifstrequal",
        "\\ifstrempty",
        "\\ifblank",
        "\\ifnotblank",
        "\\ifbool",
        "\\iftoggle",
        "\\ifdefempty",
        "\\ifcsdef",
        "\\ifcsundef",
        "\\ifnumcomp",
        "\\ifnumequal",
        "\\ifinlist",
        "\\ifdefstring",
        "\\ifdefequal",
        "\\ifboolexpr",
        "\\ifpackageloaded",
        "\\ifcsempty",
        "\\ifstreq",
        "\\ifcurrfile",
        "\\ifciteseen",
        "\\ifentrytype",
        "\\iffieldundef",
    ]
)


def is_conditional(token: str) -> bool:
    return token not in _NOT_CONDITIONALS


def skip_branch(tex: Expander, *, to_else: bool) -> None:
    """Pass over text TeX would not read, up to the matching \\else (if asked) or \\fi."""
    depth = 0
    while (token := tex.next()) is not None:
        if token[0] == "%" or token.startswith(("\\url", "\\href")):
            tex.dropped(token)
        elif token[0] != "\\":
            if "://" in token:
                tex.dropped(token)
        elif token == "\\fi":
            if not depth:
                return
            depth -= 1
        elif token == "\\else":
            if not depth and to_else:
                return
        elif token == "\\newif":
            tex.next()
        elif token.startswith("\\if") and is_conditional(token):
            depth += 1


def decide(tex: Expander, token: str) -> bool | None:
    """What a conditional comes to; None when the source alone cannot say."""
    if token in tex.flags:
        return tex.flags[token]
    if token in ("\\iftrue", "\\ifpdf", "\\ifPDFTeX"):
        return True
    if token in ("\\iffalse", "\\ifxetex", "\\ifluatex", "\\ifXeTeX", "\\ifLuaTeX", "\\ifmmode", "\\ifvmode"):
        return False
    if token in ("\\ifx", "\\if", "\\ifcat"):
        return _same(tex, token)
    if token == "\\ifdefined":
        return tex.next() in tex.table
    if token == "\\ifnum":
        return _number_test(tex)
    if token in ("\\ifcsname",):
        name = "\\"
        while (t := tex.next()) is not None and t != "\\endcsname" and len(name) < 200:
            name += t
        return name in tex.table
    return None


def _same(tex: Expander, token: str) -> bool:
    tex.skip_space() if token == "\\ifx" else None
    first = tex.next() or ""
    if token != "\\ifx" and first[:1] not in "\\{}" and len(first) > 1:
        tex.push([first[2:]] if first[2:] else [])
        return first[0] == first[1]
    if first[:1] not in "\\{}" and len(first) > 1:
        tex.push([first[1:]])
        first = first[0]
    second = tex.next() or ""
    if second[:1] not in "\\{}" and len(second) > 1:
        tex.push([second[1:]])
        second = second[0]
    a, b = tex.table.get(first), tex.table.get(second)
    if isinstance(a, Macro) and isinstance(b, Macro):
        return a.body == b.body and a.params == b.params
    if first[:1] == "\\" and second[:1] == "\\" and a is None and b is None:
        return True
    if token != "\\ifx" and isinstance(a, Macro):
        return "".join(a.body)[:1] == second[:1]
    return first == second


def _number_test(tex: Expander) -> bool | None:
    text: Tokens = []
    for _ in range(8):
        token = tex.next()
        if token is None:
            break
        text.append(token)
        if token in ("\\relax",) or (token[0] not in "\\{}" and token[-1:].isspace()):
            break
    found = re.match(r"\s*(-?\d+)\s*([<>=])\s*(-?\d+)(.*)", tex.flat(text), re.DOTALL)
    if not found:
        return None
    if found[4].strip():
        tex.push([found[4]])
    a, b = int(found[1][:9]), int(found[3][:9])
    return {"<": a < b, ">": a > b, "=": a == b}[found[2]]
