"""What is wrong with an answer on its face: everything in it that the paper's own words or the episode's receipts deny.

Each check is code over one answer and its paper; none trusts the classifier. The loop sends what is found back to the
model once; what the last answer still has stands by name among the row's problems and keeps it from being eligible.
Rules: labelling guide, "Candidates", "Hours", "Bar"; kinds of compute faults in `compute_faults`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline import reference
from pipeline.answers import Answer, ComputeWord, TargetWord
from pipeline.compute import TRAINING, match_device
from pipeline.compute_faults import FaultKind, Stated, faults, numbers
from pipeline.evidence import Receipt, Signal
from pipeline.paper import Paper, find_numbers, parse_number
from pipeline.paper.compute import read_clauses
from pipeline.pinned import incoherent, target_fault

Name = (
    Literal[
        "empty field",
        "missing quote",
        "quote not in paper",
        "unknown receipt",
        "not of this configuration",
        "target not printed",
        "target incoherent",
        "value given away",
        "candidates",
        "datasets",
        "needs",
        "runs",
    ]
    | FaultKind
)


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong: its kind, the field of the answer it stands in, and why, in words a model can act on."""

    name: Name
    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name.replace('_', ' ')} ({self.place}): {self.reason}"

    @property
    def blocks(self) -> bool:
        """Whether it keeps the row from being eligible: alternatives are leads, and no part of a row."""
        return not self.place.startswith("target_alternatives")


def defects(answer: Answer, paper: Paper, receipts: Sequence[Receipt] = ()) -> tuple[Defect, ...]:
    """All defects of an answer, in a fixed order; empty for an answer that may stand.

    `paper` is what the classifier read, `receipts` all receipts of its episode, the link check's included. Pure and
    cheap enough for an output validator: show the model `str(defect)` of each, once, and accept its next answer
    whatever it holds. Extraction calls this again on the answer that stands, so nothing need be carried along.
    """
    found = [*_quotes(answer, paper), *_cited(answer, receipts), *_targets(answer, paper)]
    if answer.paper_kind == "empirical":
        found += [*_empty(answer), *_candidates(answer, paper), *_compute(answer, paper), *_own_scope(answer)]
        found += [*_datasets(answer), *_needs(answer)]
    return tuple(dict.fromkeys(found))


def _empty(answer: Answer) -> Iterator[Defect]:
    told = {"central_claim": answer.central_claim, "mre_config": answer.mre_config, "agent_task": answer.agent_task}
    if answer.target is not None:
        told |= {"target.config": answer.target.config, "target.metric": answer.target.metric}
    for place, text in told.items():
        if not text.strip():
            yield Defect("empty field", place, "a row needs it")


def _quotes(answer: Answer, paper: Paper) -> Iterator[Defect]:
    quotes = {"claim_quote": answer.claim_quote, "training_quote": answer.training_quote}
    quotes |= {f"needs.{name}": text for name, text in answer.needs.model_dump().items()}
    quotes |= {f"datasets.{d.name}": d.quote for d in answer.datasets}
    quotes |= {f"compute.{i}": part.quote for i, part in enumerate(answer.compute)}
    if answer.paper_kind == "empirical" and len(answer.claim_quote.split()) < CLAIM_WORDS:
        yield Defect("missing quote", "claim_quote", "an empirical paper's claim needs the sentence that states it")
    for index, part in enumerate(answer.compute):
        if not part.quote and _timed(part):
            yield Defect("missing quote", f"compute.{index}", "a time needs the sentence of the paper that states it")
    for place, quote in quotes.items():
        if quote and paper.find(quote) is None:
            yield Defect("quote not in paper", place, f"the paper does not print, letter by letter, {quote[:80]!r}")


CLAIM_WORDS = 2
"""Fewer are no sentence: any paper prints "we"."""


