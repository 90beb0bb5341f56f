"""Which lines of a table are the paper's own, and which way round it is printed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from classifiers.embedded.claim import OwnNames
from classifiers.embedded.words import LOWER, OURS, metrics_in, squeezed
from pipeline.paper import Cell, Table


@dataclass(frozen=True, slots=True)
class Own:
    """Rows and columns of a table that are the paper's own, and how that is known."""

    rows: frozenset[int]
    columns: frozenset[int]
    how: str


_CITED = re.compile(
    r"\(\s*[^()]*(?:et al\.?|(?:19|20)\d\d[a-z]?)[^()]*\)|\[[\w, ]{1,30}\]|\((?!ours?\b)[A-Za-z][\w:-]+\)",
    re.IGNORECASE,
)


_MARK = re.compile(r"[†‡§⋆]")


def own_lines(table: Table, own: OwnNames) -> Own:
    """Named lines; else lines without a citation beside lines with one; else the line with most bold cells; else
    all, if the caption says so.
    """
    body = [r for r in range(table.header_rows, len(table.grid)) if not table.is_group_row(r)]
    label = {r: table.row_headers(r) for r in body}
    marks = _own_marks(table.caption, own)
    rows = frozenset(
        r for r in body if _is_own(label[r], own) or any(mark in text for mark in marks for text in label[r])
    )
    columns = frozenset(c for c in range(1, table.columns) if _is_own(table.column_headers(c), own))
    if rows and len(rows) < len(body):
        return Own(rows, frozenset(), "named")
    if columns and len(columns) < table.columns - 1:
        return Own(frozenset(), columns, "named")
    cited = frozenset(r for r in body if _CITED.search(" ".join(label[r])))
    if 0.25 * len(body) <= len(cited) < len(body):
        return Own(frozenset(body) - cited, frozenset(), "uncited")
    bold = {r: sum(1 for c in table.grid[r] if c is not None and c.bold and c.value is not None) for r in body}
    most = max(bold.values(), default=0)
    winners = frozenset(r for r, n in bold.items() if n == most)
    if most and len(winners) == 1:
        return Own(winners, frozenset(), "bold")
    if rows or columns or _is_own((table.caption,), own):
        return Own(frozenset(body), frozenset(), "caption")
    return Own(frozenset(), frozenset(), "none")


def _own_marks(caption: str, own: OwnNames) -> tuple[str, ...]:
    """Marks such as † that a caption explains as the paper's own: "† denotes models trained on our data"."""
    found: list[str] = []
    for match in _MARK.finditer(caption):
        said = re.split(r"[.;†‡§⋆]", caption[match.end() :], maxsplit=1)[0]
        if OURS.search(said) or re.search(r"\bour\b", said, re.IGNORECASE) or own.any_in(said):
            found.append(match[0])
    return tuple(dict.fromkeys(found))


def _is_own(headers: tuple[str, ...], own: OwnNames) -> bool:
    """ "Ours" or the method's name in any header; the name of own data only in the last, since above it is where a
    method is tested.
    """
    text = " ".join(headers)
    if OURS.search(text) or any(_names(n, text) for n in own.names):
        return True
    return bool(headers) and any(_names(n, headers[-1]) for n in own.data)


def _names(name: str, text: str) -> bool:
    return bool(re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![a-z])", text, re.IGNORECASE))


def is_plain(label: str, own: OwnNames) -> bool:
    """Whether a line is the method itself, not a variant of it: its name, or "ours", and nothing added."""
    bare = squeezed(re.sub(r"\(?\bours?\b\)?|\([^)]*\)", "", label, flags=re.IGNORECASE))
    return bare == "" or any(bare == squeezed(n) for n in own.names)


def metrics_in_rows(table: Table) -> bool:
    """Whether the rows are metrics and the columns what is measured, rather than the usual other way round."""
    body = range(table.header_rows, len(table.grid))
    named = sum(bool(metrics_in(" ".join(table.row_headers(r)))) for r in body)
    return named * 2 > len(body) and not any(
        metrics_in(" ".join(table.column_headers(c))) for c in range(1, table.columns)
    )


def best_of_line(table: Table, cell: Cell, across: bool) -> float | None:
    """The best number beside a cell: `across` its row where rows are metrics, else down its column."""
    body = range(table.header_rows, len(table.grid))
    line = list(table.grid[cell.row]) if across else [table.grid[r][cell.column] for r in body]
    values = [c.value for c in line if c is not None and c.value is not None]
    measure = " ".join(table.row_headers(cell.row) if across else table.column_headers(cell.column))
    lower = LOWER.search(measure) or (table.directions and table.directions[cell.column] == "lower")
    return (min(values) if lower else max(values)) if values else None
