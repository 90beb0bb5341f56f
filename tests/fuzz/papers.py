"""What a paper's LaTeX and its archives can hold: mutated real sources, token soup, tables, damaged archives."""

from __future__ import annotations

import io
import math
import random
import tarfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pipeline import archives, editions
from pipeline.paper import NoPaper, Table, find_numbers, parse_number, read
from tests.fuzz.running import Target

_WORDS = r"""
\section{ \subsection{ \caption{ \footnote{ \href{http://a.org/x}{ \url{ \textbf{ \multirow{2}{*}{
\begin{table} \end{table} \begin{tabular}{lcc} \end{tabular} \begin{figure} \end{figure} \hline & \\
\newcommand{\x}[1]{#1#1} \x{ \def\y{\y} \y \input{main} \iffalse \fi \else \ifx\a\b % $ $$ { } [ ] ~ ^ _ #
8 A100 GPUs for 3 days 12 hours 1,200 GPU-hours TPU v3-8 0.645 96.4 ± 0.2 (0.1, 0.2) é
"""
TOKENS = [*_WORDS.split(), "\x00", "\ufb01", "\u202e"]


@cache
def sources() -> tuple[bytes, ...]:
    """What mutations start from: the sample world's papers, and real ones where they lie beside the checkout."""
    real = Path(__file__).resolve().parents[3] / "shared" / "realworld" / "papers"
    folders = [editions.data("offline", "sample-2025", "papers"), *([real] if real.is_dir() else [])]
    return tuple(p.read_bytes() for folder in folders for p in sorted(folder.glob("*/src/**/*.tex")))


def mutated(data: bytes, draw: random.Random) -> bytes:
    """A few cuts, repeats, swaps and noise bytes."""
    out = bytearray(data[: draw.randrange(1, 60_000)])
    for _ in range(draw.randrange(1, 12)):
        at = draw.randrange(len(out) + 1)
        kind = draw.randrange(4)
        if kind == 0:
            del out[at : at + draw.randrange(1, 400)]
        elif kind == 1:
            out[at:at] = out[at : at + draw.randrange(1, 200)] * draw.randrange(1, 40)
        elif kind == 2:
            out[at:at] = draw.choice(TOKENS).encode() * draw.randrange(1, 30)
        else:
            out[at:at] = draw.randbytes(draw.randrange(1, 30))
    return bytes(out)


def soup(draw: random.Random) -> bytes:
    body = " ".join(draw.choices(TOKENS, k=draw.randrange(1, 1500)))
    return rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}".encode()


def a_reading(seed: int) -> None:
    draw, corpus = random.Random(seed), sources()
    data = soup(draw) if draw.random() < 0.4 else mutated(draw.choice(corpus), draw)
    try:
        paper = read({"main.tex": data, "other.tex": draw.choice(corpus)[:2000]})
    except NoPaper:
        return
    assert all(0 <= s.start <= s.end <= len(paper.text) for s in paper.sections)
    assert all(-1 <= link.anchor.offset <= len(paper.text) for link in paper.links)
    for table in paper.tables:
        whole(table)
    assert all(mention.quote for mention in paper.compute)


