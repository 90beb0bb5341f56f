"""Faults that a stated compute estimate can have although its arithmetic holds.

Count x wall x factor agrees with itself when minutes were typed as hours, when epochs were, or when the wall clock was
solved for the answer. A time stands if the words it is read from give it (`_gives`); what they do not give is one of
these faults. Kinds are those seen in a published benchmark's compute records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal

from pipeline.compute import FLOP_AN_H100_HOUR, TRAINING, Part, match_device
from pipeline.paper.compute import read_clauses
from pipeline.paper.durations import Duration, find_durations, number, unit_hours

FaultKind = Literal[
    "unit_slip",
    "epochs_as_hours",
    "gpu_hours_as_wall",
    "counted_twice",
    "outside_own_range",
    "back_solved",
    "invented_wall",
    "invented_device",
    "wrong_factor",
    "padding",
    "scope",
]

MAX_TEXT = 4000
"""Characters of a quote or a basis that are read; no sentence about compute is longer."""
UNIT_HOURS = 1 / 12
"""Whatever takes five minutes or less may be one of many: a step, a query, an image."""
FLOP_SLACK = 2.5
"""How far hours from a stated number of operations may lie from those at 40 % utilisation."""


@dataclass(frozen=True, kw_only=True)
class Stated:
    """An estimate as someone stated it. Hours are H100 hours, wall hours those of the clock, device hours those of all
    devices together; None where not given.

    `text` are the words the numbers are read from, `basis` what the estimator adds in words of its own, `printed` the
    whole paper, where it is at hand.
    """

    text: str
    basis: str = ""
    printed: str = ""
    count: float | None = None
    wall_hours: float | None = None
    device_hours: float | None = None
    runs: int = 1
    factor: float | None = None
    device: str = ""
    basis_kind: str = ""

    @property
    def time(self) -> float | None:
        return self.wall_hours or self.device_hours

    @cached_property
    def durations(self) -> list[Duration]:
        return find_durations(self.text[:MAX_TEXT], machine=True)[:20]

    def words(self, one: Duration) -> str:
        return self.text[one.start : one.end].strip()


@dataclass(frozen=True, slots=True)
class Fault:
    kind: FaultKind
    detail: str


def faults(stated: Stated) -> tuple[Fault, ...]:
    """Every fault found, in the order of ``FaultKind``; of a time that its words do not give, the first that fits."""
    found = [fault for detect in (counted_twice, invented_device) if (fault := detect(stated)) is not None]
    if stated.time and not _gives(stated):
        why = (unit_slip, epochs_as_hours, gpu_hours_as_wall, outside_own_range, back_solved, invented_wall)
        found += [fault for detect in why if (fault := detect(stated)) is not None][:1]
    found += [fault for detect in (wrong_factor, padding) if (fault := detect(stated)) is not None]
    return tuple(sorted(found, key=lambda fault: _ORDER[fault.kind]))


def unit_slip(stated: Stated) -> Fault | None:
    """Seconds, minutes, days or weeks typed as hours: the time is the bare number of such a duration, or of two
    added."""
    assert stated.time
    slips: list[tuple[float, float, str]] = []
    for one in stated.durations:
        said = stated.words(one)
        unit = _unit(said)
        if unit != 1.0:
            slips += [(hours / unit, hours, said) for hours in dict.fromkeys((one.low, one.high))]
    for n in (1, 2):
        for group in combinations(slips, n):
            typed = sum(slip[0] for slip in group)
            # Typed numbers are often cut, not rounded: 31.7 minutes became 31.
            if _close(stated.time, typed) or (typed >= 2 and stated.time == int(typed)):
                said = " and ".join(dict.fromkeys(slip[2] for slip in group))
                right = sum(slip[1] for slip in group)
                return Fault("unit_slip", f"{said!r} stands as {stated.time:g} hours; it is {right:.3g} hours")
    return None


def epochs_as_hours(stated: Stated) -> Fault | None:
    """A number of epochs, rounds, or thousands of steps typed as hours."""
    assert stated.time
    for m in _EPOCHS.finditer(stated.text[:MAX_TEXT]):
        if _close(stated.time, number(m[1]) or 0.0):
            return Fault("epochs_as_hours", f"{m[0].strip()!r} stands as {stated.time:g} hours")
    return None


def gpu_hours_as_wall(stated: Stated) -> Fault | None:
    """Hours of all devices together typed as the wall clock of several, so that they are multiplied again."""
    wall, count = stated.wall_hours, stated.count
    if not wall or not count or count <= 1:
        return None
    for one in stated.durations:
        if one.kind == "device" and _within(wall, one):
            detail = f"{stated.words(one)!r} is {wall / count:g} hours of {count:g} devices, not {wall:g}"
            return Fault("gpu_hours_as_wall", detail)
    return None


def counted_twice(stated: Stated) -> Fault | None:
    """A time over all seeds or runs together, multiplied by their number again."""
    text = stated.text[:MAX_TEXT]
    together = _TOGETHER.search(text)
    if stated.runs <= 1 or not stated.time or not together or _EACH.search(text):
        return None
    if not any(_within(stated.time, one) for one in stated.durations):
        return None
    return Fault("counted_twice", f"{together[0]!r}: {stated.time:g} hours hold all {stated.runs} runs already")


def outside_own_range(stated: Stated) -> Fault | None:
    """The text gives a range of device hours, and the estimate lies outside it by more than a fifth."""
    used = stated.device_hours or (stated.wall_hours or 0.0) * (stated.count or 1.0)
    for one in stated.durations:
        if one.kind == "device" and one.low < one.high and not 0.8 * one.low <= used <= 1.2 * one.high:
            detail = f"{used:g} device hours are used, the text says {one.low:g} to {one.high:g}"
            return Fault("outside_own_range", detail)
    return None


def back_solved(stated: Stated) -> Fault | None:
    """A time that no text gives while the text gives others: solved for an answer, or made up."""
    if not stated.durations:
        return None
    said = ", ".join(repr(stated.words(one)) for one in stated.durations)
    return Fault("back_solved", f"{stated.time:g} hours do not follow from {said}")


def invented_wall(stated: Stated) -> Fault | None:
    """Said to rest on the paper, while the quoted words hold no time at all."""
    if not stated.basis_kind or stated.durations:
        return None
    return Fault("invented_wall", f"no time is quoted for {stated.time:g} hours")


def invented_device(stated: Stated) -> Fault | None:
    """A device that the paper does not name, another one than the quote names, or another number of them than it
    says."""
    readings = [reading for _, _, reading in read_clauses(stated.text[:MAX_TEXT])]
    if any(reading.flops for reading in readings):
        return None  # operations are turned into hours of the reference device
    if stated.printed and not named(stated.device, stated.printed):
        return Fault("invented_device", f"the paper does not name {stated.device!r}")
    device = match_device(stated.device)
    told = [match_device(name) for reading in readings for name in reading.devices]
    if device and device.kind != "cpu" and told and all(told) and not any(_kin(device.id, d.id) for d in told if d):
        return Fault("invented_device", f"{stated.device!r} is not the device of the quote: {told[0] and told[0].name}")
    counts = {reading.count for reading in readings if reading.count is not None}
    if stated.count is None or stated.count in counts or stated.wall_hours is None:
        return None
    if counts:
        said = " or ".join(f"{n:g}" for n in sorted(counts))
        return Fault("invented_device", f"{stated.count:g} devices are charged, the quote says {said}")
    if stated.printed and stated.count > 1 and stated.count not in numbers(stated.printed):
        return Fault("invented_device", f"the paper prints no number of {stated.count:g} devices")
    return None


def named(device: str, printed: str) -> bool:
    """Whether a paper's text prints every word of a device's name, white space and case aside."""
    squeezed = "".join(printed.casefold().split())
    return all(word in squeezed for word in device.casefold().split())


def wrong_factor(stated: Stated) -> Fault | None:
    """A multiplier outside what the device table allows for the named device, or for a device it does not know."""
    factors = list(_factors(stated.basis)) or ([] if stated.factor is None else [stated.factor])
    device = match_device(stated.device)
    if not factors or not stated.device.strip():
        return None
    if device is None:
        return Fault("wrong_factor", f"{stated.device!r} is not in the device table; {factors[0]:g} has no source")
    lowest, highest = min(device.low, device.fp32 or device.low), max(device.high, device.fp32 or device.high)
    if any(lowest <= factor <= highest for factor in factors):
        return None
    return Fault("wrong_factor", f"{factors[0]:g} for {device.name} lies outside {lowest:g} to {highest:g}")


def padding(stated: Stated) -> Fault | None:
    """Time added for anything but one faithful rerun: debugging, set-up, search, a margin."""
    for found in _PADDING.finditer(stated.basis[:MAX_TEXT]):
        if not _DENIED.search(stated.basis[max(0, found.start() - 40) : found.start()]):
            return Fault("padding", f"{found[0].strip()!r} is not part of a rerun")
    failed = _FAILED.search(stated.text[:MAX_TEXT])
    if stated.time and failed and not _DENIED.search(stated.text[max(0, failed.start() - 40) : failed.start()]):
        return Fault("padding", f"the quoted time holds {failed[0]!r}, which is not part of a rerun")
    return None


def training_charged(parts: Iterable[Part], weights_released: bool) -> Fault | None:
    """Training is charged although the weights of this very configuration are released: then the rerun only
    evaluates.
    """
    if weights_released and any(p.kind in TRAINING for p in parts):
        return Fault("scope", "training is charged although the weights are released; only evaluation is needed")
    return None


def _gives(stated: Stated) -> bool:
    """Whether the words give the time: as printed, as a sum of two, as hours of all devices over their number, as time
    a unit times a number of units that the paper prints, or as operations over the reference device's rate."""
    time, count = stated.time, stated.count or 1.0
    assert time
    shares = {1.0, 1.0 / stated.runs}
    wholes = [one for one in stated.durations if one.role == "total"]
    for one in wholes:
        scale = 1.0
        if one.kind == "device" and stated.wall_hours:
            scale = 1 / count
        elif one.kind == "wall" and not stated.wall_hours:
            scale = count
        if any(_within(time, one, scale * share) for share in shares):
            return True
    if any(_within(time, _Span(a.low + b.low, a.high + b.high)) for a, b in combinations(wholes, 2)):
        return True
    text = stated.text[:MAX_TEXT]
    units = [one for one in stated.durations if one.role != "total" or one.high <= UNIT_HOURS]
    if _EACH.search(text) and any(_within(time, one, n) for one in wholes for n in numbers(_outside(stated)) - {count}):
        return True
    if any(_within(time, one, n) for one in units for n in numbers(f"{text} {stated.printed}")):
        return True
    rates = (reading.flops for _, _, reading in read_clauses(text) if reading.flops)
    hours = [flops / FLOP_AN_H100_HOUR / (count if stated.wall_hours else 1.0) for flops in rates]
    return any(h / FLOP_SLACK <= time <= h * FLOP_SLACK for h in hours)


