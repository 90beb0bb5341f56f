"""From what a paper says about its compute to H100 hours, and from hours to bands.

Hours are of one NVIDIA H100 SXM. Device factors come from ``data/reference/devices.toml`` alone: a card that is not
there makes the hours unknown, and unknown is None, never zero. Faults in a given estimate are found in
``compute_faults``.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

from pipeline.editions import data

TRAINING = ("train", "finetune")
"""Kinds of work that released weights spare."""
FLOP_AN_H100_HOUR = 1.42e18
"""989 TFLOP/s, dense 16-bit, at 40 % utilisation, for an hour."""


class Device(BaseModel):
    """A device's worth in H100 SXM hours, with the interval in which it plausibly lies.

    ``tflops`` is the dense 16-bit tensor rate, ``bandwidth`` in GB/s; both absent for an entry that stands for several
    variants. ``cores_per_chip`` is set for TPUs: how many of the units in a slice's name make one chip.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    kind: Literal["gpu", "tpu", "accelerator", "cpu"]
    aliases: tuple[str, ...]
    tflops: PositiveFloat | None = None
    bandwidth: PositiveFloat | None = None
    factor: PositiveFloat
    low: PositiveFloat
    high: PositiveFloat
    interval: Literal["source", "derived"] = "source"
    fp32: PositiveFloat | None = None
    cores_per_chip: PositiveInt | None = None
    source: str
    basis: str

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.factor <= self.high:
            raise ValueError(f"device {self.id}: factor {self.factor} lies outside low {self.low} to high {self.high}")
        return self


class Devices(BaseModel):
    """The whole table; ``version`` is part of every factor id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: PositiveInt
    device: Annotated[tuple[Device, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        ids = [d.id for d in self.device]
        aliases = [a.casefold() for d in self.device for a in d.aliases]
        for kind, values in (("id", ids), ("alias", aliases)):
            twice = sorted({v for v in values if values.count(v) > 1})
            if twice:
                raise ValueError(f"{kind} {twice[0]!r} stands twice in devices.toml")
        return self

    @cached_property
    def finder(self) -> tuple[re.Pattern[str], dict[str, Device]]:
        """One expression over all aliases, longest first, and the device of each group."""
        pairs = [(alias, device) for device in self.device for alias in device.aliases]
        pairs.sort(key=lambda p: (-len(p[0]), p[0]))
        names = {f"a{i}": device for i, (_, device) in enumerate(pairs)}
        return re.compile("|".join(f"(?P<a{i}>{_pattern(alias)})" for i, (alias, _) in enumerate(pairs))), names


_TABLE: ContextVar[Devices | None] = ContextVar("device table", default=None)


@contextmanager
def devices_of(table: Devices) -> Iterator[None]:
    """Within it hours follow from this table: a release keeps the one that it was frozen with."""
    token = _TABLE.set(table)
    try:
        yield
    finally:
        _TABLE.reset(token)


def load_devices() -> Devices:
    """The device table that holds here: the shipped one, but within `devices_of`."""
    return _TABLE.get() or _shipped()


@cache
def _shipped() -> Devices:
    """Raises ValueError when an entry contradicts itself."""
    return Devices.model_validate(tomllib.loads(data("reference", "devices.toml").read_text(encoding="utf-8")))


def match_device(text: str) -> Device | None:
    """The device a phrase names, or None for none, an unknown one, or two different ones.

    Whole words only ("TPU" is not inside "output"), and a suffix that makes another card ("3090 Ti") is not its base
    card. Memory size and form factor may stand anywhere in the phrase ("80GB A100"); an A100 without them is the
    unstated A100.
    """
    found = _mentioned(text)
    return found[0] if len(found) == 1 else None


def slice_chips(text: str) -> float | None:
    """Chips in a TPU slice's name: v3-8 is 8 cores, so 4 chips; v5e-8 is 8 chips. None where no slice is named."""
    device, slice_ = match_device(text), _SLICE.search(_plain(text))
    if device is None or device.cores_per_chip is None or slice_ is None:
        return None
    return int(slice_[1]) / device.cores_per_chip


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a rerun: devices for a time, ``runs`` times (arms x seeds).

    Either ``wall_hours`` with ``count`` devices, or ``device_hours`` in all; neither means unknown. Of a TPU slice
    ("TPU v3-8") ``count`` is the number of slices. An ``api`` part costs no H100 hours.
    """

    kind: Literal["train", "finetune", "eval", "generate", "api"]
    device: str = ""
    count: float | None = None
    wall_hours: float | None = None
    device_hours: float | None = None
    runs: int = 1
    fp32: bool = False
    cpu_only: bool = False
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """H100 hours as low, mid, high; all None when unknown or when only an API works.

    ``reason`` says why hours are missing. ``cpu_only``, ``api_only`` and ``unknown`` are three different things.
    ``factor_ids`` name the table's version and entry behind every factor used.
    """

    low: float | None
    mid: float | None
    high: float | None
    factor_ids: tuple[str, ...] = ()
    cpu_only: bool = False
    api_only: bool = False
    unknown: bool = False
    reason: str = ""

    def crosses(self, edges: Iterable[float]) -> bool:
        """Does an edge or cap lie inside the interval, so that the band could be another one?"""
        low, high = self.low, self.high
        return low is not None and high is not None and any(low <= e < high for e in edges)


def hours(parts: Iterable[Part]) -> Estimate:
    """Sum the parts. One unknown part makes the whole unknown: a lower bound is not an estimate."""
    parts = tuple(parts)
    working = [p for p in parts if p.kind != "api"]
    if not parts:
        return _unknown("no compute is stated and none can be derived")
    if not working:
        return Estimate(low=None, mid=None, high=None, api_only=True, reason="API-only work is not H100 hours")
    low = mid = high = 0.0
    factors: list[str] = []
    devices: list[Device] = []
    for part in working:
        device = _device_of(part)
        if isinstance(device, str):
            return _unknown(device)
        used = _device_hours(part, device)
        if isinstance(used, str):
            return _unknown(used)
        fp32 = device.fp32 if part.fp32 else None
        factor = fp32 or device.factor
        low += used * min(device.low, factor)
        mid += used * factor
        high += used * max(device.high, factor)
        devices.append(device)
        factors.append(f"devices-{load_devices().version}:{device.id}" + (":fp32" if fp32 else ""))
    return Estimate(
        low=low,
        mid=mid,
        high=high,
        factor_ids=tuple(dict.fromkeys(factors)),
        cpu_only=all(d.kind == "cpu" for d in devices),
    )


def _unknown(reason: str) -> Estimate:
    return Estimate(low=None, mid=None, high=None, unknown=True, reason=reason)


def band_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Names of the bands that end at these edges: (8, 32) gives 0-8 and 8-32."""
    return tuple(f"{low:g}-{high:g}" for low, high in zip((0.0, *edges), edges, strict=False))


