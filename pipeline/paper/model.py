"""What a paper says, as typed values: text, links, tables, inventory, compute mentions.

Offsets count characters of `Paper.text`; -1 means "not in the text" (a comment, an unused macro). Lines are
1-based lines of the source file named beside them. Times are hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Place = Literal[
    "title",
    "abstract",
    "thanks",
    "footnote",
    "body",
    "caption",
    "table",
    "appendix",
    "bibliography",
    "comment",
    "unrendered",
]
Direction = Literal["higher", "lower"]


class NoPaper(ValueError):
    """The source holds no paper to read: no LaTeX main file, only a template, or two whole papers."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where something stands: source file and line (`end_line` when it spans several), and offset into the text."""

    file: str
    line: int
    offset: int
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    start: int
    end: int
    level: int  # 1 section, 2 subsection, 3 subsubsection, 4 paragraph
    appendix: bool
    number: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    anchor: Anchor
    section: str  # title of the innermost section, "" before the first
    appendix: bool = False
    place: Place = "body"


@dataclass(frozen=True, slots=True)
class Link:
    url: str  # normalised: TeX escapes undone, white space and trailing punctuation gone
    visible_text: str
    sentence: str  # the sentence of the text; for a comment or an unused macro, that source line
    place: Place
    visible: bool  # whether the PDF shows it
    anchor: Anchor
    raw: str
    cited_in: tuple[str, ...] = ()  # bibliography only: the sentences that cite the entry


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    raw: str
    value: float | None
    uncertainty: float | None
    bold: bool
    underline: bool
    arrow: Literal["up", "down"] | None
    unit: str  # "%", "x", "ms", ... or ""
    percent: bool
    row: int
    column: int
    rowspan: int  # below zero where it spans upwards from its row, as \multirow has it
    colspan: int


@dataclass(frozen=True)
class Table:
    number: str
    label: str
    caption: str
    header_rows: int
    grid: tuple[tuple[Cell | None, ...], ...]  # rectangular; a spanning cell fills every place it covers
    directions: tuple[Direction | None, ...]  # a column each
    anchor: Anchor
    place: Literal["body", "appendix"]
    end: int = -1  # offset after the table's last character in the text
    row_anchors: tuple[Anchor, ...] = ()  # a row each

    @property
    def columns(self) -> int:
        return len(self.grid[0]) if self.grid else 0

    def column_headers(self, column: int) -> tuple[str, ...]:
        """Header texts above a column, top down, repeated ones once."""
        seen: list[str] = []
        for row in self.grid[: self.header_rows]:
            cell = row[column]
            if cell and cell.text and cell.text not in seen:
                seen.append(cell.text)
        return tuple(seen)

    def row_headers(self, row: int) -> tuple[str, ...]:
        """The group row above (a cell over the whole width), then the texts left of the row's first number."""
        heads: list[str] = [group] if (group := self.groups[row]) else []
        for cell in self.grid[row]:
            if cell is None or not cell.text:
                continue
            if cell.value is not None and heads:
                break
            if cell.text not in heads:
                heads.append(cell.text)
            if cell.value is not None:
                break
        return tuple(heads)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The heading of the nearest group row above each row, or ""."""
        found: list[str] = []
        group = ""
        for row, cells in enumerate(self.grid):
            found.append(group)
            first = cells[0] if cells and row >= self.header_rows else None
            if first and first.text and first.value is None and self.is_group_row(row):
                group = first.text
        return tuple(found)

    def is_group_row(self, row: int) -> bool:
        """One text for the whole row: a heading inside the table's body."""
        filled = {id(c): c for c in self.grid[row] if c is not None and c.text}
        return len(filled) == 1 and next(iter(filled.values())).value is None

    def numeric_cells(self) -> tuple[Cell, ...]:
        """Cells of the body that hold a number, row by row, each spanning cell once."""
        return tuple(
            c
            for r, row in enumerate(self.grid[self.header_rows :], self.header_rows)
            for k, c in enumerate(row)
            if c is not None and c.value is not None and (c.row, c.column) == (r, k)
        )


@dataclass(frozen=True, slots=True)
class Figure:
    number: str
    label: str
    caption: str
    graphics: tuple[str, ...]
    anchor: Anchor
    place: Literal["body", "appendix"]


@dataclass(frozen=True, slots=True)
class InventoryItem:
    kind: Literal["table", "figure"]
    number: str
    label: str
    caption: str
    referred_from: tuple[str, ...]
    results: bool  # a table that holds numeric result cells
    anchor: Anchor
    place: Literal["body", "appendix"]


@dataclass(frozen=True, slots=True)
class ComputeMention:
    quote: str
    anchor: Anchor
    devices: tuple[str, ...] = ()
    count: int | None = None
    hours: float | None = None  # midpoint when a range is printed
    hours_range: tuple[float, float] | None = None
    hours_kind: Literal["wall", "device"] | None = None
    epochs: int | None = None
    steps: int | None = None
    time_per_step: float | None = None
    time_per_epoch: float | None = None
    flops: float | None = None
    cost_usd: float | None = None
    scope: Literal["run", "seed", "table", "paper"] | None = None
    includes_failed: bool = False
    denial: bool = False
    acknowledgement: bool = False
    cpu_only: bool = False
    inherited: bool = False  # device and count come from a clause or sentence nearby, memory and form named with them
    subject: str = ""  # words of the clause that say what took the time
    sentence: str = ""  # the whole sentence; `quote` is its clause
