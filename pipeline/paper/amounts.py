"""Amounts beside the time in a compute statement: devices, epochs, steps, FLOPs, dollars."""

from __future__ import annotations

import re

from pipeline.paper.devices import NAME, Device
from pipeline.paper.durations import NUMBER, WORD, Duration, number

# -- how many devices

_N = rf"(?<![A-Za-z0-9_.,])(?P<n>\d{{1,5}}|(?i:{WORD}))"
_KINDS = (
    r"(?:(?:NVIDIA|Nvidia|nvidia|AMD|Google|Cloud|Intel|Tesla|GeForce|Huawei|same|identical|such|of the|of these"
    r"|of those|these|parallel|reserved"
    r"|high-end|consumer|commercial|standard|modern|local|additional|free|virtual|dedicated|data-?center)\s){0,3}"
)
_COUNT = re.compile(
    rf"{_N}(?:\s|-)?(?:[x×*]\s?)?(?:\d+\s?GB\s)?{_KINDS}(?:\d+\s?GB\s)?(?:(?={NAME}s?(?![A-Za-z]))"
    rf"|(?P<what>[GTCN]PU)(?P<s>s?)\b)"
)
_OF_THEM = re.compile(rf"{_N}\s(?:of (?:them|these|those|such|the same|this kind)|such|of its kind)\b")
_AFTER_COUNT = re.compile(
    r"(?:\s?GPUs?)?\s?(?:\(?\s?\d+\s?GB\s?(?:\w+\s?)?(?:VRAM|RAM"
    r"|memory)?\)?)?\s?(?:GPUs?)?\s?[x×]\s?(?P<n>\d{1,4})(?![\d.])"
)
_NODES = re.compile(
    rf"{_N}\s(?:\w+\s)?(?:nodes|machines|servers|workers|hosts|instances)[,\s]+(?:\w+\s){{0,3}}"
    r"(?:with|of|having|containing|each|of which has)\s$"
)
# "a GPU kernel" counts nothing
_ONE_OF = re.compile(
    r"$|[\s]?[.,;:)(\]/]|[\s-](?:with|for|and|in|of|on|at|using|to|by|is|was|from|or|node|server|machine|that|which|per|takes?|took|instance"
    r"|card|device|has|hour|via|within|only|with|having|workstation)\b"
)

# -- schedule, work and money

_STEPS = re.compile(
    rf"(?P<n>{NUMBER}|\d+(?:\.\d+)?\s?[×x]\s?10\^\d)\s?(?P<k>[kKM]|thousand|million)?[\s-]"
    r"(?:training\s|gradient\s|optimi[sz]ation\s|update\s|total\s)*(?:steps?|iterations?|iters|updates)\b",
    re.IGNORECASE,
)
_EPOCHS = re.compile(
    rf"(?<![A-Za-z0-9_.])(?P<n>{NUMBER}|(?:{WORD}))[\s-](?:training[\s-])?epochs?\b(?P<after>\s\w+)?|epochs?\s?(?:="
    rf"|:|of)\s?(?P<m>\d+)",
    re.IGNORECASE,
)
_FLOPS = re.compile(
    r"(?P<n>\d+(?:\.\d+)?)\s?(?:e|[×x·]\s?10\^\{?)(?P<e>\d{1,2})\}?\s?(?P<u>[KMGTPEZ]?)FLOPs?\b"
    r"|(?P<m>\d[\d,.]*)\s?(?P<v>[MGTPEZ])FLOPs?\b"
)
_PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_COST = re.compile(
    r"(?:\$|US\$|USD\s?)\s?(?P<n>\d[\d,]*(?:\.\d+)?)\s?(?P<k>[kKM](?![A-Za-z]))?|(?P<m>\d[\d,]*(?:\.\d+)?)\s?(?:USD"
    r"|US dollars|dollars)\b"
)
_COST_CONTEXT = re.compile(
    r"\b(?:API|cost|comput\w+|budget|cloud|credits?|spen[dt]|price|GPUs?|inference|queries)\b", re.IGNORECASE
)


def count(sentence: str, devices: list[Device], durations: list[Duration]) -> int | None:
    for device in devices:
        if device.times:
            return device.times * _nodes(sentence, device.start)
        after = _AFTER_COUNT.match(sentence, device.end, device.end + 40)
        if after:
            return int(after["n"])
    taken = [(d.start, d.end) for d in devices] + [(d.start, d.end) for d in durations]
    for pattern in (_COUNT, _OF_THEM):
        for match in pattern.finditer(sentence):
            at = match.start("n")
            if any(start <= at < end for start, end in taken):
                continue  # 5 GPU-hours are not five GPUs, and "RTX 4090 GPU" not 4090
            value = number(match["n"])
            if value is None or value < 1 or value != int(value) or value > 100_000:
                continue
            one = pattern is _COUNT and match["n"].lower() in ("a", "an") and match["what"]
            if one and (match["s"] or not _ONE_OF.match(sentence, match.end())):
                continue
            return int(value) * _nodes(sentence, at)
    return None


def _nodes(sentence: str, at: int) -> int:
    """The 4 of "4 nodes with 8 GPUs each"."""
    found = _NODES.search(sentence, max(0, at - 70), at)
    value = number(found["n"]) if found else None
    return int(value) if value and value < 10_000 else 1


def epochs(sentence: str) -> int | None:
    """How many epochs a schedule has; "an epoch lasts" and "every epoch" count none."""
    for match in _EPOCHS.finditer(sentence):
        text = match["n"] or match["m"]
        value = number(text)
        if value is None or not 1 <= value < 1e6 or (match["after"] or "").strip().lower() in ("warmup", "warm-up"):
            continue
        if not text[0].isdigit() and value == 1:
            before = sentence[max(0, match.start() - 12) : match.start()].lower()
            if not re.search(r"(?:for|only|just|exactly)\s$", before):
                continue
        return int(value)
    return None


def steps(sentence: str) -> int | None:
    match = _STEPS.search(sentence.replace("$", ""))
    if not match:
        return None
    power = re.match(r"([\d.]+)\s?[×x]\s?10\^(\d)", match["n"])
    value = float(power[1]) * 10 ** int(power[2]) if power else number(match["n"])
    if value is None:
        return None
    suffix = (match["k"] or "").lower()
    return int(value * {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6}.get(suffix, 1))


def flops(sentence: str) -> float | None:
    match = _FLOPS.search(sentence) if "FLOP" in sentence else None
    if not match:
        return None
    if match["n"]:
        return float(match["n"]) * 10.0 ** int(match["e"]) * _PREFIX[match["u"] or ""]
    value = number(match["m"].rstrip(",."))
    return value * _PREFIX[match["v"]] if value is not None else None


def cost(sentence: str) -> float | None:
    if not ("$" in sentence or "USD" in sentence or "dollar" in sentence) or not _COST_CONTEXT.search(sentence):
        return None
    match = _COST.search(sentence)
    if not match:
        return None
    value = number((match["n"] or match["m"]).rstrip(",."))
    return None if value is None else value * {"k": 1e3, "m": 1e6}.get((match["k"] or "").lower(), 1.0)