def an_archive(seed: int) -> None:
    draw, corpus = random.Random(seed), sources()
    files = {
        f"{draw.choice(['a', '../b', '/c', 'd/e', 'f' * 300])}{i}.tex": draw.choice(corpus)[:500] for i in range(5)
    }
    out = io.BytesIO()
    if draw.random() < 0.5:
        with zipfile.ZipFile(out, "w", draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as packed:
            for name, data in files.items():
                packed.writestr(name, data)
    else:
        with tarfile.open(fileobj=out, mode=draw.choice(["w", "w:gz", "w:bz2", "w:xz"])) as tar:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    data = bytearray(out.getvalue())
    for _ in range(draw.randrange(0, 20)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    try:
        unpacked = archives.unpack(bytes(data[: draw.randrange(1, len(data) + 1)]), archives.SUPPLEMENT)
    except archives.Refused:
        return
    assert not any(name.startswith("/") or ".." in name.split("/") for name in unpacked.files)


def whole(table: Table) -> None:
    """A grid is rectangular, each cell stands where it says, and a number is one that can be counted with."""
    assert all(len(row) == table.columns for row in table.grid)
    assert len(table.directions) == table.columns
    assert 0 <= table.header_rows <= len(table.grid)
    for r, row in enumerate(table.grid):
        table.row_headers(r)
        for k, cell in enumerate(row):
            if cell is None:
                continue
            down = cell.rowspan if cell.rowspan > 0 else 1  # a negative one spans upwards from where it is written
            assert cell.row - max(0, -cell.rowspan - 1) <= r < cell.row + down, (r, k, cell)
            assert cell.column <= k < cell.column + cell.colspan, (r, k, cell)
            assert cell.value is None or math.isfinite(cell.value), cell
            assert cell.uncertainty is None or (math.isfinite(cell.uncertainty) and cell.uncertainty >= 0), cell
    for k in range(table.columns):
        table.column_headers(k)


# Tables of plain cells read back as they were written; tables of anything keep their shape.

plain = st.one_of(
    st.sampled_from(["ours", "Base", "n/a", "ResNet 18", ""]),
    st.floats(0.001, 9999).map(lambda x: f"{x:.2f}"),
    st.integers(0, 99999).map(str),
)
_SPOILT = [
    r"\multicolumn{2}{c}{x}", r"\multirow{2}{*}{y}", r"\multicolumn{99}{c}{1}", r"\multirow{-3}{*}{2}", r"\textbf{",
    r"\hline", r"\cline{1-2}", r"\\", "&", "}", "{", "$", r"\makecell{a\\b}", r"$\pm$", "0.5(3)", "1e400", r"\&", "%",
    r"\begin{tabular}{c}1\end{tabular}", r"\multicolumn{0}{c}{z}", r"\multicolumn{x}{}{}", r"\num{1e-3}", "10^{-3}",
]  # fmt: skip
spoilt = st.lists(st.one_of(plain, st.sampled_from(_SPOILT)), max_size=40).map(" ".join)
grids = st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(plain, min_size=n, max_size=n), min_size=1, max_size=6))


def document(rows: str, spec: str) -> dict[str, bytes]:
    return {
        "m.tex": (
            rf"\documentclass{{article}}\begin{{document}}\begin{{table}}\caption{{c}}"
            rf"\begin{{tabular}}{{{spec}}}{rows}\end{{tabular}}\end{{table}}\end{{document}}"
        ).encode()
    }


def a_table(given: Any) -> None:
    if isinstance(given, str):
        for table in read(document(given, "lcc")).tables:
            whole(table)
        return
    rows = "\n".join(" & ".join(row) + r" \\" for row in given)
    tables = read(document(rows, "l" * len(given[0]))).tables
    filled = [row for row in given if any(row)]
    assert len(tables) == 1 or len(filled) < 2 or len(given[0]) < 2, "what looks like a table is one"
    for table in tables:
        whole(table)
        assert [[c.text if c else "" for c in row] for row in table.grid if any(c and c.text for c in row)] == filled
        for cell in (c for row in table.grid for c in row if c is not None):
            printed = parse_number(cell.text)
            assert cell.value == (None if printed is None else printed.value)


# Numbers as papers print them.

_PRINTED = r"""
80 .5 1,234 12.5 % ± \pm 0.2 (3) (0.4) $ \textbf{ } x k - − e-3 \times 10^{-3} ^ _ { / [ ] , ↑ * < ~ to ms [1,2]
\hspace{1em} 95% e999 e-999 ٣ ² ,, 1,23 (99) +-
"""
printed = st.lists(
    st.one_of(
        st.sampled_from(_PRINTED.split()),
        st.just(" "),
        st.text(max_size=3),
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
    ),
    min_size=1,
    max_size=8,
).map("".join)


def a_number(text: str) -> None:
    for number in (parse_number(text), *find_numbers(text)):
        if number is None:
            continue
        assert math.isfinite(number.value), number
        assert number.uncertainty is None or (math.isfinite(number.uncertainty) and number.uncertainty >= 0), number
        again = parse_number(repr(number.value))
        assert again is not None and again.value == number.value, (number, again)  # noqa: PT018


seeds = st.integers(0, 2**48)
TARGETS = (
    Target("reader", seeds, a_reading, round=40, few=2),
    Target("archives", seeds, an_archive, round=100, few=8),
    Target("tables", st.one_of(grids, spoilt), a_table, round=150, few=25),
    Target("numbers", printed, a_number, round=500, few=30),
)
