"""Compute mentions: which clause says what ran where, for how long. Quantities are typed, never guessed from"
" silence."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from pipeline.paper import amounts
from pipeline.paper.devices import accelerated, devices_in, find_devices
from pipeline.paper.durations import Duration, Kind, find_durations

__all__ = ["Reading", "devices_in", "read_clauses", "read_sentence"]

MAX_SENTENCE = 8_000  # characters; longer is no sentence
Scope = Literal["run", "seed", "table", "paper"]

_PROCESSOR = re.compile(
    r"(?<![A-Za-z0-9_])(?:[GCTN]PU|[Aa]ccelerator)s?(?![A-Za-z0-9_])|[Gg]raphics [Cc]ard|\bcores?\b|\bnodes?\b|\bColab"
)
_USE = re.compile(
    r"\b(?:(?:pre-?)?train(?:s|ed|ing)?|fine-?tun\w+|r[ua]ns?|running|runtime|experiments?|conduct\w*|perform\w*"
    r"|execut\w*|comput\w+"
    r"|us(?:e[sd]?|ing)|utiliz\w+|evaluat\w+|measur\w+|latency|tak(?:e[ns]?|ing)|took|requir\w+|hours?|days?"
    r"|minutes?|equipped"
    r"|hardware|budget|consum\w+|implement\w*|inference|wall[- ]?clock|batch|on an?|simulat\w+|benchmark\w*|sampl\w+"
    r"|generat\w+"
    r"|finish\w*|complet\w+|resources?)\b",
    re.IGNORECASE,
)
_TRAIN_TIME = re.compile(
    r"\b(?:train\w*|r[ua]ns?|running|tak(?:es?|ing)|took|requires?|needs?|wall[- ]?clock|runtime|compute|[GTC]PU"
    r"|finish\w*|converge\w*"
    r"|per epoch|complete[sd]?|execut\w*|optimi[sz]\w*|experiments?|inference|simulation|fit(?:ting|s)?|limited to"
    r"|budget|lasts?|cost)\b",
    re.IGNORECASE,
)
_BUDGET = re.compile(
    r"\b(?:GPU|TPU|CPU|A100|H100|V100|device|accelerator|node|core|[HA]\d{2,3})[\s-]?(?:hours?|days?|h|weeks?"
    r"|months?|years?)\b",
    re.IGNORECASE,
)
_COMPUTING = re.compile(r"comput(?:e|ing|ational)\b|cluster|cloud")
_DENIAL = re.compile(
    r"(?:do(?:es)? not|did not|don't|not explicitly|no explicit|doesn't)\s(?:\w+\s){0,4}"
    r"(?:mention|report|specif|provide|include|state|disclos|require|describe|discuss|contain)\w*"
    r"[^.]{0,120}(?:comput|hardware|GPU|memory|running time|execution|resources|experiments)"
    r"|no (?:significant |special |large-scale )?(?:comput\w+|hardware|GPUs?)(?: resources)? (?:\w+ )?"
    r"(?:needed|required|necessary|reported|specified)"
    r"|(?:comput\w+ resources|hardware) (?:is|are|was|were) not (?:reported|specified|mentioned|described|provided)",
    re.IGNORECASE,
)
_ACK = re.compile(
    r"\b(?:acknowledg\w+|thank(?:s|ful)?|grateful|gratitude|support(?:ed)? (?:by|of|from)"
    r"|(?:grants?|allocation|award)\b.{0,60}\b(?:No|number|from|by)"
    r"|funded by|donat\w+|generous\w*|credits from|made available by)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"(?:includ|count|account|compris)\w*[^.]{0,80}(?:failed|preliminary|exploratory|unsuccessful|discarded|debug)"
    r"|(?:failed|preliminary|exploratory)[^.]{0,60}(?:includ|count)",
    re.IGNORECASE,
)
_CPU = re.compile(
    r"(?<![A-Za-z0-9_])(?:CPUs?|laptop|MacBook|Xeon|EPYC|Ryzen|Core\s?i[3579]|Threadripper|desktop)(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_GPU = re.compile(r"(?<![A-Za-z0-9_])(?:GPUs?|TPUs?|NPUs?|CUDA)(?![A-Za-z0-9_])")
_NO_GPU = re.compile(
    r"\b(?:without|no|not (?:use|need|require)\w*) (?:a |any |the use of )?GPUs?|only CPUs?|CPU[- ]only|on (?:a "
    r"|the )?(?:\w+ )?CPU",
    re.IGNORECASE,
)
_ALL_ON_CPU = re.compile(r"\b(?:all|experiments?|train\w*|run|ran)\b")

# -- scope

_PAPER = re.compile(
    r"\b(?:in total|total (?:of|comput\w+|cost|project|training)|overall|all (?:of )?(?:the |our )?(?:experiments"
    r"|results|runs)"
    r"|entire (?:project|paper|study)|project compute|altogether)\b",
    re.IGNORECASE,
)
_SEED = re.compile(r"\b(?:per|each|every|a single|one) (?:random )?seed\b", re.IGNORECASE)
_TABLE = re.compile(r"\bTable \w+|this table")
_RUN = re.compile(
    r"\b(?:per|each|every|a single|one|single) (?:\w+ )?"
    r"(?:run|model|experiment|training|job|trial|backbone|dataset|task|fold|configuration)s?\b|/run\b"
    r"|(?:takes?|took|for) [^.]{0,30}(?:to train|hours|days|minutes|weeks?)",
    re.IGNORECASE,
)

# -- clauses

_BRACKETED = re.compile(r"\([^()]{0,200}\)")
_SEMICOLON = re.compile(r";\s|\.\s|\s[–—]\s|—")
_COMMA = re.compile(r",\s(?:(?:and|while|whereas|but|plus)\s)?|\s(?:while|whereas)\s")
_AND = re.compile(r"\sand\s")
_ABOUT = (
    r"(?:about|around|roughly|approximately|approx\.|~|∼|≈|=|or|i\.e\.,?|that is,?|thus|for a total of|a total of"
    r"|total(?:l?ing)?|amounting to"
    r"|corresponding to|equivalent to|equal to|resulting in|which is|which equals)"
)
_LEADS_NOWHERE = re.compile(rf"[\s,(]*(?:{_ABOUT}[\s,]*)*\(?\s*")
_ENDS_THERE = re.compile(r"\s*(?:$|[).;]|in total|overall|altogether|total\b|of (?:compute|GPU|TPU)|(?:per|a) run)")
# "takes 3 hours", the last of them before the time; without one, "is", "ran" and their kin, the first
_TAKES = re.compile(
    r"^(?P<who>.*)\b(?:tak(?:es?|ing)|took|lasts?|lasted|requires?|required|needs?|needed|costs?|used|consumes?"
    r"|consumed"
    r"|finish(?:es|ed)|completes?|completed|amounts?|amounted|spent|kept)\b",
    re.DOTALL,
)
_IS = re.compile(r"^(?P<who>.*?)\b(?:is|was|are|were|ran|runs|ranges?|uses?)\b", re.DOTALL)
_EMPTY_SUBJECT = re.compile(
    r"^(?:[\s,;:\-–(|]|\[Footnote:[^\]]*\]|Justification:|\b(?:and|while|whereas|but|it|this|that|which"
    r"|they|we|in total|overall|further|also"
    r"|then|about|around|roughly|approximately|between|from|within|for|on average|typically|only|just|~|∼|≈)\b)*",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"(?:[\s,:;(|–-]|\b(?:at|for|in|on|to|of|within|over|about|around|roughly|approximately|and|by|it|which)$)+$"
)
_PREPOSITION = re.compile(r"^[\s,)]*(?:(?:in total|each)\s)?(?:for|to|on|per|of)\s")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one clause says about compute; the fields are those of model.ComputeMention."""

    devices: tuple[str, ...]
    count: int | None
    hours: float | None
    hours_range: tuple[float, float] | None
    hours_kind: Kind | None
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
    subject: str = ""


