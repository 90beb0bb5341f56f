"""From a form's fields to the value of an answer: single words, and whole corrected claims, targets, bars and hours."""

from __future__ import annotations

import math
from typing import Any, get_args

from starlette.datastructures import FormData

from audit_ui.given import Pool
from audit_ui.site import text_of
from pipeline.derivation import Derivation
from pipeline.editions import Edition
from pipeline.events import CANNOT_TELL, NEEDS, SIGNALS, STANDS, WRONG, Question
from pipeline.evidence import Json
from pipeline.paper import Paper, parse_number
from pipeline.row import BarKind, Kind
from pipeline.targets import QUOTE_LIMIT, Bar, Target, TargetAnchor, make_bar, scale_of
from pipeline.targets import problems as target_problems


class Refused(Exception):
    """What a person asked for cannot be done; the panel says why and keeps what they typed."""

    def __init__(self, status: int, why: str, **shown: Any) -> None:
        super().__init__(why)
        self.status, self.shown = status, {"notice": why, **shown}


def value(form: FormData, question: Question, row: Derivation, pool: Pool, edition: Edition) -> Json:
    """Raises Refused (422) for fields that make no answer; the message says which."""
    said = text_of(form, "value", 40)
    if said == CANNOT_TELL:
        return CANNOT_TELL
    if question in SIGNALS:
        return _one_of(said, {"yes": True, "no": False, "na": "not_needed"})
    if question == "eligibility":
        return _one_of(said, {"yes": True, "no": False})
    if question == "kind":
        return _one_of(said, {k: k for k in get_args(Kind)})
    if question == "needs":
        if said == "nothing":
            return []
        return sorted({n for n in form.getlist("need") if n in NEEDS})
    if said != "correct":
        return _one_of(said, {"yes": STANDS, "no": WRONG})
    if question == "hours":
        return _number(form, "hours", required=True)
    paper = pool.paper(row.arxiv_id)
    if question == "claim":
        return _claim(form, paper)
    if row.inputs.target is None:
        raise Refused(422, "The row has no target that could be corrected; say that it is wrong.")
    if question == "target":
        return _target(form, row.inputs.target, paper, edition).model_dump(mode="json")
    return _bar(form, row.inputs.target, edition).model_dump(mode="json")


def _one_of(said: str, words: dict[str, Any]) -> Json:
    if said not in words:
        raise Refused(422, "Choose one of the answers.")
    return words[said]


def _number(form: FormData, name: str, required: bool = False) -> float | None:
    text = text_of(form, name, 40)
    try:
        number = float(text) if text else None
    except ValueError:
        number = math.nan
    if (number is not None and not math.isfinite(number)) or (required and number is None):
        raise Refused(422, f"{name.replace('_', ' ')}: {text!r} is no number.")
    return number


def _claim(form: FormData, paper: Paper) -> Json:
    claim, quote = text_of(form, "claim", 1000), text_of(form, "quote", 1000)
    if not claim or paper.find(quote) is None:
        raise Refused(422, "Give the claim, and a quote that stands in the paper word for word.")
    return {"claim": claim, "quote": quote}


def _target(form: FormData, before: Target, paper: Paper, edition: Edition) -> Target:
    """The target with another printed value: a cell, by table, row and column counted from 0, or a sentence."""
    printed = parse_number(text_of(form, "target_value", 60))
    if printed is None:
        raise Refused(422, "The value must be a number as the paper prints it.")
    words = {n: text_of(form, n, 300) or getattr(before, n) for n in ("config", "metric", "dataset", "scope")}
    changed = before.model_copy(
        update={
            **words,
            "value": text_of(form, "target_value", 60),
            "number": printed.value,
            "uncertainty": printed.uncertainty,
            "anchor": _anchor(form, before, paper),
        }
    )
    bar = make_bar(
        before.bar.kind,
        number=changed.number,
        direction=changed.direction,
        uncertainty=changed.uncertainty,
        baseline=changed.baseline,
        relative=edition.tolerance_relative,
        low=before.bar.low,
        high=before.bar.high,
        scale=scale_of(changed.value, changed.unit, changed.metric),
    )
    made = changed.model_copy(update={"bar": bar or before.bar})
    if found := target_problems(made):
        raise Refused(422, f"Code could not grade this target: {found[0]}.")
    return made


def _anchor(form: FormData, before: Target, paper: Paper) -> TargetAnchor:
    number, quote = text_of(form, "table", 20), text_of(form, "target_quote", QUOTE_LIMIT)
    if number:
        place = [_number(form, "table_row", required=True), _number(form, "table_column", required=True)]
        table = next((t for t in paper.tables if t.number == number), None)
        row, column = (int(p or 0) for p in place)
        if table is None or not (0 <= row < len(table.grid) and 0 <= column < table.columns):
            raise Refused(422, "The paper has no such table, row and column.")
        line = table.row_anchors[row].line if row < len(table.row_anchors) else table.anchor.line
        shown = " | ".join(dict.fromkeys(c.text for c in table.grid[row] if c is not None and c.text))
        return TargetAnchor(
            file=table.anchor.file,
            line=line,
            table=number,
            row=row,
            column=column,
            quote=shown[:QUOTE_LIMIT],
            source_sha256=paper.source_sha256,
        )
    sentence = next((s for s in paper.sentences() if quote and quote in s.text), None)
    if sentence is None:
        raise Refused(422, "Name the table's cell, or quote the sentence that prints the value word for word.")
    return TargetAnchor(
        file=sentence.anchor.file, line=sentence.anchor.line, quote=quote, source_sha256=paper.source_sha256
    )


def _bar(form: FormData, target: Target, edition: Edition) -> Bar:
    kind = text_of(form, "bar_kind", 20)
    if kind not in get_args(BarKind):
        raise Refused(422, "Choose a kind of bar.")
    baseline, tolerance = _number(form, "baseline"), _number(form, "tolerance")
    made = make_bar(
        kind,  # type: ignore[arg-type]
        number=target.number,
        direction=target.direction,
        uncertainty=target.uncertainty,
        baseline=target.baseline if baseline is None else baseline,
        relative=edition.tolerance_relative,
        low=_number(form, "low"),
        high=_number(form, "high"),
        scale=scale_of(target.value, target.unit, target.metric),
    )
    if made is None:
        raise Refused(422, f"A {kind.replace('_', ' ')} bar lacks what it needs (baseline, direction, or both ends).")
    if tolerance is not None and made.op == "within":
        made = made.model_copy(update={"tolerance": tolerance, "tolerance_source": "absolute"})
    if found := target_problems(target.model_copy(update={"bar": made})):
        raise Refused(422, f"Code could not grade the target with this bar: {found[0]}.")
    return made
