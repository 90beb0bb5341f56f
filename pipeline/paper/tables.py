"""Tabular material: cells as they are read, then a grid of typed cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from pipeline.paper import symbols
from pipeline.paper.model import Cell, Direction
from pipeline.paper.notes import RawLink
from pipeline.paper.numbers import parse_number
from pipeline.paper.render import Renderer
from pipeline.paper.tokens import Source

MAX_COLUMNS = 200
MAX_CELLS = 40_000  # of one table, spanned places included

_LOWER = re.compile(
    r"\b(?:g?r?s?FID(?:-\w+)?|KID|sFID|perplexity|ppl|loss|(?<!standard )error(?! bars?)|err\.?|MSE|RMSE|MAE|MAPE|NLL"
    r"|WER|CER|LPIPS|latency|runtime|time"
    r"|bits per (?:byte|dim)|BPD|regret|EER|FPR95?|ECE|FVD|NFE|violation|distance|divergence|memory)\b",
    re.IGNORECASE,
)
_HIGHER = re.compile(
    r"\b(?:acc(?:uracy|\.)?|F1|AUC|AUROC|AUPRC|BLEU(?:-\d)?|ROUGE(?:-\w+)?|METEOR|CIDEr|mAP|AP\d*|IoU|mIoU|PSNR|SSIM|precision|recall"
    r"|EM|exact match|success(?: rate)?|reward|return|win.?rate|score|pass@\d+|R2|R\^2|IS"
    r"|inception score|dice|MRR|NDCG(?:@\d+)?|hits?@\d+"
    r"|throughput|speed-?up|savings)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class RawCell:
    text: str
    raw: str
    bold: bool
    underline: bool
    colspan: int = 1
    rowspan: int = 1


@dataclass(slots=True)
class Tabular:
    """A finished tabular: rows of raw cells, where rules stood, where it stands."""

    rows: list[list[RawCell]]
    rules: list[int]  # rows before which a full rule was drawn
    s_columns: frozenset[int]
    source: Source | None
    index: int
    row_indices: list[int]
    start: int = -1
    end: int = -1
    appendix: bool = False
    item: object | None = None  # the float or caption it belongs to
    subcaption: str = ""
    nested: bool = False
    row_starts: list[int] = field(default_factory=list)
    grid: tuple[tuple[Cell | None, ...], ...] = ()
    header_rows: int = 0


class OpenTabular:
    """The tabular being read: `&` and `\\\\` at its own group depth end cells and rows."""

    __slots__ = (
        "bold",
        "cell_index",
        "cells",
        "colspan",
        "depth",
        "first_link",
        "indices",
        "outer",
        "row",
        "row_index",
        "rows",
        "rowspan",
        "rules",
        "s_columns",
        "source",
        "start_index",
        "underline",
    )

    def __init__(self, r: Renderer, spec: str) -> None:
        self.depth = len(r.groups)
        self.outer = r.cell
        self.rows: list[list[RawCell]] = []
        self.indices: list[int] = []
        self.row: list[RawCell] = []
        self.rules: list[int] = []
        self.bold = self.underline = False
        self.colspan = self.rowspan = 1
        self.cells = 0
        self.source, self.start_index = r.tex.here()
        self.row_index = self.cell_index = self.start_index + 1
        self.s_columns = s_columns(spec)
        self.first_link = len(r.notes.links)

    def end_cell(self, r: Renderer) -> None:
        text = "".join(r.out).strip()
        r.out, r.pos, r.space = [], 0, True
        source, index = r.tex.here()
        raw = ""
        if source is not None and source is self.source and index >= self.cell_index:
            start, end = source.offsets[self.cell_index], source.offsets[min(index, len(source.tokens))]
            raw = source.text[start : min(end, start + 2_000)].strip()
        self.row.append(RawCell(text, raw, self.bold, self.underline, self.colspan, self.rowspan))
        self.bold = self.underline = False
        self.colspan = self.rowspan = 1
        self.cell_index = index + 1
        r.math = False

    def end_row(self, r: Renderer) -> None:
        self.end_cell(r)
        if len(self.row) > 1 or self.row[0].text:
            self.cells += len(self.row)
            if self.cells < MAX_CELLS:
                self.rows.append(self.row[:MAX_COLUMNS])
                self.indices.append(self.row_index)
        self.row = []
        self.row_index = self.cell_index

    def rule(self) -> None:
        self.rules.append(len(self.rows))


def s_columns(spec: str) -> frozenset[int]:
    """Which columns of a specification are siunitx S columns."""
    for _ in range(20):
        repeated = re.search(r"\*\s?\{(\d{1,3})\}\s?\{([^{}]*)\}", spec)
        if not repeated:
            break
        spec = spec[: repeated.start()] + repeated[2] * min(int(repeated[1]), MAX_COLUMNS) + spec[repeated.end() :]
        if len(spec) > 10_000:
            break
    spec = re.sub(r"\[[^\]]*\]|[@!><]\s?\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", "", spec[:10_000])
    spec = re.sub(r"\{[^{}]*\}", "", spec)
    letters = [c for c in spec if c.isalpha()]
    return frozenset(k for k, c in enumerate(letters) if c == "S")


def begin_tabular(r: Renderer, token: str) -> None:
    name = token[7:-1]
    pattern = symbols.TABULARS.get(name, "o")
    r.tex.skip(pattern)
    spec = "".join(r.tex.argument())
    if r.cell is not None and r.buffers:
        # a table inside a cell is how authors break lines in it
        r.open_env(name)
        r.groups.append(None)
        return
    floating = name in symbols.FLOATS
    if floating:
        r.tex.table["\x02open_float"](r, name)
    r.open_buffer()
    table = OpenTabular(r, spec)
    math = r.math
    r.math = False

    def end() -> None:
        finish(r, table)
        r.math = math
        if floating:
            r.tex.table["\x02close_float"](r, name)

    r.open_env(name, end)
    r.cell = table
    table.depth = len(r.groups)


def finish(r: Renderer, table: OpenTabular) -> None:
    table.end_row(r)
    r.close_buffer()
    r.cell = table.outer
    if not table.rows:
        return
    done = Tabular(
        table.rows, table.rules, table.s_columns, table.source, table.start_index, table.indices, appendix=r.appendix
    )
    done.grid = grid_of(done)
    done.header_rows = header_rows(done)
    inside: list[RawLink] = [k for k in r.notes.links[table.first_link :] if k.level > len(r.buffers) and k.start >= 0]
    if (len(done.rows) == 1 and len(done.rows[0]) == 1) or not any(len(row) > 1 for row in done.rows):
        # a box, not a table
        start = r.pos
        r.blank()
        r.emit(" ".join(c.text for row in done.rows for c in row))
        r.blank()
        text = "".join(r.out[-3:]) if r.out else ""
        relocate(inside, start, text, r)
        return
    r.paragraph() if not r.buffers else r.blank()
    done.start = r.pos
    lines = text_lines(done)
    offset = r.pos
    for line, is_row in lines:
        if is_row:
            done.row_starts.append(offset)
        offset += len(line) + 1
    if not r.buffers:
        for start, index in zip(done.row_starts, done.row_indices, strict=False):
            frame_base = base_of(r, table.source)
            if frame_base is not None:
                r.notes.map_offsets.append(start)
                r.notes.map_tokens.append(frame_base + index)
    text = "\n".join(line for line, _ in lines)
    r.emit(text)
    done.end = r.pos
    relocate(inside, done.start, text, r)
    r.notes.marks.append((done.start, done.end, "table"))
    r.paragraph()
    if not r.buffers:
        r.tables.append(done)
        r.tex.table["\x02own_table"](r, done)


def base_of(r: Renderer, source: Source | None) -> int | None:
    frame = r.tex.file_frame()
    if frame.source is source and source is not None:
        return frame.base
    for base, candidate in zip(reversed(r.tex.bases), reversed(r.tex.based), strict=True):
        if candidate is source:
            return base
    return None


def relocate(links: list[RawLink], start: int, text: str, r: Renderer) -> None:
    """Links written into cells, moved to where the cell's text now stands."""
    for link in links:
        shown = link.text or link.url
        at = text.find(link.url) if link.url in text else text.find(shown)
        link.start = start + max(at, 0)
        link.end = link.start + (len(shown) if at >= 0 else 0)
        link.level = len(r.buffers)


