"""Step 2 of the guide: every number the paper prints for its own method, from tables and from running text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from classifiers.embedded.claim import Claim, OwnNames
from classifiers.embedded.lines import Own, best_of_line, is_plain, metrics_in_rows, own_lines
from classifiers.embedded.prose import AMOUNTS, RANGE, Stated, result_numbers
from classifiers.embedded.words import (
    ABLATED,
    ABLATION_TABLE,
    EXPENSE,
    LOWER,
    NOT_RESULT,
    OURS,
    metrics_in,
    words,
)
from pipeline.paper import Cell, Paper, Sentence, Table

_VALUE_BEFORE = re.compile(
    r"\b(reach\w*|achiev\w*|attain\w*|obtain\w*|of|to|at|is|be|are|by|solves?|with|an?|up to|yield\w*|scores?|about"
    r"|around|nearly|roughly)\s*[~≈∼]?\s*$",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(r"\b(reduction|speed-?up|savings?|improvement|gain|delta|vs\.?)\b|Δ", re.IGNORECASE)
_AVERAGE = re.compile(r"\b(avg|average|mean|overall|macro|all|total)\b", re.IGNORECASE)
THRESHOLD_BEFORE = re.compile(
    r"(\bat least|\bmore than|\bunder|\bbelow|\bless than|\babove|\bexceed\w*|[<>≤≥])\s*$", re.IGNORECASE
)
_FOUND = re.compile(
    r"\b(we (?:find|found|observe|observed|measure|measured|estimate|estimated|obtain|obtained|see|report)"
    r"|appears? to be|turns out to be|results? (?:in|show)|(?:figure|table) \S+ shows|achieves?|reaches"
    r"|is estimated)\b",
    re.IGNORECASE,
)
_SIZE = re.compile(r"(?<![\d.])(?<![A-Z])(\d+(?:\.\d+)?)\s?([MB])(?![A-Za-z])")
_LETTER = re.compile(r"[A-Za-z0-9]-(Ti|T|S|B|L|XL|XXL|H|G)(?![A-Za-z])")
_LETTERS = {"Ti": 1, "T": 1, "S": 2, "B": 3, "L": 4, "XL": 5, "H": 5, "XXL": 6, "G": 7}
_PRECISION = re.compile(
    r"\b(identity|baseline|original|source|vanilla|naive|random|human|oracle|upper bound|gold)\b", re.IGNORECASE
)


_IN_WORDS = (
    ("the claim prints", "the claim prints this number"),
    ("the prose says", "the claim gives a range that holds it"),
    ("the abstract prints", "the abstract prints this number"),
    ("the introduction or conclusion prints", "the introduction or conclusion prints this number"),
    ("in running text", "the sentence states it as a result"),
    ("uncited, where others cite", "its line is the only kind without a citation"),
    ("own", "its line is the paper's own method"),
    ("the table's best row", "its line has the most numbers in bold"),
    ("the caption's own", "the table is about the paper's own method"),
    ("everything averaged", "it is the average over everything"),
    ("the claim's metric", "its metric is the claim's"),
    ("size", "it is the smallest own model there"),
    ("caption shares", "the table speaks of what the claim speaks of"),
    ("the best of its line", "it is the best of its line"),
    ("finding", "the sentence reports a finding"),
)
"""Reasons by how they begin, with what an author is told of them; the weightiest first."""
_OWN_REASONS = frozenset(("own", "uncited, where others cite", "the table's best row", "the caption's own"))


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
    def is_rival(self) -> bool:
        """Whether another method's line holds it."""
        return any(reason == "not the own" for reason, _ in self.weigh)

    @property
    def why(self) -> str:
        """Why it was taken, in words for an author; the weights themselves stay in `weigh`."""
        reasons = {reason for reason, weight in self.weigh if weight > 0}
        said = [words for reason, words in _IN_WORDS if any(r.startswith(reason) for r in reasons)]
        if self.table is None:
            said = [*said, "no table prints it"] if said else ["it is printed in running text only"]
        kept = said[:4] or ["nothing fits better"]
        return f"{', '.join(kept[:-1])} and {kept[-1]}" if len(kept) > 1 else kept[0]

    @property
    def item(self) -> str:
        return f"table {self.table.number}" if self.table is not None else "text"

    @property
    def where(self) -> str:
        """All words around the number: caption, headers, or the sentence."""
        if self.table is not None:
            return f"{self.table.caption} {self.row_text} {self.column_text}"
        return self.sentence.text if self.sentence else ""


