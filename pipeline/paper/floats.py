"""Floats and captions: what is table 3, what belongs to it, and what the PDF numbers it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from pipeline.paper import symbols
from pipeline.paper.expand import Macro
from pipeline.paper.render import Renderer
from pipeline.paper.tables import Tabular
from pipeline.paper.tokens import Source

NEAR = 4_000  # characters between a \captionof outside a float and its tabular
MAX_IN_FLOAT = 300  # captions, labels and pictures of one float that are told apart


@dataclass(slots=True)
class Item:
    """One caption: an entry of the inventory."""

    kind: str
    number: str
    caption: str
    source: Source | None
    index: int
    offset: int
    appendix: bool
    label: str = ""
    tables: list[Tabular] = field(default_factory=list)
    graphics: list[str] = field(default_factory=list)
    floating: bool = True


@dataclass(slots=True)
class Float:
    kind: str
    name: str
    source: Source | None
    index: int
    offset: int
    items: list[Item] = field(default_factory=list)
    tables: list[Tabular] = field(default_factory=list)
    graphics: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    sub: int = 0


SUBFLOATS = frozenset(("subfigure", "subtable", "subfloat", "subcaptionblock"))


def open_float(r: Renderer, name: str) -> None:
    source, index = r.tex.here()
    r.paragraph()
    r.floats.append(Float(symbols.FLOATS[name], name, source, index, r.pos))


def close_float(r: Renderer, name: str) -> None:
    if not r.floats:
        return
    done: Float = r.floats.pop()
    r.paragraph()
    if not done.items:
        if done.tables or done.graphics or done.labels:
            kind = "table" if done.tables and done.kind == "table" else done.kind
            item = Item(kind or "figure", "", "", done.source, done.index, done.offset, r.appendix)
            item.label = done.labels[0] if done.labels else ""
            done.items.append(item)
            r.items.append(item)
        else:
            return
    share(done.items, done.tables)
    for item in done.items:
        if not item.graphics:
            item.graphics = done.graphics
    if len(done.items) == 1 and not done.items[0].label and done.labels:
        done.items[0].label = done.labels[0]


def share(items: list[Item], tables: list[Tabular]) -> None:
    """Tables to captions: all to a single one, pair by pair when as many, else the nearest before or after."""
    wanting = [i for i in items if i.kind == "table"] or items
    if len(wanting) != len(tables):
        wanting = wanting[:MAX_IN_FLOAT]
    for k, table in enumerate(tables):
        if len(wanting) == 1:
            item = wanting[0]
        elif len(wanting) == len(tables):
            item = wanting[k]
        else:
            item = min(wanting, key=lambda i: (distance(table, i), i.offset))
        item.tables.append(table)
        table.item = item


def distance(table: Tabular, item: Item) -> int:
    """Characters between a caption and the nearer end of a table."""
    return min(abs(table.start - item.offset), abs(table.end - item.offset))


def own_table(r: Renderer, table: Tabular) -> None:
    if r.floats:
        r.floats[-1].tables.append(table)
        if r.inside(SUBFLOATS):
            table.subcaption = getattr(r, "pending_sub", "")


def number_of(r: Renderer, kind: str) -> str:
    """The number LaTeX prints, with \\thetable and the like as the author redefined them."""
    value = r.step(kind)
    return printed(r, kind, value)


def printed(r: Renderer, counter: str, value: str, depth: int = 0) -> str:
    macro = r.tex.table.get("\\the" + counter)
    if not isinstance(macro, Macro) or depth > 3:
        return value
    out = []
    toks = list(macro.body[:40])
    r.tex.spend(len(toks))
    style = ""
    for token in toks:
        if token in ("\\arabic", "\\Alph", "\\alph", "\\roman", "\\Roman", "\\value"):
            style = token
        elif token.startswith("\\the"):
            inner = token[4:]
            out.append(
                r.here_section if inner == "section" else printed(r, inner, str(r.counters.get(inner, 0)), depth + 1)
            )
        elif token in "{}":
            continue
        elif style:
            number = value if token == counter else str(r.counters.get(token, 0))
            out.append(styled(style, int(number)))
            style = ""
        elif token[0] == "\\":
            meaning = r.tex.table.get(token)
            out.append(meaning if isinstance(meaning, str) else "")
        else:
            out.append(token)
    return "".join(out).strip() or value


def styled(style: str, n: int) -> str:
    if style in ("\\Alph", "\\alph"):
        letter = chr(64 + n) if 1 <= n <= 26 else str(n)
        return letter if style == "\\Alph" else letter.lower()
    if style in ("\\roman", "\\Roman"):
        text = ""
        for size, roman in ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")):
            while n >= size and len(text) < 30:
                text += roman
                n -= size
        return text if style == "\\roman" else text.upper()
    return str(n)


def caption(r: Renderer, token: str) -> None:
    starred = token.endswith("*")
    r.tex.optional()
    floating: Float | None = r.floats[-1] if r.floats else None
    if r.inside(SUBFLOATS) or token == "\\subcaption":
        subcaption(r)
        return
    kind = floating.kind if floating else "figure"
    start_caption(r, kind or "figure", floating, starred)


def captionof(r: Renderer, token: str) -> None:
    kind = r.tex.flat(r.tex.argument()).strip().rstrip("*")
    r.tex.optional()
    if kind not in ("table", "figure"):
        r.group(None)
        return
    start_caption(r, kind, r.floats[-1] if r.floats else None, token.endswith("*"))


def start_caption(r: Renderer, kind: str, floating: Float | None, starred: bool) -> None:
    number = "" if starred else number_of(r, kind)
    r.paragraph()
    source, index = r.tex.here()
    item = Item(kind, number, "", source, index, r.pos, r.appendix, floating=floating is not None)
    r.items.append(item)
    if floating is not None:
        floating.items.append(item)
        for label in floating.labels[:MAX_IN_FLOAT]:
            r.notes.labels.setdefault(label, number)
            item.label = item.label or label
    r.here_number = number

    def sink(label: str) -> None:
        item.label = item.label or label

    r.label_sink = sink
    r.emit(f"{kind.capitalize()} {number}: " if number else f"{kind.capitalize()}: ")
    start, pieces = r.pos, len(r.out)

    def close() -> None:
        item.caption = r.tail(pieces)
        r.notes.marks.append((start, r.pos, "caption"))
        r.paragraph()

    r.group(close)


def subcaption(r: Renderer) -> None:
    floating: Float | None = r.floats[-1] if r.floats else None
    if floating is None:
        r.group(None)
        return
    floating.sub += 1
    letter = chr(96 + min(floating.sub, 26))
    r.paragraph()
    start = r.pos
    r.emit(f"({letter}) ")
    pieces = len(r.out)

    def close() -> None:
        text = f"({letter}) " + r.tail(pieces)
        r.notes.marks.append((start, r.pos, "caption"))
        for table in floating.tables[-1:]:
            table.subcaption = table.subcaption or text
        r.paragraph()

    r.group(close)


def graphics(r: Renderer, token: str) -> None:
    r.tex.optional()
    r.tex.optional()
    name = re.sub(r"\s+", "", r.tex.flat(r.tex.argument()))[:300]
    if r.floats and name and len(r.floats[-1].graphics) < MAX_IN_FLOAT:
        r.floats[-1].graphics.append(name)


def settle(r: Renderer) -> None:
    """\\captionof and \\caption outside floats: each takes the nearest tabular no float owns."""
    free = [t for t in r.tables if t.item is None]  # in the order of the text, none inside another
    starts, ends = [t.start for t in free], [t.end for t in free]
    for item in r.items:
        if item.floating or item.tables or item.kind != "table":
            continue
        around = free[bisect_left(ends, item.offset - NEAR) : bisect_right(starts, item.offset + NEAR)]
        near = [t for t in around if t.item is None and distance(t, item) < NEAR]
        if near:
            table = min(near, key=lambda t: (distance(t, item), t.start))
            table.item = item
            item.tables.append(table)
