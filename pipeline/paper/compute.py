# ruff: noqa: E501  (patterns read better whole)
"""Compute mentions: which sentence says what ran where, for how long. Quantities are typed, never guessed from silence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_WORDS = {
    "a": 1, "an": 1, "one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "twelve": 12, "fifteen": 15, "sixteen": 16, "twenty": 20, "thirty": 30, "forty": 40, "sixty": 60, "half": 0.5,
    "thirty-two": 32, "sixty-four": 64, "both": 2, "dual": 2, "twenty-four": 24, "forty-eight": 48, "several": None, "few": None,
}  # fmt: skip
_WORD = "|".join(sorted((w for w, v in _WORDS.items() if v is not None), key=len, reverse=True))

# Names that are nothing but a device, and short ones that need a machine word beside them.
_SURE = (
    r"(?:GH200|GB200|GB300|H100|H200|H800|B200|B300|A100|A800|V100|P100|K80|L40S|RTX[\s-]?(?:PRO\s?)?(?:A?\d{4}|\d{4})(?:\s?(?:Ti|Super|Ada|Blackwell))*"
    r"(?:\s?D\b)?|GTX[\s-]?(?:Titan[\s-]?\w*|\d{3,4})(?:\s?(?:Ti|Super))?|GeForce(?:\s(?:RTX|GTX))?\s\d{3,4}(?:\s?(?:Ti|Super))?"
    r"|(?:NVIDIA\s)?Titan\s?(?:RTX|Xp?|V|Black|Pascal)|Quadro\s(?:RTX\s|GV|P|M|K)?\d{3,4}|Quadro\s\w+"
    r"|TPU[\s-]?v?\d\w*(?:-\d+)?(?:\spods?)?|TPUs?(?=\W)|MI\d{2,3}[XA]?|Gaudi[\s-]?\d?|Ascend[\s-]?\w{3,5}|Trainium\d?|Inferentia\d?"
    r"|Cerebras\sCS-\d|IPU(?:-POD\d*)?|Xeon|EPYC|Threadripper|Ryzen|Core\s?(?:\(TM\)\s?)?i[3579]|MacBook|Mac\s(?:Studio|mini|Pro)|Apple\sM\d"
    r"|M[1-4]\s(?:Max|Pro|Ultra)|Jetson\s\w+|Tesla\s\w+|DGX(?:[\s-]\w+)?|Loihi\s?\d?|Graviton\d?)"
)
_SHORT = (
    r"(?:A10G?|A16|A30|A40|A2|A4000|A4500|A5000|A5500|A6000|L4|L20|L40|T4|P4|P40|M40|M60|K40|K20|H20|B100|[2345]0[5-9]0(?:\s?(?:Ti|Super))?"
    r"|6000\sAda|1080(?:\s?Ti)?|DCU|NPU|M[1-4])"
)
_LEFT = r"(?<![A-Za-z0-9_\\/@.])(?:(?P<times>\d{1,5})\s?[x×*]\s?)?(?:(?:NVIDIA|Nvidia|nvidia|AMD|Intel|Google|Apple|Tesla|Cloud|GeForce)\s){0,2}"
_RIGHT = r"(?P<s>s)?(?![A-Za-z0-9_])"
_DEVICE = re.compile(_LEFT + rf"(?P<name>{_SURE}|{_SHORT})" + _RIGHT, re.IGNORECASE)
_SURE_RE = re.compile(_SURE + r"$", re.IGNORECASE)
_PROCESSOR = re.compile(
    r"(?<![A-Za-z0-9_])(?:GPU|CPU|TPU|NPU|accelerator)s?(?![A-Za-z0-9_])|[Gg]raphics [Cc]ard|\bcores?\b|\bnodes?\b|\bColab"
)
_MACHINE = re.compile(
    r"(?<![A-Za-z0-9_])(?:GPUs?|NVIDIA|Nvidia|CPUs?|cores?|nodes?|server|cluster|machine|workstation|laptop|Colab\w*|hours?|GB|device|hardware"
    r"|accelerators?|chips?|AMD|Intel|Google|Apple|[Gg]raphics)(?![A-Za-z0-9_])",
)
_USE = re.compile(
    r"\b(?:train(?:s|ed|ing)?|pre-?train\w*|fine-?tun\w+|run|runs|ran|running|runtime|experiments?|conduct\w*|perform\w*|execut\w*|comput\w+"
    r"|use[sd]?|using|utiliz\w+|evaluat\w+|measur\w+|latency|take[ns]?|took|taking|requir\w+|hours?|days?|minutes?|equipped|hardware|budget"
    r"|consum\w+|implement\w*|inference|wall[- ]?clock|batch|on a|simulat\w+|benchmark\w*|sampl\w+|generat\w+|finish\w*|complet\w+|resources?)\b",
    re.IGNORECASE,
)
_NUM = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:\s?[kK](?![a-zA-Z]))?"
_UNIT = r"(?:seconds?|secs?|s|minutes?|mins?|min|hours?|hrs?|hr|h|days?|weeks?|months?|ms|milliseconds?)"
_QUANTITY = re.compile(
    rf"(?<![A-Za-z0-9_.,^/-])(?P<low>{_NUM}|\b(?:{_WORD})\b(?:\s(?:and\s)?a\s(?P<and_half>half))?)"
    rf"(?:\s?(?:-|–|—|to|~|and)\s?(?P<high>{_NUM}))?[\s~-]?(?:full\s|total\s|whole\s|wall[- ]clock\s)?"
    rf"(?P<device>(?:NVIDIA\s)?(?:(?:{_SURE}|{_SHORT})(?:\s\d+\s?GB)?[\s-]?)?(?:(?:GPU|TPU|CPU|core|node|chip|accelerator|device|card)[\s-]?)?)"
    rf"(?P<unit>{_UNIT})(?![A-Za-z0-9_^²])",
    re.IGNORECASE,
)
_HOURS = {"ms": 1 / 3.6e6, "mil": 1 / 3.6e6, "s": 1 / 3600, "mi": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0, "mo": 720.0}
_COUNT = re.compile(
    rf"(?<![A-Za-z0-9_.,])(?P<n>\d{{1,5}}|(?:{_WORD}))\s?(?:[x×*]\s?)?(?:\s?\d+\s?GB\s)?(?:(?:NVIDIA|Nvidia|AMD|Google|Cloud|Intel|Tesla|GeForce|same|identical|such|parallel|reserved|high-end|consumer|commercial"
    rf"|standard|modern|local|of the|additional)\s){{0,3}}(?:\d+\s?GB\s)?(?:{_SURE}|{_SHORT}|GPU|TPU|CPU)",
    re.IGNORECASE,
)
_AFTER_COUNT = re.compile(
    r"^(?:\s?GPUs?)?\s?(?:\(?\s?\d+\s?GB\s?(?:\w+\s?)?(?:VRAM|RAM|memory)?\)?)?\s?(?:GPUs?)?\s?[x×]\s?(?P<n>\d{1,4})(?![\d.])"
)
_STEPS = re.compile(
    rf"(?P<n>{_NUM}|\d+(?:\.\d+)?\s?[×x]\s?10\^\d)\s?(?P<k>[kKM]|thousand|million)?[\s-](?:training\s|gradient\s|optimi[sz]ation\s|update\s|total\s)*(?:steps?|iterations?|iters|updates)\b",
    re.IGNORECASE,
)
_EPOCHS = re.compile(rf"(?P<n>{_NUM}|(?:{_WORD}))[\s-]epochs?\b|epochs?\s?(?:=|:|of)\s?(?P<m>\d+)", re.IGNORECASE)
_FLOPS = re.compile(
    r"(?P<n>\d+(?:\.\d+)?)\s?(?:e|[×x·]\s?10\^\{?)(?P<e>\d{1,2})\}?\s?(?P<u>[KMGTPEZ]?)FLOPs?\b|(?P<m>\d[\d,.]*)\s?(?P<v>[MGTPEZ])FLOPs?\b"
)
_PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_COST = re.compile(
    r"(?:\$|US\$|USD\s?)\s?(?P<n>\d[\d,]*(?:\.\d+)?)\s?(?P<k>[kKM](?![A-Za-z]))?|(?P<m>\d[\d,]*(?:\.\d+)?)\s?(?:USD|US dollars|dollars)\b"
)
_COST_CONTEXT = re.compile(
    r"\b(?:API|cost|comput\w+|budget|cloud|credits?|spen[dt]|price|GPUs?|inference|queries)\b", re.IGNORECASE
)
_DENIAL = re.compile(
    r"(?:do(?:es)? not|did not|don't|not explicitly|no explicit|doesn't)\s(?:\w+\s){0,4}(?:mention|report|specif|provide|include|state|disclos|require|describe|discuss|contain)\w*"
    r"[^.]{0,120}(?:comput|hardware|GPU|memory|running time|execution|resources|experiments)"
    r"|no (?:significant |special |large-scale )?(?:comput\w+|hardware|GPUs?)(?: resources)? (?:\w+ )?(?:needed|required|necessary|reported|specified)"
    r"|(?:comput\w+ resources|hardware) (?:is|are|was|were) not (?:reported|specified|mentioned|described|provided)",
    re.IGNORECASE,
)
_ACK = re.compile(
    r"\b(?:acknowledg\w+|thank(?:s|ful)?|grateful|gratitude|support(?:ed)? (?:by|of|from)|(?:grants?|allocation|award)\b.{0,60}\b(?:No|number|from|by)"
    r"|funded by|donat\w+|generous\w*|credits from|made available by)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"(?:includ|count|account|compris)\w*[^.]{0,80}(?:failed|preliminary|exploratory|unsuccessful|discarded|debug)|(?:failed|preliminary|exploratory)[^.]{0,60}(?:includ|count)",
    re.IGNORECASE,
)
_TRAIN_TIME = re.compile(
    r"\b(?:train\w*|run|runs|ran|running|takes?|took|taking|requires?|wall[- ]?clock|runtime|compute|GPU|TPU|CPU|finish\w*|converge\w*|per epoch"
    r"|complete[sd]?|execut\w*|optimi[sz]\w*|experiments?|inference|simulation|fit(?:ting|s)?|limited to|budget)\b",
    re.IGNORECASE,
)
_BUDGET = re.compile(
    r"\b(?:GPU|TPU|CPU|A100|H100|V100|device|accelerator|node|core|[HA]\d{2,3})[\s-]?(?:hours?|days?|h|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_CPU = re.compile(
    r"(?<![A-Za-z0-9_])(?:CPUs?|laptop|MacBook|Xeon|EPYC|Ryzen|Core\s?i[3579]|Threadripper|desktop)(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_GPU = re.compile(r"(?<![A-Za-z0-9_])(?:GPUs?|TPUs?|NPUs?|CUDA)(?![A-Za-z0-9_])")
_NO_GPU = re.compile(
    r"\b(?:without|no|not (?:use|need|require)\w*) (?:a |any |the use of )?GPUs?|only CPUs?|CPU[- ]only|on (?:a |the )?(?:\w+ )?CPU",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"hours? (?:of|worth of) (?:speech|audio|video|music|recording|data|footage|play|driving)|[- ]hours?[- ](?:long|forecast)",
    re.IGNORECASE,
)

_TIME_WORDS = ("hour", "min", "day", "week", "month", "sec", "hr", "h", "ms", " s", "year")

Scope = Literal["run", "seed", "table", "paper"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one sentence says about compute; the fields are those of model.ComputeMention."""

    devices: tuple[str, ...]
    count: int | None
    hours: float | None
    hours_range: tuple[float, float] | None
    hours_kind: Literal["wall", "device"] | None
    epochs: int | None
    steps: int | None
    time_per_step: float | None
    time_per_epoch: float | None
    flops: float | None
    cost_usd: float | None
    scope: Scope | None
    includes_failed: bool
    denial: bool
    acknowledgement: bool
    cpu_only: bool


