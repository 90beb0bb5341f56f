"""Tables as grids of typed cells."""

import time

from pipeline.paper import Table, read


def table(rows: str, spec: str = "lccc", caption: str = "c", preamble: str = "") -> Table:
    source = (
        f"\\documentclass{{article}}{preamble}\\begin{{document}}\\begin{{table}}\\caption{{{caption}}}"
        f"\\begin{{tabular}}{{{spec}}}{rows}\\end{{tabular}}\\end{{table}}\\end{{document}}"
    )
    found = read({"m.tex": source.encode()}).tables
    assert len(found) == 1
    return found[0]


def texts(t: Table) -> list[list[str]]:
    return [[c.text if c else "" for c in row] for row in t.grid]


def test_spanning_cells_stand_in_every_place_they_cover() -> None:
    t = table(
        "\\toprule & \\multicolumn{2}{c}{CIFAR} & X \\\\ \\cmidrule(lr){2-3} Model & Acc $\\uparrow$ & Err $\\downarrow$ & Y \\\\ \\midrule"  # noqa: E501
        "\\multirow{2}{*}{Big} & 1 & 2 & 3 \\\\ & 4 & 5 & 6 \\\\ \\bottomrule"
    )
    assert texts(t) == [
        ["", "CIFAR", "CIFAR", "X"],
        ["Model", "Acc ↑", "Err ↓", "Y"],
        ["Big", "1", "2", "3"],
        ["Big", "4", "5", "6"],
    ]
    assert t.header_rows == 2
    assert t.column_headers(1) == ("CIFAR", "Acc ↑")
    assert t.row_headers(3)[0] == "Big"
    assert t.directions[1:3] == ("higher", "lower")


def test_bold_colour_phantoms_and_siunitx_do_not_hide_the_number() -> None:
    t = table(
        "m & \\textbf{45.68 $\\pm$ 0.16} & \\textcolor[rgb]{0.2,0.2,0.2}{0.645} & $\\phantom{0}5.0$ \\\\"
        "n & \\num{1.2e-3} & \\SI{3}{\\percent} & $\\mathbf{0.951 {\\pm} 0.001}$ \\\\"
        "o & {\\bf .896} & \\cellcolor{red!20}\\underline{11,264x} & 10$^{-3}$ \\\\"
    )
    values = [[c.value for c in row[1:] if c] for row in t.grid]
    assert values == [[45.68, 0.645, 5.0], [0.0012, 3.0, 0.951], [0.896, 11264.0, 0.001]]
    first, last = t.grid[0][1], t.grid[1][3]
    assert first is not None
    assert last is not None
    assert (first.bold, first.uncertainty) == (True, 0.16)
    assert (last.bold, last.uncertainty) == (True, 0.001)
    percent, x = t.grid[1][2], t.grid[2][2]
    assert percent is not None
    assert percent.percent
    assert x is not None
    assert (x.underline, x.unit) == (True, "x")


def test_s_columns_read_uncertainty_in_parentheses() -> None:
    t = table("{Model} & {Acc} \\\\ \\midrule a & 0.123(4) \\\\ b & 2.5 +- 0.3 \\\\", spec="lS")
    cells = [row[1] for row in t.grid[1:]]
    assert [(c.value, c.uncertainty) for c in cells if c] == [(0.123, 0.004), (2.5, 0.3)]


def test_group_rows_head_the_rows_below_them() -> None:
    t = table("M & a & b & c \\\\ \\hline \\multicolumn{4}{c}{Open models} \\\\ x & 1 & 2 & 3 \\\\")
    assert t.row_headers(2)[:2] == ("Open models", "x")


def test_macros_in_cells_are_expanded_and_line_breaks_stay_in_the_cell() -> None:
    t = table(
        "\\makecell{two\\\\lines} & \\best{1.5}{+0.2} & x & y \\\\ a & 2 & 3 & 4 \\\\",
        preamble="\\newcommand{\\best}[2]{\\textbf{#1}}",
    )
    assert texts(t)[0] == ["two lines", "1.5", "x", "y"]
    assert t.grid[0][1] is not None
    assert t.grid[0][1].bold


def test_a_tabular_with_captionof_outside_a_float_is_in_the_inventory() -> None:
    source = (
        b"\\documentclass{article}\\begin{document}\\begin{minipage}{1cm}\\captionof{table}{Scores.}"
        b"\\begin{tabular}{lc}A & 1.5 \\\\ B & 2.5\\end{tabular}\\end{minipage}\\end{document}"
    )
    p = read({"m.tex": source})
    assert [(i.kind, i.number, i.caption, i.results) for i in p.inventory] == [("table", "1", "Scores.", True)]
    assert p.tables[0].caption == "Scores."


def test_a_table_reads_as_a_table_in_the_text() -> None:
    source = b"\\documentclass{a}\\begin{document}\\begin{tabular}{lc}M & A \\\\ \\hline x & 1 \\\\\\end{tabular}\\end{document}"  # noqa: E501
    p = read({"m.tex": source})
    assert "| M | A |\n| --- | --- |\n| x | 1 |" in p.text
    t = p.tables[0]
    assert p.text[t.anchor.offset : t.end].startswith("| M | A |")


def test_intervals_and_raised_uncertainties_are_spreads_around_the_value() -> None:
    t = table(
        "a & \\textbf{0.512} (0.48, 0.54) & 77.4 \\small{[76.1, 78.9]} & $85.2_{\\pm 0.3}$ \\\\"
        "b & $0.51^{+0.02}_{-0.04}$ & 0.6 (95\\% CI 0.5--0.7) & 12 (3, 5) \\\\"
    )
    got = [[(c.value, c.uncertainty) for c in row[1:] if c] for row in t.grid]
    assert got == [[(0.512, 0.03), (77.4, 1.4), (85.2, 0.3)], [(0.51, 0.03), (0.6, 0.1), (None, None)]]
    assert t.grid[0][1] is not None
    assert t.grid[0][1].bold


def test_headers_of_a_table_of_thousands_of_rows_are_found_quickly() -> None:
    t = table("M & a & b & c \\\\ \\hline \\multicolumn{4}{c}{Group} \\\\" + "x & 1 & 2 & 3 \\\\" * 3_000)
    start = time.process_time()
    assert all(t.row_headers(k)[:2] == ("Group", "x") for k in range(2, len(t.grid)))
    assert time.process_time() - start < 2