def read_sentence(sentence: str) -> Reading | None:
    """The compute a sentence states, denies or gives thanks for; None when it is about something else.

    Of several times the one in device hours counts, else the longest.
    """
    return _read(sentence, certain=False)


def read_clauses(sentence: str) -> list[tuple[int, int, Reading]]:
    """(start, end, reading) of each clause that states an amount of its own; the whole sentence when that is one."""
    whole = _read(sentence, certain=False)
    if whole is None:
        return []
    timed = [d for d in find_durations(sentence, machine=True) if d.role != "other"]
    if len(timed) < 2 or sentence[:1] == "|" or whole.denial:
        return [(0, len(sentence), whole)]
    cuts = [0]
    for first, second, after in zip(timed, timed[1:], [d.start for d in timed[2:]] + [len(sentence)], strict=False):
        cut = _cut(sentence, first, second, after)
        if cut is not None:
            cuts.append(cut)
    if len(cuts) == 1:
        return [(0, len(sentence), whole)]
    found: list[tuple[int, int, Reading]] = []
    for start, end in zip(cuts, [*cuts[1:], len(sentence)], strict=True):
        while start < end and sentence[start] in " ,;—–":
            start += 1
        shown = sentence[start:end].rstrip(" ,;—–")
        one = _read(shown, certain=True)
        if one is not None:
            scope = one.scope or (found[-1][2].scope if found else None)
            one = replace(one, scope=scope, acknowledgement=whole.acknowledgement)
            found.append((start, start + len(shown), one))
    return found