def _value(text: str) -> float | None:
    text = text.strip().lower()
    word = text.split()[0] if text else ""
    if word in _WORDS:
        value = _WORDS[word]
        return None if value is None else float(value)
    scale = 1000.0 if text.endswith("k") else 1.0
    try:
        return float(text.rstrip("k ").replace(",", "")) * scale
    except ValueError:
        return None


def _unit_hours(unit: str) -> float:
    unit = unit.lower()
    for prefix in ("ms", "mil", "mo", "mi"):
        if unit.startswith(prefix):
            return _HOURS[prefix]
    return _HOURS[unit[0]]


def devices_in(sentence: str) -> list[tuple[str, int, int, int | None]]:
    """(name as written, start, end, count of an `8x` before it); never inside another word."""
    found = []
    machine: bool | None = None
    for match in _DEVICE.finditer(sentence):
        name = match["name"]
        if not _SURE_RE.match(name) or name[0].islower() or not name[-1].isalnum():
            if machine is None:
                machine = bool(_MACHINE.search(sentence))
            if name[0].islower() and not name.lower().startswith(("rtx", "gtx", "geforce", "titan", "tpu")):
                continue
            if not machine:
                continue
        if name.lower().startswith("quadro ") and not re.match(r"quadro \w*\d", name, re.IGNORECASE):
            continue
        if name.lower().startswith("tesla ") and not re.match(r"tesla [vptkma]\d", name, re.IGNORECASE):
            continue
        if re.fullmatch(r"M[1-4]", name) and not re.search(r"Apple|Mac|chip|laptop", sentence):
            continue
        if re.fullmatch(r"[2345]0[5-9]0|1080", name) and not re.search(
            r"RTX|GTX|GeForce|GPU|NVIDIA", sentence, re.IGNORECASE
        ):
            continue
        if re.fullmatch(r"IPU|NPU|DCU|Gaudi|MI\d\d?", name, re.IGNORECASE) and not re.search(
            r"train|run|hardware|accelerator|AMD|Intel|Graphcore", sentence
        ):
            continue
        end = match.end() - len(match["s"] or "")
        times = int(match["times"]) if match["times"] else None
        found.append((" ".join(sentence[match.start("name") : end].split()), match.start(), end, times))
    return found