def band(hours: float | None, edges: Sequence[float]) -> str | None:
    """The first band whose closed interval holds these hours; None above the last edge, below zero, or unknown.

    A bool is not a number of hours.
    """
    if hours is None or isinstance(hours, bool) or not hours >= 0:
        return None
    return next((label for edge, label in zip(edges, band_labels(edges), strict=True) if hours <= edge), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedAudit:
    """What the published arithmetic audit makes of a stated estimate."""

    recomputed: float | None
    mismatch: bool | None
    needs_review: bool
    adjudicated: bool
    audited: float | None


def audit_published(
    *,
    stated: float | None,
    count: float | None,
    wall_hours: float | None,
    multiplier: float | None,
    basis_kind: str,
    keep_stated: bool = False,
    tolerance: float = 0.20,
    clamp: float = 1.1,
) -> PublishedAudit:
    """The published arithmetic audit: count x wall x multiplier against the stated hours.

    They mismatch when they differ by more than ``tolerance`` of the larger. A mismatch is corrected to the product
    unless the multiplier exceeds ``clamp`` or the row is on the published allow-list (``keep_stated``). A person
    reviews what mismatches, cannot be recomputed, or has an unspecified basis.
    """
    recomputed = None
    if count is not None and wall_hours is not None and multiplier is not None:
        recomputed = count * wall_hours * multiplier if count > 0 and wall_hours >= 0 and multiplier > 0 else None
    mismatch = None
    if recomputed is not None and stated is not None:
        larger = max(abs(stated), abs(recomputed))
        mismatch = larger > 0 and abs(stated - recomputed) / larger > tolerance
    adjudicated = bool(mismatch) and not keep_stated and multiplier is not None and multiplier <= clamp
    return PublishedAudit(
        recomputed=recomputed,
        mismatch=mismatch,
        needs_review=basis_kind == "compute_unspecified" or mismatch is not False,
        adjudicated=adjudicated,
        audited=recomputed if adjudicated else stated,
    )


_SLICE = re.compile(r"(?:\b|TPU)v\d(?:e|p|litepod)?\s?-\s?(\d+)(?:\b|$)", re.IGNORECASE)
_CORES = re.compile(r"(\d+)[\s-]*(?:CPU[\s-]*|physical[\s-]*)?cores?\b", re.IGNORECASE)
_MEMORY = re.compile(r"(?<![\d.])(40|80)\s?(?:GB|GiB|G)\b", re.IGNORECASE)
_FORM = re.compile(r"\b(PCIe|NVL|SXM)\d?\b", re.IGNORECASE)
# What follows a card's number and makes it another card, or another product altogether.
_OTHER_CARD = r"(?!\s?(?:Ti|Super|D|Max-Q|Laptop|Mobile)\b)"
# Names short enough to be a table, appendix or figure label count only as they are usually written.
_SHORT = re.compile(r"^[A-Z]\d{1,2}$")


def _plain(text: str) -> str:
    """LaTeX and typographic spacing, trademark signs and brackets as single spaces; the words themselves untouched."""
    text = re.sub(r"\\(?:texttrademark|textregistered|xspace|times)\b", " ", text)
    text = re.sub(r"\\[,;:! ]|[~{}$()\[\],™®×_\u00a0\u2009\u202f]", " ", text)
    text = text.replace("\u2011", "-").replace("\u2013", "-")
    text = re.sub(r"(\d)\s*[xX*](?=\s*[A-Z])", r"\1 ", text)
    return re.sub(r"\s+", " ", text)


def _pattern(alias: str) -> str:
    """An alias as a whole word: its parts may be joined, hyphenated or spaced, and a count may stand before it."""
    body = r"[\s-]?".join(re.escape(part) for part in alias.split())
    guard = "" if re.search(r"(?i)\b(?:ti|gpu)$", alias) else _OTHER_CARD
    case = "" if _SHORT.match(alias) else "(?i:"
    plural = r"s?(?![A-Za-z0-9])"
    return rf"(?<![A-Za-z0-9]){case}{body}{')' if case else ''}{guard}{plural}"


def _mentioned(text: str) -> list[Device]:
    """The distinct devices a phrase names, in order; a CPU beside an accelerator is its host and does not count."""
    plain = _plain(text)
    finder, names = load_devices().finder
    found = [_variant(names[m.lastgroup], plain) for m in finder.finditer(plain) if m.lastgroup]
    workers = [d for d in found if d.kind != "cpu"] or found
    return list(dict.fromkeys(workers))


def _variant(device: Device, plain: str) -> Device:
    """The entry for the memory and form factor that the phrase states beside an A100 or H100."""
    if device.id not in ("a100", "a100-40", "a100-80-sxm", "a100-80-pcie", "h100-sxm"):
        return device
    memory, form = _MEMORY.search(plain), _FORM.search(plain)
    shape = form[1].casefold() if form else ""
    if device.id == "h100-sxm":
        wanted = {"pcie": "h100-pcie", "nvl": "h100-nvl"}.get(shape, device.id)
    elif memory is None:
        wanted = device.id
    elif memory[1] == "40":
        wanted = "a100-40"
    else:
        wanted = "a100-80-pcie" if shape == "pcie" else "a100-80-sxm"
    return next(d for d in load_devices().device if d.id == wanted)


def _device_of(part: Part) -> Device | str:
    """The part's device, or why it has none."""
    device = match_device(part.device)
    if part.cpu_only and (device is None or device.kind != "cpu"):
        device = next(d for d in load_devices().device if d.kind == "cpu")
    if device is not None:
        return device
    several = _mentioned(part.device)
    if several:
        return f"{part.device!r} names several devices: {', '.join(d.name for d in several)}; give one part each"
    if not part.device.strip():
        return f"the device of the {part.kind} part is not stated"
    return f"device {part.device!r} is not in the device table; its factor is unknown"


def _device_hours(part: Part, device: Device) -> float | str:
    """Hours of single devices (chips, cards, sockets of 64 cores) over all runs, or why they are unknown."""
    given = {"count": part.count, "wall_hours": part.wall_hours, "device_hours": part.device_hours}
    for name, value in given.items():
        if value is not None and (isinstance(value, bool) or not 0 <= value < float("inf")):
            return f"{name} of the {part.kind} part is {value}, which is no amount"
    if part.runs < 1:
        return f"the {part.kind} part has {part.runs} runs; at least one is needed"
    if part.device_hours is not None:
        if part.wall_hours is not None:
            return f"the {part.kind} part gives both device hours and wall hours; give one"
        return part.device_hours * part.runs * _unit(part.device, device)
    if part.wall_hours is None:
        return f"no time is stated for the {part.kind} part"
    # A CPU job without a count runs on the machine it names; how many cards a GPU job used is never assumed.
    count = 1.0 if part.count is None and device.kind == "cpu" else part.count
    if not count:
        return f"the number of devices of the {part.kind} part is not stated"
    return count * (slice_chips(part.device) or _unit(part.device, device)) * part.wall_hours * part.runs


def _unit(text: str, device: Device) -> float:
    """What one counted unit is in devices: a TPU core is part of a chip, "32-core Xeon" half a socket, else one."""
    if device.cores_per_chip is not None:
        return 1 / device.cores_per_chip if re.search(r"\bcores?\b", text, re.IGNORECASE) else 1.0
    cores = _CORES.search(_plain(text)) if device.kind == "cpu" else None
    return int(cores[1]) / 64 if cores else 1.0