def _outside(stated: Stated) -> str:
    """The words around the times: the ends of a range are no numbers of units."""
    text = stated.text[:MAX_TEXT]
    for one in reversed(stated.durations):
        text = f"{text[: one.start]} | {text[one.end :]}"
    return text


@dataclass(frozen=True, slots=True)
class _Span:
    low: float
    high: float


def _unit(said: str) -> float:
    """Hours in the unit of a printed duration; 1 where its words end otherwise ("a day and a half")."""
    found = _UNIT.findall(said)
    return unit_hours(found[-1]) if found else 1.0


def _within(time: float, span: Duration | _Span, scale: float = 1.0) -> bool:
    """Whether a time lies in a printed span, within what rounding takes: three parts in a hundred, or 20 seconds."""
    low, high = span.low * scale, span.high * scale
    return low - max(0.03 * low, 0.0056) <= time <= high + max(0.03 * high, 0.0056)


def numbers(text: str) -> set[float]:
    """Every number a text prints, in digits (1,200 and 100k too) or in words."""
    found: set[float] = set()
    for m in _NUMBER.finditer(text):
        digits = float(m[1].replace(",", ""))
        found.add(digits * {"": 1.0, "k": 1e3, "m": 1e6}[(m[2] or "").lower()])
    return found | {float(_COUNTS[m[0].lower()]) for m in _WORD.finditer(text)}