def read_sentence(sentence: str) -> Reading | None:
    """The compute a sentence states, denies or gives thanks for; None when it is about something else."""
    if len(sentence) > 8_000:
        return None
    devices = devices_in(sentence)
    processor = bool(_PROCESSOR.search(sentence))
    denial = not devices and ("no" in sentence or "n't" in sentence) and bool(_DENIAL.search(sentence))
    comput = processor or bool(devices) or "omput" in sentence or "luster" in sentence or "loud" in sentence
    thanks = (
        comput
        and bool(_ACK.search(sentence))
        and bool(processor or devices or re.search(r"comput(?:e|ing|ational)\b|cluster|cloud", sentence))
    )
    timed_words = any(word in sentence for word in _TIME_WORDS)
    durations = _durations(sentence, bool(devices) or processor) if timed_words else []
    flops, cost = _flops(sentence), _cost(sentence)
    budget = timed_words and bool(_BUDGET.search(sentence))
    trains = bool(_TRAIN_TIME.search(sentence))
    cpu = bool(_CPU.search(sentence))
    timed = any(d[3] == "total" for d in durations)
    worth = (
        denial
        or thanks
        or budget
        or bool(devices and (_USE.search(sentence) or durations))
        or bool(timed and trains)
        or bool(durations and trains and (processor or devices))
        or bool(
            processor
            and _USE.search(sentence)
            and (_COUNT.search(sentence) or (cpu and re.search(r"\b(?:all|experiments?|train\w*|run|ran)\b", sentence)))
        )
        or bool(flops and trains)
        or bool(cost and processor)
    )
    if not worth or (_NOISE.search(sentence) and not devices and not budget):
        return None
    low = high = None
    kind: Literal["wall", "device"] | None = None
    totals = [d for d in durations if d[3] == "total"]
    if totals:
        low, high, kind, _ = max(totals, key=lambda d: (d[2] == "device", d[1]))
    per = {d[3]: (d[0] + d[1]) / 2 for d in reversed(durations) if d[3] != "total"}
    return Reading(
        devices=tuple(dict.fromkeys(d[0] for d in devices)),
        count=_count(sentence, devices),
        hours=None if low is None or high is None else round((low + high) / 2, 6),
        hours_range=(round(low, 6), round(high, 6)) if low is not None and high is not None and low != high else None,
        hours_kind=kind,
        epochs=_first_int(_EPOCHS, sentence),
        steps=_steps(sentence),
        time_per_step=per.get("step"),
        time_per_epoch=per.get("epoch"),
        flops=flops,
        cost_usd=cost,
        scope=_scope(sentence),
        includes_failed=bool(_FAILED.search(sentence)),
        denial=denial,
        acknowledgement=thanks,
        cpu_only=cpu and (not _GPU.search(sentence) or bool(_NO_GPU.search(sentence))) and not _accelerated(devices),
    )


