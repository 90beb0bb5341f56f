"""Whether a proposed target holds together: its number stands where it says, and config, value and scope agree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pipeline import reference
from pipeline.answers import TargetWord
from pipeline.evidence import sizes
from pipeline.paper import Cell, Paper, Table, find_numbers, parse_number


def cell_of(word: TargetWord, paper: Paper) -> tuple[Table, Cell] | None:
    """The numbered cell a proposal names, whose number is the proposed value."""
    wanted = parse_number(word.value)
    for table in paper.tables:
        if table.number != word.table or word.row is None or word.column is None:
            continue
        if 0 <= word.row < len(table.grid) and 0 <= word.column < table.columns:
            cell = table.grid[word.row][word.column]
            if cell is None or cell.value is None or wanted is None:
                continue
            if _same(cell.value, wanted.value):
                return table, cell
    return None


def target_fault(target: TargetWord, paper: Paper) -> str:
    """Why the paper does not print the target where it says, or ""."""
    if parse_number(target.value) is None:
        return f"value {target.value!r} is not one number"
    if target.table is None:
        if not target.quote or paper.find(target.quote) is None:
            return "no cell, and the quote is not in the paper"
        shown, wanted = "".join(target.quote.split()), parse_number(target.value)
        # Letter by letter, and as a whole number: 5.41 stands in the letters of 95.41 too.
        whole = any(wanted is not None and _same(n.value, wanted.value) for n in find_numbers(target.quote))
        printed = "".join(target.value.split()) in shown and whole
        return "" if printed else f"the quote does not print {target.value}"
    if target.row is None or target.column is None:
        return "a table without row and column"
    if cell_of(target, paper) is None:
        return f"table {target.table} does not print {target.value} in row {target.row}, column {target.column}"
    return ""


def incoherent(target: TargetWord, paper: Paper) -> Iterator[str]:
    """Why running `config` and measuring `metric` over `scope` cannot give the value, as far as code can see."""
    number = parse_number(target.value)
    assert number is not None
    found = cell_of(target, paper) if target.table is not None else None
    if found is not None:
        yield from _of_cell(target, *found)
    better = {"higher": 1.0, "lower": -1.0}.get(target.direction or "", 0.0)
    if target.bar_kind == "direction" and target.baseline is not None:
        # Where only the baseline's value is printed, it is the target's too (labelling guide, "Bar").
        if (number.value - target.baseline) * better < 0:
            yield f"{target.value} is not {target.direction} than the baseline's {target.baseline:g}"
        if not _printed(target.baseline, target, paper):
            yield f"the paper does not print the baseline's {target.baseline:g}"
    low, high = (end if end is not None else number.value for end in (target.low, target.high))
    if target.bar_kind == "range" and not low <= number.value <= high:
        yield f"{target.value} lies outside its own range {low:g} to {high:g}"
    if (target.n_seeds or 1) > 1 and not _counted(target.n_seeds or 1, paper):
        yield f"the paper prints no number of {target.n_seeds} seeds or runs"


def _of_cell(target: TargetWord, table: Table, cell: Cell) -> Iterator[str]:
    column, row = " ".join(table.column_headers(cell.column)), " ".join(table.row_headers(cell.row))
    direction = table.directions[cell.column] if cell.column < len(table.directions) else None
    if direction and target.direction and direction != target.direction:
        yield f"the column's arrow says {direction} is better, the target says {target.direction}"
    if (own := sizes(row)) and (said := sizes(target.config)) and not set(own) & set(said):
        yield f"the row is of size {', '.join(own)}, the configuration of size {', '.join(said)}"
    if other := _of_another(target.config, table, cell):
        yield other
    named = {m.name for m in reference.benchmarks_in(f"{column} | {row}")}
    wanted = {m.name for m in reference.benchmarks_in(target.dataset)}
    if named and wanted and not named & wanted:
        yield f"the cell is of {', '.join(sorted(named))}, the target of {', '.join(sorted(wanted))}"
    over = _AVERAGE.search(f"{target.scope} | {target.aggregate}")
    if over and len(named) == 1 and not _AVERAGE_HEAD.search(f"{column} {row} {table.caption}"):
        yield f"the cell is of {min(named)} alone, the scope is an {over[0]!r}"


def _of_another(config: str, table: Table, cell: Cell) -> str:
    """Where another row than the cell's is headed by the configuration's name: whose number it is. Where no row is,
    columns are looked at; "ours" is anybody's."""
    wanted = _words(config)
    rows = {n: " ".join(table.row_headers(n)) for n in range(len(table.grid))}
    columns = {n: " ".join(table.column_headers(n)) for n in range(table.columns)}
    for place, heads in ((cell.row, rows), (cell.column, columns)):
        named = [n for n, head in heads.items() if wanted & _words(head)]
        if place in named or _OURS.search(heads[place]) or not _words(heads[place]):
            return ""
        if named:
            return f"the cell is of {heads[place]!r}, the configuration {config!r} is {heads[named[0]]!r}"
    return ""


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[^\W_]{3,}", text.casefold()) if not word.isdecimal()} - _PLAIN


_PLAIN = frozenset(("our", "ours", "the", "with", "and", "for", "method", "model", "test", "full"))
_OURS = re.compile(r"\b(?:ours?|proposed|this (?:work|paper))\b", re.IGNORECASE)
_AVERAGE = re.compile(
    r"\b(?:average|averaged|mean|macro)\b[^.|;]{0,20}\b(?:datasets|tasks|benchmarks|domains)\b", re.IGNORECASE
)
_AVERAGE_HEAD = re.compile(r"\b(?:avg|average|averaged|mean|overall|macro|total)\b", re.IGNORECASE)


def _printed(value: float, target: TargetWord, paper: Paper) -> bool:
    """Whether the target's table or quote, or else the running text, prints a number."""

    tables = (t for t in paper.tables if t.number == target.table)
    cells = (cell for table in tables for row in table.grid for cell in row if cell is not None)
    return any(_same(cell.value, value) for cell in cells) or any(
        _same(n.value, value) for n in find_numbers(paper.text)
    )


def _same(one: float | None, other: float) -> bool:
    return one is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _counted(n: int, paper: Paper) -> bool:
    """Whether the paper prints a number, in digits or, up to ten, in words."""
    words = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    spelled = f"{n}|{words[n - 2]}" if 2 <= n <= 10 else str(n)
    return re.search(rf"(?<![\w.])(?:{spelled})(?!\w|\.\d)", paper.text, re.IGNORECASE) is not None
