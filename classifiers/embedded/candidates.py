"""Step 2 of the guide: every number the paper prints for its own method, from tables and from running text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from classifiers.embedded.claim import Claim, OwnNames
from classifiers.embedded.words import (
    ABLATED,
    ABLATION_TABLE,
    EXPENSE,
    LOWER,
    NOT_RESULT,
    OURS,
    metrics_in,
    squeezed,
    words,
)
from pipeline.paper import Cell, Number, Paper, Sentence, Table

_BASELINE_BEFORE = re.compile(
    r"\b(from|than|against|versus|vs\.?|compared (?:with|to)|over|for (?:the )?(?:baseline|plain)|only"
    r"|respectively from)\s*(?:the\s+)?(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
_VALUE_BEFORE = re.compile(
    r"\b(reach\w*|achiev\w*|attain\w*|obtain\w*|of|to|at|is|are|by|solves?|with|an?|up to|yield\w*|scores?|about"
    r"|around|nearly|roughly)\s*[~≈∼]?\s*$",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(r"\b(reduction|speed-?up|savings?|improvement|gain|delta|vs\.?)\b|Δ", re.IGNORECASE)
_RANGE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s?%?\s?(?:–|-|--|to)\s?(\d+(?:\.\d+)?)\s?(%|×|x\b)")
_AVERAGE = re.compile(r"\b(avg|average|mean|overall|macro|all|total)\b", re.IGNORECASE)
THRESHOLD_BEFORE = re.compile(
    r"(\bat least|\bmore than|\bunder|\bbelow|\bless than|\babove|\bexceed\w*|[<>≤≥])\s*$", re.IGNORECASE
)
_AMOUNTS = frozenset(("k", "K", "M", "B", "G", "T", "GB", "MB", "h", "min", "hours", "minutes"))
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?([MB])(?![A-Za-z])")
_PRECISION = re.compile(
    r"\b(identity|baseline|original|source|vanilla|naive|random|human|oracle|upper bound|gold)\b", re.IGNORECASE
)


_OWN_REASONS = frozenset(("own", "own, since others cite", "the table's best row", "the caption's own"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One printed number. `weigh` are the reasons with their weights; a table's cell or a sentence of the text."""

    value: str
    number: float
    unit: str
    table: Table | None = None
    cell: Cell | None = None
    sentence: Sentence | None = None
    row_text: str = ""
    column_text: str = ""
    weigh: tuple[tuple[str, float], ...] = ()
    stated: bool = False
    order: int = 0

    @property
    def score(self) -> float:
        return round(sum(w for _, w in self.weigh), 6)

    @property
    def is_own(self) -> bool:
        return any(reason in _OWN_REASONS for reason, _ in self.weigh)

    @property
    def why(self) -> str:
        return ", ".join(f"{reason} {weight:+g}" for reason, weight in self.weigh if abs(weight) >= 0.1)

    @property
    def item(self) -> str:
        return f"table {self.table.number}" if self.table is not None else "text"

    @property
    def where(self) -> str:
        """All words around the number: caption, headers, or the sentence."""
        if self.table is not None:
            return f"{self.table.caption} {self.row_text} {self.column_text}"
        return self.sentence.text if self.sentence else ""


@dataclass(frozen=True, slots=True)
class Stated:
    """Numbers the paper repeats in prose, with how much that says: the claim's own first, then abstract, then
    conclusion.
    """

    numbers: tuple[tuple[Number, float, str], ...] = field(default=())
    ranges: tuple[tuple[float, float, float], ...] = field(default=())

    def weight(self, value: float, unit: str, *, ratio: bool) -> tuple[str, float]:
        """`ratio`: the cell is a ratio or difference, which alone a number such as 8x can be."""
        for number, weight, place in self.numbers:
            if number.factor_x and not ratio:
                continue
            if same_printed(number, value) and not (unit in _AMOUNTS and (number.percent or number.factor_x)):
                return f"the {place} prints {number.text}", weight
        return "", 0.0

    def within(self, value: float) -> tuple[str, float]:
        """Whether prose gives a range, such as 33–35%, that holds this percentage."""
        for low, high, weight in self.ranges:
            if low - 0.5 <= abs(value) <= high + 0.5:
                return f"the prose says {low:g} to {high:g}", weight
        return "", 0.0


