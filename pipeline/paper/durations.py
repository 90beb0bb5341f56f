"""Durations in a sentence: "3 days", "a day and a half", "1,200 GPU hours", "2 minutes per epoch". Hours, as floats."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from pipeline.paper.devices import NAME

Role = Literal["total", "epoch", "step", "other"]
Kind = Literal["wall", "device"]

_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES: dict[str, float] = {"a": 1, "an": 1, "single": 1, "both": 2, "dual": 2, "half": 0.5, "dozen": 12, "couple": 2}
_VALUES |= {w: k for k, w in enumerate(_ONES, 1)} | {w: k for k, w in enumerate(_TEENS, 10)}
_VALUES |= {w: 10 * k for k, w in enumerate(_TENS, 2)}
_ONE = "|".join(_ONES)
WORD = (
    rf"(?:(?:a|one|half\sa|two|three)\sdozen|a\scouple\sof"
    rf"|(?:{'|'.join(_TENS)})(?:[\s-](?:{_ONE}))?|{'|'.join(_TEENS)}|(?:a|{_ONE})\s(?:hundred|thousand)"
    rf"|{_ONE}|single|both|dual|an?)"
)
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:\s?[kK](?![a-zA-Z]))?"
_UNIT = (
    r"(?:seconds?|secs?|s|minutes?|mins?|min|hours?|hrs?|hr|h|days?|weeks?|months?|years?|ms|milliseconds?"
    r"|Seconds?|Minutes?|Hours?|Days?|Weeks?|Hrs?|m)"
)
_HOURS = {"ms": 1 / 3.6e6, "mil": 1 / 3.6e6, "mo": 720.0, "mi": 1 / 60}
_HOURS |= {"s": 1 / 3600, "h": 1.0, "d": 24.0, "w": 168.0, "y": 8760.0, "m": 1 / 60}
_PROCESSOR = r"(?:[GTC]PU|core|Core|node|Node|chip|accelerator|device|card)s?"
_QUANTITY = re.compile(
    r"(?<![A-Za-z0-9_.,^/-])"
    rf"(?:(?P<part>[Hh]alf|(?:a|one)\s(?:half|quarter)|[Tt]hree[\s-]quarters)\s(?:of\s)?(?=an?\s)(?P<unit_word>an?\s)"
    rf"|(?P<low>{NUMBER}|(?:(?i:{WORD}))(?![A-Za-z-]))(?P<and_part>\s(?:and\s)?(?:a\s(?:half|quarter)"
    rf"|three[\s-]quarters))?"
    rf"(?:\s?(?:-|–|—|to|~|and|or)\s?~?(?P<high>{NUMBER}|(?:{WORD})(?![A-Za-z-])))?[\s~-]?)"
    r"(?:(?:full|total|whole|wall[- ]?clock|consecutive|further|additional|more|extra)\s)?"
    rf"(?P<device>(?:NVIDIA\s)?(?:{NAME}(?:[\s-]?(?:SXM\d?|PCIe))?(?:[\s-]?\d+\s?GB)?[\s-]?)?(?:{_PROCESSOR}[\s-]?)?)"
    rf"(?P<unit>{_UNIT})(?![A-Za-z0-9_^²'’+*=])(?P<over>\sand\s(?:a\shalf|one[\s-]half))?"
)
# "2h 15m": a lone m is a metre anywhere else.
_AFTER_HOURS = re.compile(r"\d\s?(?:h|hrs?|hours?)[\s,]?$")
# A unit that ends a word: without one there is nothing to look for.
_TIMED = re.compile(r"(?:hour|minute|min|hr|day|week|month|year|second|sec|[\d\s]h|[\d\s]m?s)s?(?![A-Za-z])|Hour|Day")
_BETWEEN = re.compile(r"\b(?:from|between)\s(?:about|around|roughly|approximately|∼|~|≈)?\s?$")
_REACHES = re.compile(r"^\s?(?:\([^()]{0,80}\)\s?)?(?:to|and|up to)\s(?:about|around|roughly|∼|~|≈)?\s?$")
_ADDS = re.compile(r"^\s?(?:,|and|,\sand)?\s?$")
_PER = re.compile(
    r"\s?(?:per|/|for (?:each|every|one)|each|a|an|every)\s?(?:training\s|gradient\s|optimi[sz]ation\s"
    r"|single\s)?(?P<what>\w+)"
)
_EACH_EPOCH = re.compile(
    r"(?i:each|every|per|one|an|single) (?:training )?epoch[,:]? (?:\w+ ){0,2}(?:about|around|roughly|approximately"
    r"|~|∼|≈)?\s?$"
)
_EACH_STEP = re.compile(
    r"(?i:each|every|per|one|a|single) (?:training )?(?:step|iteration)[,:]? (?:\w+ ){0,2}(?:about|around|roughly|~"
    r"|∼|≈)?\s?$"
)
_OTHER = [
    "image",
    "sample",
    "token",
    "query",
    "example",
    "prompt",
    "frame",
    "question",
    "instance",
    "sequence",
    "forward",
    "second",
    "request",
    "patient",
    "video",
    "word",
    "sentence",
    "document",
    "molecule",
    "scene",
]
# What hours can be of and still be compute; hours of anything else are how much data there is.
_WORKS = re.compile(
    r"\s(?:of|worth of)\s(?:(?!and\b|or\b)\w+[\s-]){0,2}?(?:(?:pre-?)?train\w*|fine-?tun\w*|comput\w*|run\w*|wall\w*"
    r"|[GTC]PU\w*"
    r"|execut\w*|process\w*"
    r"|optimi[sz]\w*|inference|evaluat\w*|sampling|simulat\w*|search\w*|time|total|generat\w*|decod\w*|rollouts?"
    r"|machine|work|H\d00\w*|[AV]100\w*"
    r"|tuning|learning|distillation|effort|usage|use|wall-clock|them|these|it)\b"
)
_OF = re.compile(r"\s(?:of|worth of)\s")
_FOOTAGE = re.compile(
    r"[\s-](?:\w+[\s-]){0,3}(?:speech|audio|videos?|footage|recordings?|music|transcri\w+|podcasts?|Libri\w+|EEG"
    r"|utterances?|corpus|dataset|forecast\w*"
    r"|horizon|lead time|history|window|intervals?|old\b|long\b)"
)
_SPAN = re.compile(r"\b(?:last|past|previous|next|first|recent|following|every|another|of the)\s$")
_AGO = re.compile(r"\s(?:ago|old|ahead|later|apart|before|after)\b")
_WORKED = re.compile(
    r"\b(?:tak(?:e|es|ing)|took|trained|train|ran|runs?|for|in|within|requir\w+|needs?|costs?|used|spent|lasts?|than"
    r"|about|around)\s(?:(?!on\b)\w+\s)?$"
)


@dataclass(frozen=True, slots=True)
class Duration:
    """low and high in hours, equal unless a range is printed; device hours count every device."""

    low: float
    high: float
    kind: Kind
    role: Role
    start: int
    end: int
    device: str = ""  # the "A100 GPU" of "5 A100 GPU hours"


def number(text: str) -> float | None:
    """A number in digits or words: 1,200, 5k, twelve, twenty-four, a dozen, a couple of; None when it is neither."""
    text = text.strip().lower()
    if text[:1].isdigit() or text[:1] == ".":
        scale = 1000.0 if text.endswith("k") else 1.0
        try:
            return float(text.rstrip("k ").replace(",", "")) * scale
        except ValueError:
            return None
    total = 0.0
    for word in re.split(r"[\s-]+", text):
        if word in ("hundred", "thousand"):
            total *= 100 if word == "hundred" else 1000
        elif word == "dozen":
            total = (total or 1) * 12
        elif word == "couple":
            total = 2
        elif word in _VALUES and not (word in ("a", "an") and total):
            total += _VALUES[word]
        elif word != "of":
            return None
    return total or None


def unit_hours(unit: str) -> float:
    """Hours in one of a unit as written."""
    unit = unit.lower()
    return next(h for prefix, h in _HOURS.items() if unit.startswith(prefix))


def find_durations(sentence: str, *, machine: bool) -> list[Duration]:
    """Durations left to right. `machine`: the sentence names hardware, so "14 s" is a time and no plural."""
    if not _TIMED.search(sentence):
        return []
    found: list[Duration] = []
    for match in _QUANTITY.finditer(sentence):
        one = _duration(match, sentence, machine)
        if one is None:
            continue
        if found and (joined := _joined(found[-1], one, sentence)) is not None:
            found[-1] = joined
        else:
            found.append(one)
    return found


def _duration(match: re.Match[str], sentence: str, machine: bool) -> Duration | None:
    unit = match["unit"]
    if match["part"]:
        low = high = 0.25 if "quarter" in match["part"] else 0.5
        if "hree" in match["part"]:
            low = high = 0.75
    else:
        value = number(match["low"])
        if value is None:
            return None
        digits = match["low"][0].isdigit() or match["low"][0] == "."
        if unit in ("s", "h", "ms", "hr") and not digits:
            return None
        if match["device"] and unit == "s":
            return None  # 16 A100s are devices, not seconds
        if unit == "s" and not machine and "." not in match["low"]:
            return None
        if unit.lower() == "second" and match["low"].lower() == "a":
            return None  # "a second model"
        if match["and_part"]:
            value += 0.75 if "three" in match["and_part"] else 0.25 if "quarter" in match["and_part"] else 0.5
        low, high = value, (number(match["high"]) or value) if match["high"] else value
        high = max(low, high)
    if unit == "m" and not _AFTER_HOURS.search(sentence[max(0, match.start() - 10) : match.start()]):
        return None
    if match["over"]:
        low, high = low + 0.5, high + 0.5
    device = match["device"].strip(" -")
    tail = sentence[match.end() : match.end() + 60]
    before = sentence[max(0, match.start() - 60) : match.start()]
    if not device and (unit.lower().startswith("year") or _of_data(tail, before)):
        return None
    kind: Kind = "device" if device else "wall"
    if not device and re.match(r"\s?(?:of|on an?|\(?on)\s(?:\w+\s)?(?:GPU|TPU|compute)\b.{0,3}time", tail):
        kind = "device"
    scale = unit_hours(unit)
    return Duration(low * scale, high * scale, kind, _role(unit, tail, before), match.start(), match.end(), device)


def _of_data(tail: str, before: str) -> bool:
    """960 hours of speech, a 24-hour forecast, the last five days: an amount of data, or a span of the world's time."""
    if _SPAN.search(before) or _AGO.match(tail):
        return True
    if _OF.match(tail):
        return not _WORKS.match(tail)
    return bool(_FOOTAGE.match(tail)) and not _WORKED.search(before)


