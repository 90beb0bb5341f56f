"""Step 3 of the guide: the chosen number with its bar, the runners-up, and one word for every table and figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from classifiers.embedded.candidates import (
    THRESHOLD_BEFORE,
    Candidate,
    direction_of,
    found_in_text,
    ranked,
    table_candidates,
    text_candidates,
)
from classifiers.embedded.claim import Claim, OwnNames
from classifiers.embedded.prose import stated_numbers
from classifiers.embedded.words import ABLATION_TABLE, metrics_in, words
from pipeline.answers import CandidateWord, Passed, TargetWord
from pipeline.paper import InventoryItem, Paper, find_numbers
from pipeline.row import BarKind

ALTERNATIVES = 5
_WEAK = 1.5
"""Below this score a cell does not support the claim: nothing ties it to the own method or to the claim."""

_SAME = 0.1
"""What a runner-up loses for repeating line and metric of one already taken: it only turns ties."""
_LOOKED_AT = 60
"""Candidates, best first, among which runners-up are looked for."""

_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_SEEDS = re.compile(
    r"\b(\d{1,3}|two|three|four|five|six|seven|eight|nine|ten)\s+(?:\w+\s+){0,2}?(?:seeds?|runs?|trials?|repetitions?|repeats?|initiali[sz]ations)\b",
    re.IGNORECASE,
)
_RUNS = re.compile(r"\b(seeds?|runs)\b")
_SEED_LIST = re.compile(r"\bseeds?\s+((?:\d{1,6}\s*,\s*)+(?:and\s+)?\d{1,6})", re.IGNORECASE)
_MAGNITUDE = re.compile(
    r"(\b(?:faster|slower|fewer|smaller|cheaper|speed-?ups?|less|reduction|savings?|improvement|gain|gap|increase"
    r"|decrease|points? (?:above|over|better)"
    r"|higher than|lower than|by)\b)",
    re.IGNORECASE,
)
_DIFFERENCE_BEFORE = re.compile(
    r"\b(by|gains? of|improvements? of|reductions? of|increase of|savings? of)\s*[~≈]?\s*$", re.IGNORECASE
)
_DIFFERENCE_AFTER = re.compile(
    r"^\s*(?:percentage )?(?:points?\s+)?(?:[-\w]+\s+){0,2}?(?:faster|slower|fewer|smaller|cheaper|speed-?up|less"
    r"|reduction|savings?|improvement|gain|points? (?:above|over|better|higher|lower|more|less)|more than|less than)",
    re.IGNORECASE,
)
_BEATEN = re.compile(r"\b(?:than|outperform\w*|surpass\w*|beats?|exceeds?)\b[^.;\d]*$", re.IGNORECASE)
_SPLIT = re.compile(r"\b(test(?:[- ]standard)?|validation|val|dev|held[- ]out)\b(?:\s+(?:set|split))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Targets:
    """The chosen target with its candidate, the runners-up, and a word for each item of the inventory."""

    chosen: TargetWord | None
    candidate: Candidate | None
    alternatives: tuple[TargetWord, ...]
    inventory: tuple[CandidateWord, ...]


def find_targets(paper: Paper, claim: Claim | None, own: OwnNames) -> Targets:
    stated = stated_numbers(paper, claim)
    cells = list(table_candidates(paper, own, claim, stated))
    prose = list(text_candidates(paper, claim, own))
    best_first = ranked([*cells, *prose])
    order = [c for c in best_first if c.score >= _WEAK] or [c for c in best_first if c.is_own][:1]
    order = order or ranked(list(found_in_text(paper)))
    # Another method's number is a target only where the own method prints none: then it is the value to beat.
    order = [c for c in order if not c.is_rival] or order
    picked = _spread(order) if order else []
    if not picked:
        return Targets(None, None, (), _inventory(paper, cells, None, own))
    told = _told_of_runs(paper)
    words_ = tuple(_word(paper, c, cells, claim, told) for c in picked)
    return Targets(words_[0], picked[0], words_[1:], _inventory(paper, cells, picked[0], own))


def _spread(order: Sequence[Candidate]) -> list[Candidate]:
    """The best, then runners-up: of equal ones those in another metric first, and of one line two at most."""
    picked: list[Candidate] = []
    left = list(order[:_LOOKED_AT])
    while left and len(picked) <= ALTERNATIVES:
        taken = {((p.item, p.row_text), metric_of(p)) for p in picked}
        lines = [(p.item, p.row_text) for p in picked if p.table is not None]
        left = [c for c in left if lines.count((c.item, c.row_text)) < 2]
        if not left:
            break
        same = _SAME if picked else 0.0
        best = max(left, key=lambda c: (c.score - same * (((c.item, c.row_text), metric_of(c)) in taken), -c.order))
        picked.append(best)
        left.remove(best)
    return picked


def _word(
    paper: Paper, candidate: Candidate, cells: Sequence[Candidate], claim: Claim | None, told: Sequence[str]
) -> TargetWord:
    direction = direction_of(candidate)
    kind = bar_kind(candidate, claim)
    if kind == "direction":
        baseline: float | None = candidate.number
    else:
        baseline = _baseline(candidate, cells, direction)
    metric = metric_of(candidate, claim)
    table, cell = candidate.table, candidate.cell
    split = _SPLIT.search(candidate.where)
    return TargetWord(
        config=config_of(candidate),
        metric=metric,
        value=candidate.value,
        unit=candidate.unit,
        direction="lower" if direction == "lower" else "higher",
        scope=_scope(candidate),
        split=split[0].lower() if split else "",
        aggregate="mean" if cell is not None and cell.uncertainty is not None else "",
        table=table.number if table is not None else None,
        row=cell.row if cell is not None else None,
        column=cell.column if cell is not None else None,
        quote=candidate.sentence.text if candidate.sentence is not None else "",
        bar_kind=kind,
        baseline=baseline,
        n_seeds=n_seeds(paper, candidate, told),
        why=candidate.why,
    )


def config_of(candidate: Candidate) -> str:
    """The configuration in the paper's own words: headers and caption, or the sentence without its number."""
    if candidate.table is None:
        text = candidate.where.replace(candidate.value, "…")
        return " ".join(text.split())[:300]
    heads = [h for h in (candidate.row_text, candidate.column_text) if h and h != candidate.value]
    caption = re.split(r"(?<=[.;])\s", candidate.table.caption)[0] if candidate.table.caption else ""
    return " ".join("; ".join([*heads, caption]).split())[:300]