def _cut(sentence: str, first: Duration, second: Duration, after: int) -> int | None:
    """Where the clause of the second time begins; None when it only says the first one again."""
    gap = _BRACKETED.sub(lambda m: "\x7f" * len(m[0]), sentence[first.end : second.start])
    found = list(_SEMICOLON.finditer(gap))[-1:] or list(_COMMA.finditer(gap))[-1:] or list(_AND.finditer(gap))[:1]
    lead = gap[found[0].end() :] if found else gap
    again = (
        first.kind != second.kind
        or abs(first.high - second.high) <= 0.02 * first.high
        or (first.role != "total" and second.role == "total")
    )
    if again and _LEADS_NOWHERE.fullmatch(lead) and _ENDS_THERE.match(sentence[second.end : after]):
        return None
    return first.end + found[0].start() if found else None


def _read(sentence: str, *, certain: bool) -> Reading | None:
    """`certain`: the clause is known to be about compute, a time in it is enough."""
    if len(sentence) > MAX_SENTENCE:
        return None
    devices = find_devices(sentence)
    processor = bool(_PROCESSOR.search(sentence))
    machine = processor or bool(devices)
    denial = not devices and ("no" in sentence or "n't" in sentence) and bool(_DENIAL.search(sentence))
    thanks = (
        (machine or "omput" in sentence or "luster" in sentence or "loud" in sentence)
        and bool(_ACK.search(sentence))
        and (machine or bool(_COMPUTING.search(sentence)))
    )
    durations = find_durations(sentence, machine=machine)
    flops, cost = amounts.flops(sentence), amounts.cost(sentence)
    if not (machine or durations or denial or thanks or flops):
        return None
    budget = bool(durations) and bool(_BUDGET.search(sentence))
    cpu = bool(_CPU.search(sentence))
    count = amounts.count(sentence, devices, durations)
    if not (certain and durations) and not (denial or thanks or budget):
        trains = bool(_TRAIN_TIME.search(sentence))
        worth = (
            (devices and (durations or _USE.search(sentence)))
            or (trains and (flops or any(d.role == "total" for d in durations) or (durations and machine)))
            or (cost and processor)
            or (processor and (count is not None or (cpu and _ALL_ON_CPU.search(sentence))) and _USE.search(sentence))
        )
        if not worth:
            return None
    low = high = None
    kind: Kind | None = None
    totals = [d for d in durations if d.role == "total"]
    if totals:
        chosen = max(totals, key=lambda d: (d.kind == "device", d.high))
        low, high, kind = chosen.low, chosen.high, chosen.kind
    per = {d.role: (d.low + d.high) / 2 for d in reversed(durations) if d.role != "total"}
    subject_of = next((d for d in durations if d.role != "other"), None)
    return Reading(
        devices=tuple(dict.fromkeys(d.name for d in devices)),
        count=count,
        hours=None if low is None or high is None else round((low + high) / 2, 6),
        hours_range=(round(low, 6), round(high, 6)) if low is not None and high is not None and low != high else None,
        hours_kind=kind,
        epochs=amounts.epochs(sentence),
        steps=amounts.steps(sentence),
        time_per_step=per.get("step"),
        time_per_epoch=per.get("epoch"),
        flops=flops,
        cost_usd=cost,
        scope=_scope(sentence),
        includes_failed=bool(_FAILED.search(sentence)),
        denial=denial,
        acknowledgement=thanks,
        cpu_only=cpu and (not _GPU.search(sentence) or bool(_NO_GPU.search(sentence))) and not accelerated(devices),
        subject=_subject(sentence, subject_of) if subject_of else "",
    )


def _subject(clause: str, time: Duration) -> str:
    """What took the time: the words before the verb, else what follows "for", "to", "on"."""
    before = clause[: time.start]
    verb = _TAKES.match(before) or _IS.match(before)
    who = (verb["who"] if verb else before)[-200:]
    who = _EMPTY_SUBJECT.sub("", who, count=1)
    while who != (shorter := _DANGLING.sub("", who)):
        who = shorter
    if re.search(r"[A-Za-z]{2}", who):
        return who[-160:].strip()
    behind = clause[time.end :]
    lead = _PREPOSITION.match(behind)
    return re.split(r"[;.]\s|\.$", behind[lead.end() :] if lead else "")[0].strip(" ,;.")[:160]


def _scope(sentence: str) -> Scope | None:
    if _PAPER.search(sentence):
        return "paper"
    if _SEED.search(sentence):
        return "seed"
    if _TABLE.search(sentence) and re.search(r"hours?|days?|minutes?", sentence):
        return "table"
    return "run" if _RUN.search(sentence) else None
