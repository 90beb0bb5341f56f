"""Step 5 of the guide: the parts of the hours, from what the paper says about its compute. No number is invented."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from classifiers.embedded.words import words
from pipeline.answers import ComputeWord, TargetWord
from pipeline.paper import ComputeMention, Paper
from pipeline.paper.compute import Reading, read_sentence
from pipeline.row import BasisKind

FLOP_AN_H100_HOUR = 1.42e18
"""989 TFLOP/s, dense 16-bit, at 40 % utilisation, for an hour."""

_TRAINS = re.compile(
    r"\b(pre-?train\w*|train\w*|fine-?tun\w*|optimi[sz]\w*|epochs?|student|teacher|converge\w*|learn\w*)\b",
    re.IGNORECASE,
)
_EVALUATES = re.compile(
    r"\b(evaluat\w*|inference|infer\w*|test(?:ing| set| time)|sampl(?:ing|es?)|generat\w+|decod\w+|predict\w*"
    r"|benchmarking|scor\w+)\b",
    re.IGNORECASE,
)
_EPOCHS = re.compile(r"\b(\d{1,5})\s+(?:training\s+)?epochs\b", re.IGNORECASE)
_STEPS = re.compile(
    r"\b(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?\s?[kKM]?)\s+(?:training\s+)?(?:steps|iterations|updates)\b", re.IGNORECASE
)
_SEARCHES = re.compile(
    r"\b(search|sweep|tuning of|hyper-?parameter|debug\w*|fail\w*|prelimin\w*|prototyp\w*)\b", re.IGNORECASE
)
_ALL_SEEDS = re.compile(
    r"\b(all|the|for) (?:\w+ )?(?:seeds|runs|repetitions|trials)\b|\bin total\b|\baltogether\b", re.IGNORECASE
)

_OF_DATA = re.compile(r"\bhours of (?!training|compute|computation|gpu|wall|h100|a100)\w", re.IGNORECASE)
_CLAUSE = re.compile(r";\s|,\s(?=(?:while|whereas|and|but|evaluat\w+|train\w+)\b)|\.\s(?=[A-Z])")
_MEMORY = re.compile(r"(?<![\d.])\d{2,3}\s?(?:GB|GiB)\b")
_FORM = re.compile(r"\b(?:PCIe|NVL|SXM\d?)\b", re.IGNORECASE)

Work = Literal["train", "eval"]


@dataclass(frozen=True, slots=True)
class Hours:
    """The parts of one faithful rerun. No part at all where the paper gives nothing to go by."""

    parts: tuple[ComputeWord, ...]
    basis_kind: BasisKind
    basis: str


@dataclass(frozen=True, slots=True)
class Timed:
    """A reading of one clause, with the sentence it stands in. `device` names memory and form too, where the clause
    does.
    """

    clause: str
    quote: str
    device: str
    reading: Reading
    order: int


def find_hours(paper: Paper, target: TargetWord | None, *, trains: bool) -> Hours:
    """`trains`: the rerun must train, since weights of this configuration are not released and something is trained."""
    if target is None:
        return Hours((), "compute_unspecified", "no target, so nothing to cost")
    arms = 2 if target.bar_kind in ("direction", "magnitude") else 1
    runs = arms * (target.n_seeds or 1)
    timed = [t for t in _clauses(paper) if _has_time(t.reading)]
    works: tuple[Work, ...] = ("train", "eval") if trains else ("eval",)
    found: list[Timed] = []
    parts: list[ComputeWord] = []
    for work in works:
        best = _best(timed, work, target, found)
        if best is not None:
            found.append(best)
            parts.append(_part(best, work, runs, paper))
    if trains and not any(p.kind == "train" for p in parts):
        return Hours((), "compute_unspecified", "the paper states no time for a training run of the target")
    if not parts:
        return Hours((), "compute_unspecified", "the paper states no time for an evaluation of the target")
    reported = all(t.reading.hours is not None for t in found)
    said = "; ".join(f"{p.kind}: {' '.join(t.clause.split())[:160]}" for p, t in zip(parts, found, strict=True))
    return Hours(tuple(parts), "paper_reported" if reported else "derived_from_config", f"{runs} run(s). {said}"[:600])


def _clauses(paper: Paper) -> list[Timed]:
    """The compute statements, one a clause: "training takes 3 hours; evaluation 4 minutes on the same card" is two.

    A clause without a device takes the one before it in its sentence, else the paper's only one.
    """
    usable = [m for m in paper.compute if not (m.denial or m.acknowledgement or _of_data(m))]
    named = {m.devices for m in usable if m.devices}
    only = next(iter(named))[0] if len(named) == 1 else ""
    counts = {m.count for m in usable if m.devices and m.count is not None}
    found: list[Timed] = []
    for mention in {m.quote: m for m in usable}.values():
        pieces = [c for c in _CLAUSE.split(mention.quote) if c.strip()]
        read = [(c, r) for c in pieces if (r := read_sentence(c)) is not None and (_has_time(r) or r.devices)]
        if sum(_has_time(r) for _, r in read) < 2:
            read = [(mention.quote, _as_reading(mention))]
        device, count = "", None
        for clause, reading in read:
            if reading.devices:
                device, count = _device(reading.devices[0], clause), reading.count
            elif reading.count is None:
                reading = replace(reading, count=count)
            if not device and not reading.cpu_only and only:
                reading = replace(reading, count=reading.count or (min(counts) if len(counts) == 1 else None))
            found.append(
                Timed(clause, mention.quote, device or ("" if reading.cpu_only else only), reading, len(found))
            )
    return found


def _of_data(mention: ComputeMention) -> bool:
    """ "We train on the 960 hours of LibriSpeech" is a size, not a time."""
    return _OF_DATA.search(mention.quote) is not None and not mention.devices


def _as_reading(mention: ComputeMention) -> Reading:
    names = {f.name for f in fields(Reading)}
    return Reading(**{f.name: getattr(mention, f.name) for f in fields(mention) if f.name in names})


def _device(name: str, clause: str) -> str:
    """A card with the memory and form that stand beside it, which tell its variants apart."""
    beside = [m[0] for pattern in (_MEMORY, _FORM) if (m := pattern.search(clause))]
    return " ".join([name, *(b for b in beside if b.lower() not in name.lower())])


def _has_time(reading: Reading) -> bool:
    return any(x is not None for x in (reading.hours, reading.time_per_epoch, reading.time_per_step, reading.flops))


def _does(timed: Timed, work: Work) -> bool:
    """Whether the clause speaks of this work; one that names neither counts for both."""
    trains, evaluates = bool(_TRAINS.search(timed.clause)), bool(_EVALUATES.search(timed.clause))
    if trains == evaluates:
        return True
    return trains if work == "train" else evaluates


def _best(timed: Sequence[Timed], work: Work, target: TargetWord, used: Sequence[Timed]) -> Timed | None:
    """The clause nearest to the target: of this work, of one run rather than a table, of its configuration, first
    in order.
    """
    wanted = words(f"{target.config} {target.dataset} {target.metric}")

    def rank(one: Timed) -> tuple[float, ...]:
        scope = {"run": 0, "seed": 0, None: 0, "table": 1, "paper": 2}[one.reading.scope]
        says = _TRAINS if work == "train" else _EVALUATES
        return (scope, not says.search(one.clause), -len(words(one.clause) & wanted), one.order)

    fitting = [
        t
        for t in timed
        if _does(t, work) and t not in used and not t.reading.includes_failed and not _SEARCHES.search(t.clause)
    ]
    if work == "eval" and used:
        # Beside a training part only a clause about evaluation itself adds anything.
        fitting = [t for t in fitting if _EVALUATES.search(t.clause) and not _TRAINS.search(t.clause)]
    if work == "train":
        # A total over the paper is no run of the target; of an evaluation it may be all there is.
        fitting = [t for t in fitting if t.reading.scope != "paper"]
    return min(fitting, key=rank) if fitting else None


def _part(timed: Timed, work: Work, runs: int, paper: Paper) -> ComputeWord:
    reading = timed.reading
    covered = reading.scope in ("table", "paper") or bool(_ALL_SEEDS.search(timed.clause) and reading.scope is None)
    device, wall, device_hours = timed.device, None, None
    if reading.hours is not None:
        wall, device_hours = (None, reading.hours) if reading.hours_kind == "device" else (reading.hours, None)
    elif reading.time_per_epoch is not None and (epochs := _more_than_one(reading.epochs) or _only(_EPOCHS, paper)):
        wall = reading.time_per_epoch * epochs
    elif reading.time_per_step is not None and (steps := _more_than_one(reading.steps) or _only(_STEPS, paper)):
        wall = reading.time_per_step * steps
    elif reading.flops is not None:
        device, device_hours = "H100", reading.flops / FLOP_AN_H100_HOUR
    return ComputeWord(
        kind=work,
        device=device,
        count=None if device_hours is not None or reading.count is None else float(reading.count),
        wall_hours=wall,
        device_hours=device_hours,
        runs=1 if covered else runs,
        quote=timed.quote,
        cpu_only=reading.cpu_only,
    )


def _more_than_one(amount: float | None) -> float | None:
    """ "An epoch lasts 2 minutes" counts one epoch, which is the unit and not the schedule."""
    return amount if amount is not None and amount > 1 else None


def _only(pattern: re.Pattern[str], paper: Paper) -> float | None:
    """The amount the paper states, where it states just one: two schedules cannot be told apart by rule."""
    body = (s.text for s in paper.sentences() if not s.appendix)
    amounts = {m[1].replace(",", "") for text in body for m in pattern.finditer(text)}
    if len(amounts) != 1:
        return None
    text = amounts.pop()
    scale = {"k": 1e3, "K": 1e3, "M": 1e6}.get(text[-1:], 1.0)
    return float(text.rstrip("kKM ")) * scale