def table_candidates(paper: Paper, own: OwnNames, claim: Claim | None, stated: Stated) -> Iterator[Candidate]:
    """Cells of results tables, weighed. Cells of baselines are kept too: the claim may be a finding about them."""
    claimed = words(f"{claim.sentence} {' '.join(claim.support)}") if claim else frozenset()
    core = words(claim.sentence) if claim else frozenset()
    claim_metrics = frozenset(metrics_in(f"{claim.sentence} {' '.join(claim.support)}")) if claim else frozenset()
    results = {(i.number, i.anchor.file) for i in paper.inventory if i.kind == "table" and i.results}
    for index, table in enumerate(paper.tables):
        if table.number and (table.number, table.anchor.file) not in results:
            continue
        mine = own_lines(table, own)
        base = list(_table_weights(table, index, own, core, mine))
        sizes = _smallest_size(table, mine)
        across = metrics_in_rows(table)
        for cell in table.numeric_cells():
            weigh = [*base, *_cell_weights(table, cell, mine, own, claimed, claim_metrics, stated, sizes, across)]
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
    across: bool,
) -> Iterator[tuple[str, float]]:
    """`across`: rows are metrics, see `metrics_in_rows`."""
    row_text, column_text = " ".join(table.row_headers(cell.row)), " ".join(table.column_headers(cell.column))
    is_mine = (
        cell.row in mine.rows or cell.column in mine.columns or bool(mine.columns and _DIFFERENCE.search(column_text))
    )
    yield (
        {
            "named": ("own", 3.0),
            "uncited": ("uncited, where others cite", 2.0),
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
    measure = row_text if mine.columns or across else column_text
    names = frozenset(metrics_in(f"{measure} {table.caption}"))
    here = frozenset(metrics_in(measure))
    if is_mine and is_plain(label.split("  ")[-1], own):
        yield "the method itself", 0.8
    if ABLATED.search(label):
        yield "a part taken out", -2.5
    if _PRECISION.search(label) and not own.in_(label):
        yield "a reference", -1.5
    if re.search(r"\bfull\b", label, re.IGNORECASE):
        yield "the full method", 0.5
    if cell.unit in AMOUNTS:
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
    if open_ and cell.value is not None and cell.value == best_of_line(table, cell, across):
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


def _size(text: str) -> float | None:
    """The model's size as a header gives it, in millions; of a letter, such as L or XL, a rank below any number."""
    found = _SIZE.search(text)
    if found:
        return float(found[1]) * (1000 if found[2] == "B" else 1)
    letter = _LETTER.search(text)
    return _LETTERS[letter[1]] * 1e-3 if letter else None


def _smallest_size(table: Table, mine: Own) -> tuple[float, int] | None:
    """(smallest model size in millions, how many sizes) where the own lines name at least two; of a table without own
    lines, all.
    """
    rows = sorted(mine.rows) or range(table.header_rows, len(table.grid))
    texts = [" ".join(table.row_headers(r)) for r in rows]
    texts += [" ".join(table.column_headers(c)) for c in sorted(mine.columns) or range(table.columns)]
    sizes = {s for t in texts if (s := _size(t)) is not None}
    return (min(sizes), len(sizes)) if len(sizes) > 1 else None


def found_in_text(paper: Paper) -> Iterator[Candidate]:
    """Findings that the body reports outside tables, for a paper that prints no other result of its own."""
    for index, sentence in enumerate(paper.sentences()):
        if sentence.place not in ("body", "caption") or not (_FOUND.search(sentence.text)):
            continue
        for number in result_numbers(paper, sentence.text):
            if number.value == 0 or not _VALUE_BEFORE.search(sentence.text[: number.start]):
                continue
            yield Candidate(
                value=number.text,
                number=number.value,
                unit="%" if number.percent else "x" if number.factor_x else number.unit,
                sentence=sentence,
                weigh=(("finding", 1.5), *((("appendix", -0.5),) if sentence.appendix else ())),
                order=950_000_000 + index * 100 + number.start,
            )


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
            if any(m.start() <= number.start < m.end() for m in RANGE.finditer(sentence.text)):
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
            (k.item != candidate.item or candidate.table is None)
            and abs(k.number - candidate.number) <= 1e-9 * max(abs(k.number), 1e-12)
            for k in kept[:12]
        )
        if not twin:
            kept.append(candidate)
    return kept