_WORTH_READING = (
    "GPU CPU TPU NPU hour minute hrs second day week FLOP omput hardware NVIDIA Nvidia RTX GTX itan TITAN luster MacBook laptop Xeon EPYC"
    " A100 H100 V100 H20 A40 A6000 A5000 L40 T4 P100 A10 A30 L4 K80 P40 B200 MI2 MI3 Gaudi Ascend $ USD 3090 4090 2080 1080 3080 5090 min"
)


def worth_reading(text: str) -> list[int]:
    """Offsets of words that a compute statement cannot do without: only their sentences are read closely."""
    found = []
    for word in _WORTH_READING.split():
        at = text.find(word)
        while at >= 0:
            found.append(at)
            at = text.find(word, at + len(word))
    return found


def _accelerated(devices: list[tuple[str, int, int, int | None]]) -> bool:
    return any(
        not re.match(r"xeon|epyc|threadripper|ryzen|core|macbook|mac |apple|m[1-4]|graviton", d[0], re.IGNORECASE)
        for d in devices
    )


def _durations(sentence: str, machine: bool) -> list[tuple[float, float, Literal["wall", "device"], str]]:
    """(low hours, high hours, wall or device, total | step | epoch | other)."""
    found: list[tuple[float, float, Literal["wall", "device"], str]] = []
    for match in _QUANTITY.finditer(sentence):
        low = _value(match["low"])
        if low is None:
            continue
        unit = match["unit"]
        if unit in ("s", "h", "S", "H", "d") and not re.fullmatch(r"[\d.,]+", match["low"]):
            continue
        if match["device"] and unit.lower() == "s":
            continue  # 16 A100s are devices, not seconds
        if unit in ("S", "H", "M") or (unit == "s" and not machine and "." not in match["low"]):
            continue
        if match["and_half"]:
            low += 0.5
        high = _value(match["high"]) if match["high"] else low
        if high is None or high < low:
            high = low
        scale = _unit_hours(unit)
        device = match["device"].strip()
        tail = sentence[match.end() : match.end() + 40]
        kind: Literal["wall", "device"] = "device" if device else "wall"
        if not device and re.match(r"\s?(?:of|on an?|\(?on)\s(?:\w+\s)?(?:GPU|TPU|compute)\b.{0,3}time", tail):
            kind = "device"
        per = re.match(
            r"\s?(?:per|/|for (?:each|every|one)|each|a|an)\s?(?:training\s|gradient\s|optimi[sz]ation\s|single\s)?(?P<what>\w+)",
            tail,
        )
        before = sentence[max(0, match.start() - 50) : match.start()]
        role = "total"
        if per:
            what = per["what"].lower()
            if what.startswith("epoch"):
                role = "epoch"
            elif what.startswith(("step", "iter", "update", "batch")):
                role = "step"
            elif what.startswith(
                (
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
                )
            ):
                role = "other"
        if role == "total" and re.search(
            r"(?:each|every|per|one|an) (?:training )?epoch (?:\w+ ){0,2}(?:about|around|roughly|approximately|~)?\s?$",
            before,
        ):
            role = "epoch"
        if role == "total" and re.search(
            r"(?:each|every|per|one|a) (?:training )?(?:step|iteration) (?:\w+ ){0,2}(?:about|around|roughly|~)?\s?$",
            before,
        ):
            role = "step"
        if role == "total" and unit.lower().startswith(("ms", "milli")):
            role = "other"
        found.append((low * scale, high * scale, kind, role))
    return found