def _cited(answer: Answer, receipts: Sequence[Receipt]) -> Iterator[Defect]:
    words = {s: answer.signals.word(s) for s in Signal}
    known = {r.id for r in receipts} if any(word.receipts for word in words.values()) else set()
    for signal, word in words.items():
        for one in word.receipts:
            if one not in known:
                yield Defect("unknown receipt", f"signals.{signal}", f"this episode has no receipt {one[:80]!r}")
        if word.value and word.scope != "exact":
            reason = f"{word.scope} is not the target's own configuration; only that makes it true"
            yield Defect("not of this configuration", f"signals.{signal}", reason)


def _targets(answer: Answer, paper: Paper) -> Iterator[Defect]:
    target = answer.target
    if target is not None:
        if fault := target_fault(target, paper):
            yield Defect("target not printed", "target", fault)
        else:
            for reason in incoherent(target, paper):
                yield Defect("target incoherent", "target", reason)
            if _told(target, answer.agent_task):
                yield Defect("value given away", "agent_task", f"it states the target's value {target.value}")
    for index, other in enumerate(answer.target_alternatives):
        if fault := target_fault(other, paper):
            yield Defect("target not printed", f"target_alternatives.{index}", fault)


def _told(target: TargetWord, task: str) -> bool:
    """Whether a task states the value, however it is spelled, or as a share of one instead of per cent. A bare one- or
    two-digit number is too common to give anything away.
    """
    value = parse_number(target.value)
    if value is None or re.fullmatch(r"\d{1,2}", target.value.strip()):
        return False
    plain = "".join(c for c in unicodedata.normalize("NFKC", task) if unicodedata.category(c) != "Cf")
    telling = len(re.sub(r"\D", "", target.value).strip("0")) > 2
    wanted = (value.value, value.value / 100, value.value * 100) if telling else (value.value,)
    return any(
        math.isclose(abs(n.value), abs(w), rel_tol=1e-9)
        for n in find_numbers(plain)
        for w in wanted
        if not plain[: n.start][-1:].isalnum() and not re.fullmatch(r"\d{1,2}", n.text.strip())
    )


def _candidates(answer: Answer, paper: Paper) -> Iterator[Defect]:
    """Every float of the inventory has a word, and chosen is the one table that prints the target, or none where
    running text or a table without a number prints it."""
    if answer.target is None:
        return
    reasons = {word.item: word.reason for word in answer.candidates}
    items = [f"{item.kind} {item.number}" for item in paper.inventory]
    if silent := [item for item in dict.fromkeys(items) if item not in reasons]:
        yield Defect("candidates", "candidates", f"no word about {', '.join(silent)}")
    due = [f"table {answer.target.table}"] if answer.target.table else []
    picked = [item for item in items if reasons.get(item) == "chosen"]
    if picked != due:
        where = due[0] if due else "running text"
        yield Defect("candidates", "candidates", f"the target is printed in {where}, chosen is {picked or 'nothing'}")


def _timed(part: ComputeWord) -> bool:
    return bool(part.wall_hours or part.device_hours)


def _compute(answer: Answer, paper: Paper) -> Iterator[Defect]:
    basis = " ".join(answer.basis.split())
    for part in answer.compute:  # the paper's words, repeated there, are judged where they are quoted
        basis = basis.replace(" ".join(part.quote.split())[:160], " ") if part.quote else basis
    for index, part in enumerate(answer.compute):
        stated = Stated(
            text=part.quote,
            basis=basis,
            printed=paper.text,
            count=part.count,
            wall_hours=part.wall_hours,
            device_hours=part.device_hours,
            runs=part.runs,
            device="" if part.cpu_only else part.device,
            basis_kind=answer.basis_kind,
        )
        for fault in faults(stated) if part.quote else ():
            yield Defect(fault.kind, f"compute.{index}", fault.detail)
        most = _most_runs(answer.target)
        units = {1.0} | (numbers(part.quote) if _EACH.search(part.quote) else set())
        if part.runs > most and not any(part.runs <= most * n for n in units if n <= MOST_UNITS):
            reason = f"{part.runs} runs are charged; the bar's arms and the seeds that the number averages make {most}"
            yield Defect("runs", f"compute.{index}", reason)
        if part.cpu_only and (named := _accelerator(part.quote)):
            yield Defect("invented_device", f"compute.{index}", f"said to need no accelerator, its quote names {named}")
        twin = next((other for other in answer.compute[:index] if _same_time(part, other)), None)
        if twin is not None and not _EACH.search(part.quote):
            reason = f"{part.wall_hours or part.device_hours:g} hours of one sentence are charged in two parts"
            yield Defect("counted_twice", f"compute.{index}", reason)