def metric_of(candidate: Candidate, claim: Claim | None = None) -> str:
    """What the number measures: as its headers, its caption or its sentence say, else as the claim says."""
    for text in (
        candidate.column_text,
        candidate.row_text,
        candidate.table.caption if candidate.table else "",
        candidate.where,
    ):
        if found := metrics_in(text):
            return found[0]
    if claim is not None and claim.metrics:
        return claim.metrics[0]
    return candidate.column_text.split(" / ")[-1].strip() or "value"


def _scope(candidate: Candidate) -> str:
    if candidate.table is None:
        return "as stated in the text"
    return f"{candidate.item}, {candidate.column_text or candidate.row_text}".strip(", ")[:200]


def bar_kind(candidate: Candidate, claim: Claim | None = None) -> BarKind:
    """A printed cell is a point estimate, and a baseline's cell the value to be better than; prose may state a
    difference, a ratio or a value to reach.
    """
    if candidate.sentence is None and (candidate.is_rival or _to_beat(candidate, claim)):
        return "direction"
    if candidate.sentence is None:
        return (
            "magnitude"
            if re.search(
                r"\b(speed-?up|reduction|savings?|Δ|delta|gain|improvement)\b", candidate.column_text, re.IGNORECASE
            )
            else ("point_estimate")
        )
    text = candidate.sentence.text
    at = text.find(candidate.value)
    before, after = text[:at], text[at + len(candidate.value) :]
    if THRESHOLD_BEFORE.search(before):
        return "threshold"
    if candidate.unit == "x" or _DIFFERENCE_BEFORE.search(before) or _DIFFERENCE_AFTER.search(after):
        return "magnitude"
    return "point_estimate"