def _count(sentence: str, devices: list[tuple[str, int, int, int | None]]) -> int | None:
    for _, _, end, times in devices:
        if times:
            return times
        after = _AFTER_COUNT.match(sentence[end : end + 40])
        if after:
            return int(after["n"])
    best: int | None = None
    for match in _COUNT.finditer(sentence):
        value = _value(match["n"])
        if value is None or value < 1 or value != int(value) or value > 100_000:
            continue
        if re.match(r"\s?[-]?(?:hours?|days?|h\b)", sentence[match.end() : match.end() + 8]):
            continue  # 5 GPU-hours are not five GPUs
        best = int(value) if best is None else best
    return best


def _first_int(pattern: re.Pattern[str], sentence: str) -> int | None:
    match = pattern.search(sentence)
    value = _value(next(g for g in match.groups() if g)) if match else None
    return int(value) if value and value < 1e9 else None


def _steps(sentence: str) -> int | None:
    match = _STEPS.search(sentence.replace("$", ""))
    if not match:
        return None
    power = re.match(r"([\d.]+)\s?[×x]\s?10\^(\d)", match["n"])
    value = float(power[1]) * 10 ** int(power[2]) if power else _value(match["n"])
    if value is None:
        return None
    suffix = (match["k"] or "").lower()
    return int(value * {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6}.get(suffix, 1))


