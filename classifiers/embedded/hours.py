"""Step 5 of the guide: the parts of the hours, from what the paper says about its compute. No number is invented."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from classifiers.embedded.words import words
from pipeline.answers import ComputeWord, TargetWord
from pipeline.compute import FLOP_AN_H100_HOUR
from pipeline.paper import ComputeMention, Paper
from pipeline.row import BasisKind

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
    r"\b(all|the|for) (?:\w+ )?(?:seeds|runs|repetitions|trials)\b|\bin total\b|\baltogether\b|\btotal\b"
    r"|\b(?:evaluat|train|runn|fitt|comput|test|simulat|reproduc)ing (?:all|every|the whole|the full)\b",
    re.IGNORECASE,
)
_EACH = re.compile(r"\b(?:each|every|per|one|a single|any) (?:of|run|seed|trial|repetition)\b", re.IGNORECASE)
_PREPARES = re.compile(
    r"\b(pre-?process\w*|data (?:profiling|collection|preparation|curation|cleaning|generation)|annotat\w+|crawl\w*"
    r"|download\w*|indexing|tokeni[sz]\w+)\b",
    re.IGNORECASE,
)
_PER_UNIT = re.compile(
    r"\b(?:per|each|every|for one)\s+(?!epoch|step|iteration|run|seed|gpu|device|node|batch|sample|image|token|trial"
    r"|hour|repetition|card)([a-z]+)\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"\b(whole|entire|in total|altogether|in all|together|all (?:the )?\w+s)\b", re.IGNORECASE)
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}

_OF_DATA = re.compile(r"\bhours of (?!training|compute|computation|gpu|wall|h100|a100)\w", re.IGNORECASE)
_MEMORY = re.compile(r"(?<![\d.])\d{2,3}\s?(?:GB|GiB)\b")
_CORES = re.compile(r"\b(\d+)[\s-]*(?:physical |CPU )?cores?\b", re.IGNORECASE)
_FORM = re.compile(r"\b(?:PCIe|NVL|SXM\d?)\b", re.IGNORECASE)

Work = Literal["train", "eval"]


@dataclass(frozen=True, slots=True)
class Hours:
    """The parts of one faithful rerun. No part at all where the paper gives nothing to go by."""

    parts: tuple[ComputeWord, ...]
    basis_kind: BasisKind
    basis: str


def find_hours(paper: Paper, target: TargetWord | None, *, trains: bool) -> Hours:
    """`trains`: the rerun must train, since weights of this configuration are not released and something is trained."""
    if target is None:
        return Hours((), "compute_unspecified", "no target, so nothing to cost")
    arms = 2 if target.bar_kind in ("direction", "magnitude") else 1
    runs = arms * (target.n_seeds or 1)
    timed = [m for m in paper.compute if _has_time(m) and not (m.denial or m.acknowledgement or _of_data(m))]
    works: tuple[Work, ...] = ("train", "eval") if trains else ("eval",)
    found: list[ComputeMention] = []
    parts: list[ComputeWord] = []
    for work in works:
        best = _best(timed, work, target, found)
        if best is not None:
            whole, units = _everything(best, timed, target)
            found.append(whole)
            parts.append(_part(whole, work, runs * units, paper))
    if trains and not any(p.kind == "train" for p in parts):
        return Hours((), "compute_unspecified", "the paper states no time for a training run of the target")
    if not parts:
        return Hours((), "compute_unspecified", "the paper states no time for an evaluation of the target")
    reported = all(m.hours is not None for m in found)
    said = "; ".join(f"{part.kind}: {' '.join(part.quote.split())[:160]}" for part in parts)
    return Hours(tuple(parts), "paper_reported" if reported else "derived_from_config", f"{runs} run(s). {said}"[:600])


def _of_data(mention: ComputeMention) -> bool:
    """ "We train on the 960 hours of LibriSpeech" is a size, not a time."""
    return _OF_DATA.search(mention.quote) is not None and not mention.devices


def _device(mention: ComputeMention, paper: Paper) -> tuple[str, float | None]:
    """(card, count), the card with the memory and form that stand beside it, which tell its variants apart.

    A statement without a device is of the paper's only one, with the only count stated of it.
    """
    count = float(mention.count) if mention.count is not None else None
    if mention.devices:
        name = mention.devices[0]
        beside = [m[0] for pattern in (_MEMORY, _FORM) if (m := pattern.search(mention.quote))]
        return " ".join([name, *(b for b in beside if b.lower() not in name.lower())]), count
    named = [m for m in paper.compute if m.devices and not (m.denial or m.acknowledgement)]
    if mention.cpu_only or len({m.devices for m in named}) != 1:
        return "", count
    counts = {float(m.count) for m in named if m.count is not None}
    return named[0].devices[0], count or (counts.pop() if len(counts) == 1 else None)


def _has_time(mention: ComputeMention) -> bool:
    return any(x is not None for x in (mention.hours, mention.time_per_epoch, mention.time_per_step, mention.flops))


def _does(mention: ComputeMention, work: Work) -> bool:
    """Whether the statement speaks of this work; one that names neither counts for both."""
    trains, evaluates = bool(_TRAINS.search(mention.quote)), bool(_EVALUATES.search(mention.quote))
    if trains == evaluates:
        return True
    return trains if work == "train" else evaluates


def _best(
    timed: Sequence[ComputeMention], work: Work, target: TargetWord, used: Sequence[ComputeMention]
) -> ComputeMention | None:
    """The statement nearest to the target: one run before a table, this work, its configuration, first in order."""
    wanted = words(f"{target.config} {target.dataset} {target.metric}")

    def rank(pair: tuple[int, ComputeMention]) -> tuple[float, ...]:
        order, mention = pair
        scope = {"run": 0, "seed": 0, None: 0, "table": 1, "paper": 2}[mention.scope]
        says = _TRAINS if work == "train" else _EVALUATES
        return (scope, not says.search(mention.quote), -len(words(mention.quote) & wanted), order)

    fitting = [
        (i, m)
        for i, m in enumerate(timed)
        if _does(m, work)
        and m not in used
        and not m.includes_failed
        and not _SEARCHES.search(m.quote)
        and not _PREPARES.search(m.subject or m.quote)
    ]
    if work == "eval" and used:
        # Beside a training part only a statement about evaluation itself adds anything.
        fitting = [(i, m) for i, m in fitting if _EVALUATES.search(m.quote) and not _TRAINS.search(m.quote)]
    if work == "train":
        # A total over the paper is no run of the target; of an evaluation it may be all there is.
        fitting = [(i, m) for i, m in fitting if m.scope != "paper"]
    return min(fitting, key=rank)[1] if fitting else None


def _everything(
    mention: ComputeMention, timed: Sequence[ComputeMention], target: TargetWord
) -> tuple[ComputeMention, int]:
    """What the target covers of a time "per room": the time for all rooms, where the same sentence states it, or how
    many rooms the target averages; one where it says neither."""
    unit = _PER_UNIT.search(mention.quote)
    if unit is None:
        return mention, 1
    for other in timed:
        if other is not mention and other.sentence == mention.sentence and _WHOLE.search(other.quote):
            return other, 1
    told = f"{target.config} {target.scope} {target.quote}"
    counted = re.search(rf"\b(\d{{1,3}}|{'|'.join(_COUNTS)})\s+(?:\w+\s+)?{re.escape(unit[1])}s\b", told, re.IGNORECASE)
    if counted is None:
        return mention, 1
    return mention, _COUNTS.get(counted[1].lower()) or int(counted[1])


def _part(mention: ComputeMention, work: Work, runs: int, paper: Paper) -> ComputeWord:
    covered = mention.scope in ("table", "paper") or bool(
        _ALL_SEEDS.search(mention.quote) and not _EACH.search(mention.quote) and mention.scope != "seed"
    )
    (device, count), wall, device_hours = _device(mention, paper), None, None
    cpu = None if device else _cpu(mention, paper)
    if mention.hours is not None:
        wall, device_hours = (None, mention.hours) if mention.hours_kind == "device" else (mention.hours, None)
    elif mention.time_per_epoch is not None and (epochs := _more_than_one(mention.epochs) or _only(_EPOCHS, paper)):
        wall = mention.time_per_epoch * epochs
    elif mention.time_per_step is not None and (steps := _more_than_one(mention.steps) or _only(_STEPS, paper)):
        wall = mention.time_per_step * steps
    elif mention.flops is not None:
        device, device_hours = "H100", mention.flops / FLOP_AN_H100_HOUR
    return ComputeWord(
        kind=work,
        device=device or cpu or "",
        count=None if device_hours is not None or cpu else count,
        wall_hours=wall,
        device_hours=device_hours,
        runs=1 if covered else runs,
        quote=mention.quote,
        cpu_only=mention.cpu_only or cpu is not None,
    )


def _cpu(mention: ComputeMention, paper: Paper) -> str | None:
    """The processor, where this statement or, for want of any device, another says that no accelerator was used."""
    said = [m for m in (mention, *paper.compute) if m.cpu_only]
    if not said or any(m.devices and not m.cpu_only for m in paper.compute):
        return None
    cores = next((c[1] for m in said if (c := _CORES.search(m.quote))), "")
    return f"{cores}-core CPU" if cores else "CPU"


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