_EACH = re.compile(r"\b(?:each|every|per|apiece|both)\b", re.IGNORECASE)
MOST_UNITS = 100
"""Tasks, folds or subjects that a sentence may give a time for each of; larger numbers count something else."""


def _accelerator(quote: str) -> str:
    """The first accelerator that a sentence names, or ""."""
    devices = (match_device(name) for _, _, reading in read_clauses(quote) for name in reading.devices)
    return next((device.name for device in devices if device is not None and device.kind != "cpu"), "")


def _same_time(one: ComputeWord, other: ComputeWord) -> bool:
    """Whether two parts charge the same hours by the same words: padding in pieces."""
    a, b = ("".join(part.quote.split()) for part in (one, other))
    same = (one.wall_hours, one.device_hours) == (other.wall_hours, other.device_hours)
    return bool(a and b) and _timed(one) and same and (a in b or b in a)


def _datasets(answer: Answer) -> Iterator[Defect]:
    """What the target is measured on is among the data that it needs: a data set that is left out is judged by
    nobody."""
    if answer.target is None:
        return
    wanted = {m.name for m in reference.benchmarks_in(answer.target.dataset)}
    there = {m.name for word in answer.datasets for m in reference.benchmarks_in(word.name)}
    there |= {found.name for word in answer.datasets if (found := reference.benchmark(word.name))}
    if wanted and not wanted & there:
        yield Defect("datasets", "datasets", f"the target's {', '.join(sorted(wanted))} is not among them")


def _needs(answer: Answer) -> Iterator[Defect]:
    """What the experiment's own words need has its quote among the needs."""
    if answer.target is None:
        return
    run = f"{answer.target.config} | {answer.mre_config}"
    if not answer.needs.paid_api and (service := reference.paid_api(run)):
        yield Defect("needs", "needs.paid_api", f"the experiment names {service}, and no quote says what for")
    people = _PEOPLE.search(f"{answer.target.metric} | {run}")
    if not answer.needs.human_raters and people:
        yield Defect(
            "needs", "needs.human_raters", f"the experiment is measured by {people[0]!r}, and no quote says so"
        )


_PEOPLE = re.compile(
    r"\bhuman[\s-](?:eval(?:uation)?s?|rat(?:er|ing)s?|judg\w+|study|studies|survey)\b|\buser stud(?:y|ies)\b"
    r"|\bmean opinion scores?\b|\bMOS\b"
)


def _most_runs(target: TargetWord | None) -> int:
    """Arms of the bar times the seeds that its number averages (labelling guide, "Hours")."""
    if target is None:
        return 1
    return (2 if target.bar_kind in ("direction", "magnitude") else 1) * (target.n_seeds or 1)


def _own_scope(answer: Answer) -> Iterator[Defect]:
    word = answer.signals.weights_available
    yield from charged(answer, released=word.value and word.scope == "exact")


def charged(answer: Answer, released: bool) -> Iterator[Defect]:
    """Hours whose scope disagrees with the weights: `released` says whether those of this configuration are there, in
    the classifier's word or by its receipts. Released weights are evaluated; what is not released is trained first."""
    kinds = {part.kind for part in answer.compute}
    if released and kinds & set(TRAINING):
        yield Defect("scope", "compute", "training is charged although the weights are released")
    if answer.training == "none" and kinds & set(TRAINING):
        yield Defect("scope", "compute", "training is charged although nothing is trained")
    if not released and answer.training != "none" and kinds and not kinds & set(TRAINING):
        yield Defect("scope", "compute", "only evaluation is charged although the target must be trained first")