def same_printed(number: Number, value: float) -> bool:
    """Whether prose prints this value, rounded as prose rounds, in percent or as a share."""
    plain = number.text.strip("% x×")
    match = re.search(r"[\d,]*\.?\d+", plain)
    if match is None:
        return False
    digits = match[0]
    decimals = len(digits.split(".")[1]) if "." in digits else 0
    significant = len(digits.replace(".", "").replace(",", "").lstrip("0"))
    if significant < 2 or (decimals == 0 and not (number.percent or number.factor_x) and number.value < 1000):
        return False
    scales = (1.0, 100.0) if number.percent else (1.0,)
    return any(abs(round(abs(value) * k, decimals) - abs(number.value)) < 0.5 * 10 ** -(decimals + 3) for k in scales)


def stated_numbers(paper: Paper, claim: Claim | None) -> Stated:
    """Results in prose: claim, rest of the abstract, contributions and conclusion."""
    found: list[tuple[Number, float, str]] = []
    if claim is not None:
        found += [(n, 6.0, "claim") for n in result_numbers(paper, claim.sentence)]
        for text in claim.support:
            found += [(n, 4.0, "abstract") for n in result_numbers(paper, text)]
    for sentence in paper.sentences():
        if sentence.place == "abstract" and (claim is None or sentence.text not in (claim.sentence, *claim.support)):
            found += [(n, 2.5, "abstract") for n in result_numbers(paper, sentence.text)]
        elif (
            re.search(r"\b(introduction|conclu|contribution)", sentence.section, re.IGNORECASE)
            and not sentence.appendix
        ):
            found += [(n, 1.5, "introduction or conclusion") for n in result_numbers(paper, sentence.text)]
    prose = [(claim.sentence, 5.0), *((text, 3.5) for text in claim.support)] if claim is not None else []
    ranges = [(float(m[1]), float(m[2]), weight) for text, weight in prose for m in _RANGE.finditer(text)]
    return Stated(tuple(found), tuple(r for r in ranges if r[0] < r[1]))


def result_numbers(paper: Paper, sentence: str) -> list[Number]:
    """Numbers of a sentence that can be a result of the own work: not counts, not what it is compared with."""
    kept: list[Number] = []
    for number in paper.numbers_in(sentence):
        if number.unit in _AMOUNTS or number.unit == "hour":
            continue
        digits = number.text.strip("% x×+-")
        whole = "." not in digits
        if whole and not (number.percent or number.factor_x) and (number.value < 1000 or number.value % 100 == 0):
            continue
        if whole and 1900 <= number.value <= 2100 and not number.percent:
            continue
        if _BASELINE_BEFORE.search(sentence[: number.start]):
            continue
        kept.append(number)
    return kept


def table_candidates(paper: Paper, own: OwnNames, claim: Claim | None, stated: Stated) -> Iterator[Candidate]:
    """Cells of results tables, weighed. Cells of baselines are kept too: the claim may be a finding about them."""
    claimed = words(f"{claim.sentence} {' '.join(claim.support)}") if claim else frozenset()
    core = words(claim.sentence) if claim else frozenset()
    claim_metrics = frozenset(metrics_in(f"{claim.sentence} {' '.join(claim.support)}")) if claim else frozenset()
    results = {(i.number, i.anchor.file) for i in paper.inventory if i.kind == "table" and i.results}
    for index, table in enumerate(paper.tables):
        if table.number and (table.number, table.anchor.file) not in results:
            continue
        mine = _own_lines(table, own)
        base = list(_table_weights(table, index, own, core, mine))
        sizes = _smallest_size(table)
        for cell in table.numeric_cells():
            weigh = [*base, *_cell_weights(table, cell, mine, own, claimed, claim_metrics, stated, sizes)]
            row_text, column_text = (
                " / ".join(table.row_headers(cell.row)),
                " / ".join(table.column_headers(cell.column)),
            )
            if cell.value is None:
                continue
            yield Candidate(
                value=cell.text,
                number=cell.value,
                unit="%" if cell.percent or cell.unit == "%" else cell.unit,
                table=table,
                cell=cell,
                row_text=row_text,
                column_text=column_text,
                weigh=tuple(w for w in weigh if w[1]),
                stated=any(w[0].startswith("the ") and "prints" in w[0] for w in weigh),
                order=index * 1_000_000 + cell.row * 1000 + cell.column,
            )


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


def _own_lines(table: Table, own: OwnNames) -> Own:
    """Named lines; else lines without a citation beside lines with one; else the line with most bold cells; else
    all, if the caption says so.
    """
    body = [r for r in range(table.header_rows, len(table.grid)) if not table.is_group_row(r)]
    label = {r: table.row_headers(r) for r in body}
    rows = frozenset(r for r in body if _is_own(label[r], own))
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


