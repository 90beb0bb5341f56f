"""Device names in a sentence: cards, chips and machines, never inside another word.

The names follow the field, not the table of factors (`data/reference/devices.toml`): a card without a factor is still a
device, and its hours are then unknown for that reason and no other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TI = r"(?:[\s-]?(?:Ti|TI|ti|Super|SUPER))?"
# Names that are nothing but a device.
_SURE = (
    rf"GH200|GB[23]00|H[128]00|B[23]00|A[18]00|V100|GV100|P100|K80|L40S|L40s|A10G"
    rf"|RTX[\s-]?(?:PRO\s?)?A?\d{{4}}(?:[\s-]?(?:Ti|TI|ti|Super|SUPER|Ada|ADA|Blackwell|D\b))*"
    rf"|rtx[\s-]?\d{{4}}(?:\s?ti)?"
    rf"|[Gg][Tt][Xx][\s-]?(?:(?:Titan|TITAN)(?:[\s-]?(?:X[Pp]?|Z|Black))?|\d{{3,4}}{_TI})"
    rf"|[Gg]e[Ff]orce\s(?:(?:RTX|GTX)[\s-]?)?\d{{3,4}}{_TI}"
    rf"|(?:Titan|TITAN|titan)[\s-]?(?:RTX|rtx|X[Pp]?|V|Z|Black|Pascal)"
    r"|[Qq]uadro\s(?:RTX\s|GV|P|M|K|T|A)?\d{3,4}"
    r"|(?:[Tt]esla|TESLA)[\s-][VPTKMA]\d{1,3}"
    r"|(?:TPU|tpu)[\s-]?[vV]?\d\w*(?:-\d+)?(?:\s[Pp]ods?)?|TPUs?(?=\W|$)"
    r"|MI\d{2,3}[XA]?|Instinct\sMI\d+\w?|Radeon\s(?:RX|Pro|VII)[\s-]?\w*(?:\sXTX?)?|Arc\s[AB]\d{3}"
    r"|Gaudi[\s-]?\d?|HL-\d{3}\w?|Ascend[\s-]?\w{3,5}|MLU[\s-]?\d{3}|Kunlun(?:xin)?|Trainium\d?|Trn\d|Inferentia\d?"
    r"|Cerebras\sCS-\d|WSE-\d|IPU(?:-POD\d*|-M\d+)?|LPU|Trillium"
    r"|Xeon|EPYC|Epyc|Threadripper|Ryzen|Intel\sCore|Core\s?(?:\((?:TM|tm)\)\s?|™\s?)?i[3579]|Graviton\d?"
    r"|Mac[Bb]ook|Mac\s(?:Studio|[Mm]ini|Pro)|Apple\sM\d|M[1-5]\s(?:Max|Pro|Ultra)"
    r"|Jetson\s\w+|DGX(?:[\s-](?:A100|H100|H200|B200|GH200|Station|Spark|-?[12]|SuperPOD))?|Grace\sHopper|Loihi\s?\d?"
)
# Short ones that might be a section, a rank, a road or a phage: they need a machine beside them.
_SHORT = (
    rf"A(?:10|16|30|40|2|[45][05]00|6000)|L(?:4|20|40)|T4G?|P40?|P6|M[46]0|K[246]0m?|H20|B100"
    rf"|[2345]0[5-9]0{_TI}(?:\sD\b)?|16[56]0{_TI}|10[5-8]0{_TI}|[68]000\sAda|DCU|NPU|M[1-5]"
)
NAME = rf"(?:{_SURE}|{_SHORT})"
# The set of first letters comes first: the search then skips everything else without trying an alternative.
_DEVICE = re.compile(
    r"(?=[ABCDGHIJKLMNPQRTVWXEgrqt1-68])(?<![A-Za-z0-9_\\/@.])"
    rf"(?:(?P<sure>{_SURE})|(?P<short>{_SHORT}))(?P<s>s)?(?![A-Za-z0-9_])(?!\.\d)"
)
_TIMES = re.compile(r"(?<![A-Za-z0-9_.,])(\d{1,5})\s?[x×*]\s?(?:(?:NVIDIA|Nvidia|nvidia|AMD|Tesla|GeForce)\s){0,2}$")
_MACHINE = re.compile(
    r"(?<![A-Za-z0-9_])(?:GPUs?|NVIDIA|Nvidia|CPUs?|cores?|nodes?|server|cluster|machine|workstation|laptop|Colab\w*"
    r"|hours?|GB|devices?"
    r"|hardware|accelerators?|chips?|cards?|AMD|Intel|Google|Apple|Huawei|[Gg]raphics|VRAM|instances?)(?![A-Za-z0-9_])"
)
# "40 minutes on a T4": a place to run and a time to run it are a machine's company too.
_RAN_ON = re.compile(
    r"\b(?:on|with|using|of|via)\s(?:(?:a|an|one|the|our|two|three|four|eight|\d{1,4})\s?[x×]?\s?)?(?:single\s"
    r"|same\s|free\s)?$"
)
_RAN = re.compile(r"\b(?:minutes?|days?|hours?|train(?:s|ed|ing)?|fine-?tun\w+|runs?|ran|latency)\b")
_AMBIGUOUS = frozenset(("IPU", "LPU", "Gaudi", "TPU"))
_AT_WORK = re.compile(r"train|run|ran\b|hardware|accelerator|AMD|Intel|Graphcore|Google|hours|days|pod")
_NUMBERED = re.compile(
    r"\b(?:Tab(?:le|s?\.)|Fig(?:ures?|s?\.)|Sec(?:tions?|s?\.)|App(?:endix|endices|\.)|Eqs?\.?|Equations?|Theorem"
    r"|Lemma|Algorithm|Alg\.|Definition"
    r"|Assumptions?|Proposition|Prop\.|Corollary|Claim|Step|Stage|Level|Group|Panel|Class|Type|Case|Property)[\s~]?\(?$"
)
_MEMORY = re.compile(r"(?<![\d.])\d{2,3}\s?(?:GB|GiB)\b")
_FORM = re.compile(r"\b(?:PCIe|NVL|SXM\d?)\b", re.IGNORECASE)
_HOST = re.compile(r"xeon|epyc|threadripper|ryzen|core|intel core|macbook|mac |apple|m[1-5]\b|graviton", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Device:
    """One device in a sentence, name as written; `times` is the 8 of "8x A100"."""

    name: str
    start: int
    end: int
    times: int | None


def find_devices(sentence: str) -> list[Device]:
    """Devices of a sentence, left to right."""
    found: list[Device] = []
    machine: bool | None = None
    for match in _DEVICE.finditer(sentence):
        start, end = match.span("sure") if match["sure"] else match.span("short")
        name = sentence[start:end]
        if match["short"]:
            if machine is None:
                machine = bool(_MACHINE.search(sentence)) or bool(found)
            before = sentence[max(0, start - 40) : start]
            if _NUMBERED.search(before):
                continue
            if not machine and not (_RAN_ON.search(before) and _RAN.search(sentence)):
                continue
            if not _plausible(name, sentence):
                continue
        elif (name in _AMBIGUOUS or re.fullmatch(r"MI\d\d?", name)) and not _AT_WORK.search(sentence):
            continue
        times = _TIMES.search(sentence, max(0, start - 40), start)
        found.append(Device(" ".join(name.split()), start, end, int(times[1]) if times else None))
    return found


def _plausible(name: str, sentence: str) -> bool:
    """A bare number or a letter with a digit is a card only where its maker or kind is named."""
    if name[0] == "M" and len(name) == 2:
        return bool(re.search(r"Apple|Mac|chip|laptop", sentence))
    if name[0].isdigit() and name[-1] == "0":
        return bool(re.search(r"RTX|GTX|GeForce|GPU|NVIDIA|Nvidia", sentence))
    if name in ("NPU", "DCU"):
        return bool(re.search(r"train|run|hardware|accelerator|Huawei|Ascend|Hygon", sentence))
    return True


def variant(device: Device, sentence: str) -> str:
    """A card's name with the memory and form that stand near it, which tell its variants apart ("A100 40GB")."""
    near = sentence[max(0, device.start - 20) : device.end + 40]
    beside = [m[0] for pattern in (_MEMORY, _FORM) if (m := pattern.search(near))]
    return " ".join([device.name, *(b for b in beside if b.lower() not in device.name.lower())])


def accelerated(devices: list[Device]) -> bool:
    """Whether any of them is more than a host processor."""
    return any(not _HOST.match(d.name) for d in devices)


def devices_in(sentence: str) -> list[tuple[str, int, int, int | None]]:
    """(name as written, start, end, count of an `8x` before it) of every device, left to right."""
    return [(d.name, d.start, d.end, d.times) for d in find_devices(sentence)]