def _to_beat(candidate: Candidate, claim: Claim | None) -> bool:
    """Whether the claim names this number as another's: "scores higher than counting, whose score is 4,120"."""
    if claim is None or candidate.is_own:
        return False
    found = [n for n in find_numbers(claim.sentence) if abs(n.value - candidate.number) <= 1e-9 * abs(n.value)]
    return bool(found) and _BEATEN.search(claim.sentence[: found[0].start]) is not None


def _baseline(candidate: Candidate, cells: Sequence[Candidate], direction: str) -> float | None:
    """The best number of the same column that is not the paper's own."""
    if candidate.table is None or candidate.cell is None:
        return None
    rivals = [
        c.number
        for c in cells
        if c.table is candidate.table
        and c.cell is not None
        and c.cell.column == candidate.cell.column
        and any(reason == "not the own" for reason, _ in c.weigh)
    ]
    if not rivals:
        return None
    return min(rivals) if direction == "lower" else max(rivals)


def _told_of_runs(paper: Paper) -> tuple[str, ...]:
    """The body's sentences that speak of seeds or runs."""
    return tuple(s.text for s in paper.sentences() if not s.appendix and _RUNS.search(s.text))


def n_seeds(paper: Paper, candidate: Candidate, told: Sequence[str]) -> int | None:
    """Runs that the number averages: as its caption or the text around its table says; one where a single run is
    stated.
    """
    texts = [candidate.where]
    if candidate.table is not None:
        section = next((s for s in reversed(paper.sections) if s.start <= candidate.table.anchor.offset < s.end), None)
        texts += [
            s.text for s in paper.sentences() if section is not None and section.start <= s.anchor.offset < section.end
        ]
    averaged = candidate.cell is not None and candidate.cell.uncertainty is not None
    for text in (*texts, *told):
        if listed := _SEED_LIST.search(text):
            return len(re.findall(r"\d+", listed[1]))
        found = _SEEDS.search(text)
        if found and (averaged or re.search(r"\b(averag\w*|mean\w*|over|across)\b", text, re.IGNORECASE)):
            return _COUNTS.get(found[1].lower()) or int(found[1])
        if (
            re.search(r"\b(?:from|with|of|for|on) (?:one|a single) (?:random )?(?:run|seed)\b", text, re.IGNORECASE)
            and not averaged
        ):
            return 1
    return None


def _inventory(
    paper: Paper, cells: Sequence[Candidate], chosen: Candidate | None, own: OwnNames
) -> tuple[CandidateWord, ...]:
    best: dict[str, Candidate] = {}
    for candidate in cells:
        if candidate.item not in best or candidate.score > best[candidate.item].score:
            best[candidate.item] = candidate
    seen: dict[str, CandidateWord] = {}
    for item in paper.inventory:
        name = f"{item.kind} {item.number}"
        if name not in seen:
            seen[name] = CandidateWord(item=name, reason=_passed(item, best.get(name), chosen, own))
    return tuple(seen.values())


def _passed(item: InventoryItem, best: Candidate | None, chosen: Candidate | None, own: OwnNames) -> Passed:
    if chosen is not None and chosen.item == f"{item.kind} {item.number}":
        return "chosen"
    if item.kind == "figure" or best is None:
        return "not numeric"
    if ABLATION_TABLE.search(item.caption):
        return "ablation"
    if item.place == "appendix":
        return "appendix repeat"
    reasons = {reason for reason, _ in best.weigh}
    if not best.is_own and "own unknown" not in reasons:
        return "baseline only"
    if "a part taken out" in reasons:
        return "ablation"
    related = chosen is not None and bool(
        set(metrics_in(best.where)) & set(metrics_in(chosen.where)) or words(best.where) & words(chosen.column_text)
    )
    return "dearer" if related and best.score >= _WEAK else "other claim"
