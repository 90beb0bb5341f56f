"""Faults that a stated compute estimate can have although its arithmetic holds.

Count x wall x factor agrees with itself when minutes were typed as hours, when epochs were, or when the wall clock was
solved for the answer. Each detector looks at one such fault, in the words the estimate gives as its basis.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Literal

from pipeline.compute import Part, match_device

FaultKind = Literal[
    "unit_slip",
    "epochs_as_hours",
    "gpu_hours_as_wall",
    "padding",
    "back_solved",
    "wrong_factor",
    "invented_wall",
    "outside_own_range",
    "scope",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """An estimate as someone stated it. Hours are H100 hours, wall hours those of the clock; None where not given."""

    text: str
    hours: float | None = None
    count: float | None = None
    wall_hours: float | None = None
    factor: float | None = None
    device: str = ""
    basis_kind: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: FaultKind
    detail: str


def faults(stated: Stated) -> tuple[Fault, ...]:
    """Every fault found, in the order of ``FaultKind``."""
    detectors = (
        *(unit_slip, epochs_as_hours, gpu_hours_as_wall, padding, back_solved, wrong_factor, invented_wall),
        outside_own_range,
    )
    return tuple(fault for detect in detectors if (fault := detect(stated)) is not None)


def unit_slip(stated: Stated) -> Fault | None:
    """Seconds, minutes or days typed as hours: the wall clock is the bare number of such a duration, or of two
    added.
    """
    wall = stated.wall_hours
    if not wall or _said_in_hours(wall, stated.text):
        return None
    others = [d for d in _durations(stated.text) if d.unit != "hour"]
    for n in (1, 2):
        for group in combinations(others, n):
            slipped = sum(d.number for d in group)
            right = sum(d.hours for d in group)
            # Typed numbers are often cut, not rounded: 31.7 minutes became 31.
            if _close(wall, slipped) or wall == int(slipped):
                said = " and ".join(f"{d.number:g} {d.unit}s" for d in group)
                return Fault("unit_slip", f"{said} stand as {wall:g} hours; they are {right:.3g} hours")
    return None


def epochs_as_hours(stated: Stated) -> Fault | None:
    """A number of epochs, rounds, or thousands of steps typed as hours."""
    wall = stated.wall_hours
    if not wall or _said_in_hours(wall, stated.text):
        return None
    for m in _EPOCHS.finditer(stated.text):
        if _close(wall, _number(m[1])):
            return Fault("epochs_as_hours", f"{m[0].strip()!r} stands as {wall:g} hours")
    return None


def gpu_hours_as_wall(stated: Stated) -> Fault | None:
    """Hours of all devices together typed as the wall clock of several, so that they are multiplied again."""
    wall, count = stated.wall_hours, stated.count
    if not wall or not count or count <= 1:
        return None
    for m in _DEVICE_HOURS.finditer(stated.text):
        if _close(wall, _number(m[1])):
            return Fault(
                "gpu_hours_as_wall", f"{m[0].strip()!r} is {wall / count:g} hours of {count:g} devices, not {wall:g}"
            )
    return None


def padding(stated: Stated) -> Fault | None:
    """Time added for anything but one faithful rerun: debugging, set-up, search, a margin."""
    found = _PADDING.search(stated.text)
    return Fault("padding", f"{found[0].strip()!r} is not part of a rerun") if found else None


def back_solved(stated: Stated) -> Fault | None:
    """A wall clock that no text gives, whose product hits a round answer while the text gives other durations."""
    hours, wall, count, factor = stated.hours, stated.wall_hours, stated.count, stated.factor
    if not hours or not wall or not count or not factor:
        return None
    durations = [d.hours for d in _durations(stated.text)]
    told = {*durations, *(h / count for h in durations), *(sum(pair) for pair in combinations(durations, 2))}
    round_answer = _close(hours, round(hours)) and _close(count * wall * factor, hours)
    if not durations or not round_answer or any(_close(wall, t) for t in told):
        return None
    said = ", ".join(f"{h:.3g}" for h in durations)
    return Fault("back_solved", f"{wall:g} wall hours give the round {hours:g}, but the text says {said} hours")


def wrong_factor(stated: Stated) -> Fault | None:
    """A multiplier outside what the device table allows for the named device, or for a device it does not know."""
    if stated.factor is None or not stated.device.strip():
        return None
    device = match_device(stated.device)
    if device is None:
        return Fault("wrong_factor", f"{stated.device!r} is not in the device table; {stated.factor:g} has no source")
    lowest, highest = min(device.low, device.fp32 or device.low), max(device.high, device.fp32 or device.high)
    if lowest <= stated.factor <= highest:
        return None
    return Fault("wrong_factor", f"{stated.factor:g} for {device.name} lies outside {lowest:g} to {highest:g}")


def invented_wall(stated: Stated) -> Fault | None:
    """Said to be reported by the paper, while the quoted words hold no time at all."""
    if stated.basis_kind != "paper_reported" or not stated.wall_hours:
        return None
    if _durations(stated.text) or _DEVICE_HOURS.search(stated.text):
        return None
    return Fault("invented_wall", f"no time is quoted for {stated.wall_hours:g} wall hours")


def outside_own_range(stated: Stated) -> Fault | None:
    """The text gives a range of device hours, and the estimate lies outside it by more than a fifth."""
    if not stated.wall_hours or not stated.count:
        return None
    used = stated.wall_hours * stated.count
    for m in _DEVICE_HOURS_RANGE.finditer(stated.text):
        low, high = _number(m[1]), _number(m[2])
        if low < high and not 0.8 * low <= used <= 1.2 * high:
            return Fault("outside_own_range", f"{used:g} device hours are used, the text says {low:g} to {high:g}")
    return None


def training_charged(parts: Iterable[Part], weights_released: bool) -> Fault | None:
    """Training is charged although the weights of this very configuration are released: then the rerun only
    evaluates.
    """
    if weights_released and any(p.kind == "train" for p in parts):
        return Fault("scope", "training is charged although the weights are released; only evaluation is needed")
    return None


@dataclass(frozen=True, slots=True)
class _Duration:
    number: float
    unit: str

    @property
    def hours(self) -> float:
        return self.number * _UNIT_HOURS[self.unit]


_UNIT_HOURS = {
    "millisecond": 1 / 3_600_000,
    "second": 1 / 3600,
    "minute": 1 / 60,
    "hour": 1.0,
    "day": 24.0,
    "week": 168.0,
}
_UNIT_WORDS = {"ms": "millisecond", "s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
# Thousands are grouped by commas or not at all; a looser form backtracks for minutes over "9,9,9,...".
_DIGITS = r"((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)"
_N = rf"(?<![\w.,]){_DIGITS}"
_TO = r"\s*(?:-{1,3}|–|—|to|and)\s*"
_DURATION = re.compile(
    rf"{_N}(?:{_TO}{_DIGITS})?[\s~-]*"
    r"(ms|milliseconds?|s|secs?|seconds?|min|mins|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\b",
    re.IGNORECASE,
)
_DEVICE = r"(?:GPU|TPU|device|card|chip|[AHVLTP]\d{1,3}S?|RTX\s?\w+)s?"
_DEVICE_HOURS = re.compile(rf"{_N}[\s~-]*(?:\w+[\s-]){{0,2}}?{_DEVICE}[\s~-]*(?:hours?|hrs?|h)\b", re.IGNORECASE)
_DEVICE_HOURS_RANGE = re.compile(rf"{_N}{_TO}{_DIGITS}[\s~-]*{_DEVICE}[\s~-]*(?:hours?|hrs?|h)\b", re.IGNORECASE)
_EPOCHS = re.compile(rf"{_N}[\s~-]*(?:k\s+)?(?:training\s+)?(?:epochs?|rounds?|steps?|iterations?)\b", re.IGNORECASE)
_PADDING = re.compile(
    r"(?:debug\w*|safety (?:margin|factor)|contingency|engineering (?:time|overhead|effort)"
    r"|(?:add\w*|plus|includ\w*|account\w* for|allow\w* for|with|for|some|and)\s+(?:\w+\s+){0,3}?"
    r"(?:overheads?|buffer|margin|set-?up|failed runs|retries|tuning|hyper-?parameter search|engineering)\b"
    r"|rounded up|padd(?:ed|ing) (?:to|for|by))",
    re.IGNORECASE,
)


def _durations(text: str) -> list[_Duration]:
    """The first durations of a text; pairs of them are tried, and no basis of an estimate needs more."""
    return list(islice(_each_duration(text), 40))


def _each_duration(text: str) -> Iterator[_Duration]:
    for m in _DURATION.finditer(text):
        word = m[3].lower()
        unit = _UNIT_WORDS["ms" if word.startswith(("ms", "milli")) else word[0]]
        for number in (m[1], m[2]):
            if number:
                yield _Duration(_number(number), unit)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _said_in_hours(wall: float, text: str) -> bool:
    return any(d.unit == "hour" and _close(d.number, wall) for d in _durations(text))


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 0.01 * max(abs(a), abs(b))