def _flops(sentence: str) -> float | None:
    match = _FLOPS.search(sentence)
    if not match:
        return None
    if match["n"]:
        return float(match["n"]) * 10.0 ** int(match["e"]) * _PREFIX[match["u"] or ""]
    value = _value(match["m"].rstrip(",."))
    return value * _PREFIX[match["v"]] if value is not None else None


def _cost(sentence: str) -> float | None:
    if not _COST_CONTEXT.search(sentence):
        return None
    match = _COST.search(sentence)
    if not match:
        return None
    value = _value((match["n"] or match["m"]).rstrip(",."))
    return None if value is None else value * {"k": 1e3, "m": 1e6}.get((match["k"] or "").lower(), 1.0)


def _scope(sentence: str) -> Scope | None:
    if re.search(
        r"\b(?:in total|total (?:of|comput\w+|cost|project|training)|overall|all (?:of )?(?:the |our )?(?:experiments|results|runs)|entire (?:project|paper|study)|project compute|altogether)\b",
        sentence,
        re.IGNORECASE,
    ):
        return "paper"
    if re.search(r"\b(?:per|each|every|a single|one) (?:random )?seed\b", sentence, re.IGNORECASE):
        return "seed"
    if re.search(r"\bTable \w+|this table", sentence) and re.search(r"hours?|days?|minutes?", sentence):
        return "table"
    if re.search(
        r"\b(?:per|each|every|a single|one|single) (?:\w+ )?(?:run|model|experiment|training|job|trial|backbone|dataset|task|fold|configuration)s?\b|/run\b|(?:takes?|took|for) [^.]{0,30}(?:to train|hours|days|minutes|weeks?)",
        sentence,
        re.IGNORECASE,
    ):
        return "run"
    return None