def _role(unit: str, tail: str, before: str) -> Role:
    per = _PER.match(tail)
    if per:
        what = per["what"].lower()
        if what.startswith("epoch"):
            return "epoch"
        if what.startswith(("step", "iter", "update", "batch")):
            return "step"
        if what.startswith(tuple(_OTHER)):
            return "other"
    if _EACH_EPOCH.search(before):
        return "epoch"
    if _EACH_STEP.search(before):
        return "step"
    return "other" if unit.lower().startswith(("ms", "milli")) else "total"


def _joined(first: Duration, second: Duration, sentence: str) -> Duration | None:
    """One duration out of two: "1 h 20 min" adds up, "from 5 minutes (A) to 20 minutes (B)" is a range."""
    gap = sentence[first.end : second.start]
    if first.kind != second.kind or first.device != second.device:
        return None
    if _ADDS.match(gap) and second.high < first.low and first.low == first.high and first.role == "total":
        smaller = second.high < 24 if first.low % 24 == 0 and first.low >= 24 else second.high < 1
        if smaller:
            return replace(second, low=first.low + second.low, high=first.high + second.high, start=first.start)
    if (
        _REACHES.match(gap)
        and first.low <= second.high
        and _BETWEEN.search(sentence[max(0, first.start - 24) : first.start])
    ):
        return replace(second, low=first.low, high=max(first.high, second.high), start=first.start)
    return None