def _kin(one: str, other: str) -> bool:
    """Whether two entries are variants of one device: memory and form factor stand after its name."""
    return one.split("-")[:1] == other.split("-")[:1]


def _factors(basis: str) -> Iterator[float]:
    for m in _FACTOR.finditer(basis[:MAX_TEXT]):
        yield float(m[1] or m[2])


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 0.01 * max(abs(a), abs(b))


_ORDER = {kind: place for place, kind in enumerate(FaultKind.__args__)}  # type: ignore[attr-defined]
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "sixteen")
_COUNTS = dict(zip(_WORDS, (*range(2, 11), 12, 16), strict=True))
_WORD = re.compile(rf"\b(?:{'|'.join(_COUNTS)})\b", re.IGNORECASE)
# Thousands are grouped by commas or not at all; a looser form backtracks for minutes over "9,9,9,...".
_NUMBER = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,12}(?:\.\d{1,12})?)(?:\s?([kKM])(?![A-Za-z]))?")
_EPOCHS = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,12}(?:\.\d{1,12})?|[a-z]+(?:-[a-z]+)?)k?[\s~-]{1,3}(?:k\s+)?"
    r"(?:(?:full|training|more|additional)\s+)?(?:epochs?|rounds?|steps?|iterations?|passes)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"(?<![A-Za-z])(?:ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?)\b",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"\b(?:all|across|over)\s(?:\w+\s)?(?:seeds|runs|repetitions|trials)\b|\b(?:seeds|runs|trials) together\b",
    re.IGNORECASE,
)
_EACH = re.compile(r"\b(?:each|every|per|apiece|single)\b", re.IGNORECASE)
_FACTOR = re.compile(
    r"\b(?:factor|multiplier|ratio|conversion|normali[sz]ed)\b[^.\d]{0,25}(\d?\.\d+)(?!\s?(?:h|hours?|min|minutes?)\b)"
    r"|(?<![\w.])(\d?\.\d+)\s?(?:x|×|of an?|H100[- ]equiv\w*|relative to an?)\s?H100",
    re.IGNORECASE,
)
_PADDING = re.compile(
    r"(?:debug\w*|safety (?:margin|factor)|contingency|engineering (?:time|overhead|effort)"
    r"|(?:add\w*|plus|includ\w*|account\w* for|allow\w* for|with|for|some|and)\s+(?:\w+\s+){0,3}?"
    r"(?:overheads?|buffer|margin|set-?up|failed runs|retries|tuning|hyper-?parameter search|engineering)\b"
    r"|rounded up|padd(?:ed|ing) (?:to|for|by))",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b(?:failed|preliminary|unreported|discarded) (?:runs?|experiments?|trials?)\b|\bdebugging (?:runs?|time)\b"
    r"|\bhyper-?parameter (?:search|sweeps?|tuning)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|never|without|exclud\w+|except|nor|apart from|leav\w+ out)\b[^.;]*$", re.IGNORECASE)