def _plain(label: str, own: OwnNames) -> bool:
    """Whether a line is the method itself, not a variant of it: its name, or "ours", and nothing added."""
    bare = squeezed(re.sub(r"\(?\bours?\b\)?|\([^)]*\)", "", label, flags=re.IGNORECASE))
    return bare == "" or any(bare == squeezed(n) for n in own.names)


def _table_weights(
    table: Table, index: int, own: OwnNames, core: frozenset[str], mine: Own
) -> Iterator[tuple[str, float]]:
    yield "reading order", -0.03 * index
    if table.place == "appendix":
        yield "appendix", -2.5
    if not table.number:
        yield "no numbered table", -0.3
    if ABLATION_TABLE.search(table.caption):
        yield "ablation table", -2.0
    if NOT_RESULT.search(table.caption):
        yield "no table of results", -1.5 if metrics_in(table.caption) else -4.0
    shared = words(table.caption) & core
    if shared:
        yield f"caption shares {len(shared)} words with the claim", min(0.4 * len(shared), 1.6)
    if re.search(r"\b(main|comparison|compar\w+|performance|results?)\b", table.caption, re.IGNORECASE):
        yield "a comparison", 0.4


def _cell_weights(
    table: Table,
    cell: Cell,
    mine: Own,
    own: OwnNames,
    claimed: frozenset[str],
    claim_metrics: frozenset[str],
    stated: Stated,
    sizes: tuple[float, int] | None,
) -> Iterator[tuple[str, float]]:
    row_text, column_text = " ".join(table.row_headers(cell.row)), " ".join(table.column_headers(cell.column))
    is_mine = (
        cell.row in mine.rows or cell.column in mine.columns or bool(mine.columns and _DIFFERENCE.search(column_text))
    )
    yield (
        {
            "named": ("own", 3.0),
            "uncited": ("own, since others cite", 2.0),
            "bold": ("the table's best row", 1.5),
            "caption": ("the caption's own", 1.5),
            "none": ("", 0.0),
        }[mine.how]
        if is_mine
        else (("not the own", -3.0) if mine.how in ("named", "bold", "uncited") else ("own unknown", -0.5))
    )
    if cell.bold and is_mine:
        yield "bold", 1.0
    label = row_text if not mine.columns else column_text
    measure = row_text if mine.columns or _metrics_in_rows(table) else column_text
    names = frozenset(metrics_in(f"{measure} {table.caption}"))
    here = frozenset(metrics_in(measure))
    if is_mine and _plain(label.split("  ")[-1], own):
        yield "the method itself", 0.8
    if ABLATED.search(label):
        yield "a part taken out", -2.5
    if _PRECISION.search(label) and not own.in_(label):
        yield "a reference", -1.5
    if re.search(r"\bfull\b", label, re.IGNORECASE):
        yield "the full method", 0.5
    if cell.unit in _AMOUNTS:
        yield "an amount", -2.5
    elif (
        cell.value is not None
        and float(cell.value).is_integer()
        and not cell.percent
        and cell.unit != "x"
        and "." not in cell.text
    ):
        yield "a whole number", -0.8
    value = cell.value if cell.value is not None else 0.0
    ratio = bool(cell.unit == "x" or _DIFFERENCE.search(f"{column_text} {row_text}"))
    costs = EXPENSE.search(measure) is not None and not here & claim_metrics
    reason, weight = ("", 0.0) if costs else stated.weight(value, cell.unit, ratio=ratio)
    yield reason, weight if is_mine or mine.how != "named" else weight * 0.25
    if not weight and cell.percent:
        yield stated.within(value)
    open_ = (mine.how == "none" and not is_mine) or (mine.how in ("uncited", "caption") and is_mine)
    if open_ and cell.value is not None and cell.value == _best_of_line(table, cell):
        yield "the best of its line", 0.8
    if here & claim_metrics:
        yield "the claim's metric", 1.8
    elif here and claim_metrics:
        yield "another metric", -0.8
    elif names & claim_metrics:
        yield "the claim's metric in the caption", 1.0
    shared = (words(row_text) | words(column_text)) & claimed
    if shared:
        yield f"headers share {len(shared)} words with the claim", min(0.4 * len(shared), 1.2)
    if names:
        yield "a known metric", 0.8
    if costs:
        yield "a cost or setting", -3.0
    if _AVERAGE.search(measure):
        yield "everything averaged", 1.5
    if sizes is not None and (size := _size(f"{row_text} {column_text}")) is not None:
        yield "size", 0.6 if size == sizes[0] else 0.0
    if cell.uncertainty is not None:
        yield "with uncertainty", 0.2


