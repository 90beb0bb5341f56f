"""What \\begin means: the author's environments, mathematics, lists, theorems, drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.paper import symbols

if TYPE_CHECKING:
    from pipeline.paper.render import Renderer

_THEOREMS = {
    n: n.capitalize()
    for n in [
        "theorem",
        "lemma",
        "proposition",
        "corollary",
        "definition",
        "remark",
        "assumption",
        "example",
        "claim",
        "proof",
        "fact",
        "observation",
        "conjecture",
    ]
} | {"thm": "Theorem", "lem": "Lemma", "prop": "Proposition", "cor": "Corollary", "defn": "Definition", "rem": "Remark"}


def begin(r: Renderer, name: str) -> None:
    tex = r.tex
    defined = tex.environments.get(name)
    if defined is not None:
        opening, closing = defined
        r.open_env(name, lambda: tex.push(closing.body))
        tex.call(opening)
        return
    pattern = symbols.ENVIRONMENT_ARGUMENTS.get(name)
    math = name.rstrip("*") in symbols.MATH_ENVIRONMENTS
    if name in symbols.DROPPED_ENVIRONMENTS:
        drop_environment(r, name)
        return
    r.open_env(name)
    if math:
        if not r.math:
            r.math = r.display = True
            r.paragraph()
            env = r.envs[-1]
            env.end = r.paragraph
            if not name.endswith("*") and name in ("equation", "align", "gather", "multline", "eqnarray"):
                r.here_number = r.step("equation")
        if pattern:
            tex.skip(pattern)
        return
    tex.skip(pattern) if pattern else None
    if not pattern:
        given = tex.optional()
        if given and name.rstrip("*") in _THEOREMS:
            theorem(r, name, tex.flat(given))
            return
    if name in symbols.LISTS:
        r.line()
        r.envs[-1].end = r.line
    elif name in ("keywords", "keyword", "IEEEkeywords", "kwds"):
        r.paragraph()
        r.emit("Keywords: ")
        r.envs[-1].end = r.paragraph
    elif name.rstrip("*") in _THEOREMS:
        theorem(r, name, "")


def theorem(r: Renderer, name: str, note: str) -> None:
    r.paragraph()
    number = r.step("theorem")
    r.here_number = number
    r.emit(f"{_THEOREMS[name.rstrip('*')]}{' (' + note + ')' if note else ''}. ")
    r.envs[-1].end = r.paragraph


def drop_environment(r: Renderer, name: str) -> None:
    """A drawing: nothing in it is text."""
    tex, closing = r.tex, f"\\end{{{name}}}"
    depth = 0
    while (token := tex.next()) is not None:
        if token == closing:
            if not depth:
                return
            depth -= 1
        elif token == f"\\begin{{{name}}}":
            depth += 1
        elif token == "\\end{document}":
            tex.push([token])
            return