def text_lines(table: Tabular) -> list[tuple[str, bool]]:
    lines: list[tuple[str, bool]] = []
    for k, row in enumerate(table.grid):
        texts = []
        for column, cell in enumerate(row):
            shown = cell is not None and cell.column == column and cell.row == k
            texts.append(cell.text.replace("|", "¦") if shown and cell is not None else "")
        lines.append(("| " + " | ".join(texts) + " |", True))
        if k + 1 == table.header_rows:
            lines.append(("|" + " --- |" * len(row), False))
    return lines


def _arrow(text: str) -> Literal["up", "down"] | None:
    up, down = "↑" in text or "▲" in text, "↓" in text or "▼" in text
    return "up" if up and not down else "down" if down and not up else None


def grid_of(table: Tabular) -> tuple[tuple[Cell | None, ...], ...]:
    """Rows of equal width; a cell that spans rows or columns stands in every place it covers."""
    width = min(max(sum(max(c.colspan, 1) for c in row) for row in table.rows), MAX_COLUMNS)
    height = len(table.rows)
    if width * height > 4 * MAX_CELLS:
        height = max(1, 4 * MAX_CELLS // width)
    grid: list[list[Cell | None]] = [[None] * width for _ in range(height)]
    spanning: list[Cell] = []
    for i, row in enumerate(table.rows[:height]):
        column = 0
        for raw in row:
            if column >= width:
                break
            cell = typed(raw, i, column, column in table.s_columns, min(raw.colspan, width - column))
            for k in range(column, column + cell.colspan):
                grid[i][k] = cell
            if abs(cell.rowspan) > 1:
                spanning.append(cell)
            column += cell.colspan
    for cell in spanning:
        rows = range(cell.row + 1, min(cell.row + cell.rowspan, height))
        if cell.rowspan < 0:
            rows = range(max(cell.row + cell.rowspan + 1, 0), cell.row)
        for i in rows:
            for k in range(cell.column, min(cell.column + cell.colspan, width)):
                there = grid[i][k]
                if there is None or not there.text:
                    grid[i][k] = cell
    return tuple(tuple(row) for row in grid)


def typed(raw: RawCell, row: int, column: int, numeric: bool, colspan: int) -> Cell:
    text = raw.text
    if numeric:
        text = re.sub(r"\s*(?:\+-|\+/-)\s*", " ± ", text)
    number = parse_number(text)
    return Cell(
        text=text,
        raw=raw.raw,
        value=number.value if number else None,
        uncertainty=number.uncertainty if number else None,
        bold=raw.bold,
        underline=raw.underline,
        arrow=_arrow(text),
        unit=number.unit if number else "",
        percent=bool(number and number.percent),
        row=row,
        column=column,
        rowspan=raw.rowspan,
        colspan=max(colspan, 1),
    )


def _numeric(row: tuple[Cell | None, ...]) -> int:
    return sum(c is not None and c.value is not None for c in row[1:])


def header_rows(table: Tabular) -> int:
    """Rows above the first rule that follows a row; without one, the rows before the first row of numbers."""
    height = len(table.grid)
    rules = [k for k in table.rules if 0 < k < height]
    first_numeric = next((k for k, row in enumerate(table.grid) if _numeric(row)), None)
    if rules:
        count = rules[0]
        # \hline between header rows: go on while a rule follows rows without numbers
        for rule in rules[1:]:
            if first_numeric is None or rule > first_numeric or count >= first_numeric:
                break
            rows = table.grid[count:rule]
            if any(len({id(c) for c in row if c and c.text}) <= 1 for row in rows) and count:
                break
            count = rule
        if count <= max(3, height // 2):
            return count
    if first_numeric is None:
        return 1 if height > 1 else 0
    return min(first_numeric, 3) if first_numeric else 0


def directions(grid: tuple[tuple[Cell | None, ...], ...], header: int, caption: str) -> tuple[Direction | None, ...]:
    """Which way is better, a column each: arrows first, then metric words, then the caption."""
    if not grid:
        return ()
    words = caption.lower()
    both = "higher" in words and "lower" in words
    general: Direction | None = None
    if not both and re.search(
        r"lower (?:values? )?(?:is|are|=|indicates?) ?(?:better)?|smaller is better|\(↓\)", words
    ):
        general = "lower"
    elif not both and re.search(r"(?:higher|larger) (?:values? )?(?:is|are|=) ?better|\(↑\)", words):
        general = "higher"
    metric: Direction | None = None
    if _LOWER.search(caption) and not _HIGHER.search(caption):
        metric = "lower"
    elif _HIGHER.search(caption) and not _LOWER.search(caption):
        metric = "higher"
    found: list[Direction | None] = []
    for column in range(len(grid[0])):
        heads = [c.text for row in grid[:header] if (c := row[column]) is not None and c.text]
        text = " ".join(reversed(heads))
        arrow = _arrow(text)
        if arrow:
            found.append("higher" if arrow == "up" else "lower")
        elif _LOWER.search(text) and not _HIGHER.search(text):
            found.append("lower")
        elif _HIGHER.search(text) and not _LOWER.search(text):
            found.append("higher")
        else:
            found.append(general or (metric if column else None))
    return tuple(found)