def _metrics_in_rows(table: Table) -> bool:
    """Whether the rows are metrics and the columns what is measured, rather than the usual other way round."""
    body = range(table.header_rows, len(table.grid))
    named = sum(bool(metrics_in(" ".join(table.row_headers(r)))) for r in body)
    return named * 2 > len(body) and not any(
        metrics_in(" ".join(table.column_headers(c))) for c in range(1, table.columns)
    )


def _best_of_line(table: Table, cell: Cell) -> float | None:
    """The best number beside a cell: across its row where rows are metrics, else down its column."""
    body = range(table.header_rows, len(table.grid))
    across = _metrics_in_rows(table)
    line = list(table.grid[cell.row]) if across else [table.grid[r][cell.column] for r in body]
    values = [c.value for c in line if c is not None and c.value is not None]
    measure = " ".join(table.row_headers(cell.row) if across else table.column_headers(cell.column))
    lower = LOWER.search(measure) or (table.directions and table.directions[cell.column] == "lower")
    return (min(values) if lower else max(values)) if values else None


def _size(text: str) -> float | None:
    found = _SIZE.search(text)
    return float(found[1]) * (1000 if found[2] == "B" else 1) if found else None


def _smallest_size(table: Table) -> tuple[float, int] | None:
    """(smallest model size in millions, how many sizes) where headers name at least two."""
    texts = [" ".join(table.row_headers(r)) for r in range(table.header_rows, len(table.grid))]
    texts += [" ".join(table.column_headers(c)) for c in range(table.columns)]
    sizes = {s for t in texts if (s := _size(t)) is not None}
    return (min(sizes), len(sizes)) if len(sizes) > 1 else None


def text_candidates(paper: Paper, claim: Claim | None, own: OwnNames) -> Iterator[Candidate]:
    """Results printed in the abstract's sentences, as targets of their own where no table prints them."""
    if claim is None:
        return
    rank = {claim.sentence: 6.5, **dict.fromkeys(claim.support, 4.0)}
    for index, sentence in enumerate(paper.sentences()):
        base = rank.get(sentence.text)
        if base is None:
            if (
                sentence.place != "body"
                or sentence.appendix
                or not (own.in_(sentence.text) or OURS.search(sentence.text))
            ):
                continue
            base = 0.5
        shared = words(sentence.text) & words(claim.sentence)
        for number in result_numbers(paper, sentence.text):
            if not _VALUE_BEFORE.search(sentence.text[: number.start]) and base < 3:
                continue
            if any(m.start() <= number.start < m.end() for m in _RANGE.finditer(sentence.text)):
                continue
            vague = 2.0 if number.factor_x and float(number.value).is_integer() and base > 2 else 0.0
            weigh = [("in running text", base - vague), ("shares words with the claim", min(0.1 * len(shared), 0.5))]
            if base > 6 and THRESHOLD_BEFORE.search(sentence.text[: number.start]):
                weigh.append(("a value to reach", 2.0))
            if _VALUE_BEFORE.search(sentence.text[: number.start]):
                weigh.append(("said to be reached", 0.5))
            yield Candidate(
                value=number.text,
                number=number.value,
                unit="%" if number.percent else "x" if number.factor_x else number.unit,
                sentence=sentence,
                weigh=tuple(weigh),
                stated=base >= 3,
                order=900_000_000 + index * 100 + number.start,
            )


def direction_of(candidate: Candidate) -> str:
    """`higher` or `lower`: the table's arrow, else what is known of the metric."""
    if candidate.table is not None and candidate.cell is not None:
        printed = candidate.table.directions[candidate.cell.column] if candidate.table.directions else None
        if printed is not None:
            return printed
        if re.search(r"\blower (?:is|values? (?:is|are)) better\b|↓", candidate.table.caption):
            return "lower"
    text = f"{candidate.column_text} {candidate.row_text}" if candidate.table is not None else candidate.where
    if not metrics_in(text) and candidate.table is not None:
        text = candidate.table.caption
    return "lower" if LOWER.search(text) else "higher"


def ranked(candidates: list[Candidate]) -> list[Candidate]:
    """Best first; ties in reading order. A number in prose that a better cell prints too is that cell."""
    ordered = sorted(candidates, key=lambda c: (-c.score, c.order))
    kept: list[Candidate] = []
    for candidate in ordered:
        twin = any(
            k.item != candidate.item and abs(k.number - candidate.number) <= 1e-9 * max(abs(k.number), 1e-12)
            for k in kept[:12]
        )
        if not twin:
            kept.append(replace(candidate))
    return kept
