"""Comparing what a classifier said with what two readers labelled: rules from typed values to single judgements.

Every comparison is one `Judged`; shares, intervals, confusion and the list of disagreements are all counted from them.
Rows of a measure: each reader by itself, `both` where the two give the same label, `record` where a fetched repository
decides, `either` where being among any reader's labels is enough, and `readers` for the two held against each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from classifiers.gold import GoldPaper, Labels, LinkLabel, Statement, Value
from classifiers.said import LinkSaid, Mention, Proposed, Said, SignalSaid
from pipeline.compute import match_device
from pipeline.evidence import Signal

Against = Literal["record", "first", "second", "both", "either", "readers"]
HOURS_AGREE = 0.1
"""Two durations agree within this share: "under thirty minutes" and 0.5 h, rounded days and hours."""
FIRST_FEW = 3
"""Of how many proposals one must be among the readers'."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One comparison. `ours` None: left open, neither right nor wrong. Evidence is what each side points at."""

    measure: str
    against: Against
    paper: str
    theirs: str
    ours: str | None
    agrees: bool | None
    our_evidence: str = ""
    their_evidence: str = ""


Ratio = Literal["precision", "recall"]


@dataclass(frozen=True, slots=True)
class Measure:
    """What is compared, in a sentence. `ratios` of the answer "yes" that mean something; `categories`: whether answers
    are few enough for a table of confusion."""

    name: str
    about: str
    ratios: tuple[Ratio, ...] = ()
    categories: bool = True


_BOTH: tuple[Ratio, ...] = ("precision", "recall")
MEASURES = (
    Measure("code", "The code signal where the record decides: an own repository was fetched and judged.", _BOTH),
    Measure("weights", "The readers say what the paper claims, we what a stranger gets.", _BOTH),
    Measure("data", "The target's data can be had, is a standard benchmark, or none is needed.", _BOTH),
    Measure("standard", "All the target's data sets are standard benchmarks.", _BOTH),
    Measure("own-code links", "Links that the PDF shows, to places of the paper's own that may hold code.", _BOTH),
    Measure("links: unrendered", "Own links that the PDF does not show (unused macro, uncited entry) told apart."),
    Measure("links: commented", "Links on commented lines told apart."),
    Measure("links: foreign", "Links to other people's code, data and pages told apart."),
    Measure("paper kind", "Empirical, theoretical, position, survey, or no paper at all."),
    Measure(
        "compute statements",
        "A reader's statement is found if a quote of ours overlaps its lines and a device or a duration agrees.",
        ("recall",),
    ),
    Measure(
        "compute mentions", "What we take for a compute statement lies on the lines of a reader's.", ("precision",)
    ),
    Measure("target: first", "The first proposed value is among either reader's target or alternatives.", (), False),
    Measure("target: one of three", f"One of the first {FIRST_FEW} proposed values is.", (), False),
    Measure("tier: source alone", "The readers' tier by the source alone; ours reads receipts as well."),
    Measure("tier: with repository", "The first reader's tier with the repository known."),
)


def judge(gold: GoldPaper, ours: Said) -> tuple[Judged, ...]:
    """All comparisons that a paper's labels allow, in the order of `MEASURES`."""
    found = [
        *_code(gold, ours),
        *_simple(gold, "weights", lambda k: _yes_no(k.weights_claimed), "weights", *_weights(ours)),
        *_simple(gold, "data", lambda k: _yes_no(k.data_public), "data", *_data(ours)),
        *_simple(gold, "standard", lambda k: _yes_no(k.data_standard), "data", *_standard(ours)),
        *_own_links(gold, ours),
        *_hidden_and_foreign(gold, ours),
        *_commented(gold, ours),
        *_simple(gold, "paper kind", lambda k: k.kind, "kind", ours.kind, ours.kind_evidence or ours.trouble),
        *_statements(gold, ours),
        *_mentions(gold, ours),
        *_targets(gold, ours),
        *_tiers(gold, ours),
    ]
    order = {measure.name: place for place, measure in enumerate(MEASURES)}
    return tuple(sorted(found, key=lambda one: order[one.measure]))


# -------------------------------------------------------------------------------------------------------------- signals


def _code(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    """True iff a fetched repository of the paper's own is judged real code; papers without one are not compared.

    The readers did not see repositories: beside it stands how often they agree on whether the paper claims code.
    """
    claims = [_yes_no(labels.code_claimed) for labels in gold.readers]
    if len(claims) == 2 and claims[0] and claims[1]:
        yield _judged("code", "readers", gold, claims[0], claims[1], "", "")
    if not gold.own:
        return
    theirs = "yes" if any(one.code for one in gold.own) else "no"
    signal = ours.signals.get(Signal.CODE)
    value = _yes_no(signal.value) if signal else None
    evidence = signal.evidence if signal else ours.trouble
    yield _judged("code", "record", gold, theirs, value, evidence, "; ".join(one.note for one in gold.own))


def _weights(ours: Said) -> tuple[str | None, str]:
    signal = ours.signals.get(Signal.WEIGHTS)
    return (_yes_no(signal.value), signal.evidence) if signal else (None, ours.trouble)


def _data(ours: Said) -> tuple[str | None, str]:
    """Readers call data public that is open or standard, or that nobody needs: as a tier reads it."""
    data, standard = ours.signals.get(Signal.DATA), ours.signals.get(Signal.STANDARD)
    if data is None or standard is None:
        return None, ours.trouble
    if not data.needed or data.value or standard.value:
        return "yes", (data if not data.needed or data.value else standard).evidence
    unknown = data.value is None or standard.value is None
    return (None if unknown else "no"), f"{data.evidence}; {standard.evidence}"


def _standard(ours: Said) -> tuple[str | None, str]:
    signal: SignalSaid | None = ours.signals.get(Signal.STANDARD)
    if signal is None or not signal.needed:
        return None, signal.evidence if signal else ours.trouble
    return _yes_no(signal.value), signal.evidence


# ---------------------------------------------------------------------------------------------------------------- links


def _own_links(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    """Every link that somebody calls own or foreign, once a paper.

    Places that a reader gives as own data or weights are no mistake, and no code link either: they are left out.
    """
    claimed = {link.subject: link for link in ours.links if link.shown == "own"}
    standings = [_standings(labels) for labels in gold.readers]
    for against, label in _rows(gold, standings):
        for name in sorted({*claimed, *label}):
            theirs = label.get(name)
            if theirs is not None and theirs.standing == "own data or weights":
                continue
            own = theirs is not None and theirs.standing == "own"
            if ours.trouble and not own:
                continue  # nothing was judged, so nothing was told apart
            if not own and name not in claimed and (theirs is None or theirs.standing == "unrendered"):
                continue
            yield _judged(
                "own-code links",
                against,
                gold,
                "yes" if own else "no",
                "yes" if name in claimed else "no",
                claimed[name].evidence if name in claimed else _seen(name, ours.links),
                f"{name} {theirs.standing}: {theirs.evidence}" if theirs else f"{name}: no label",
            )
    if len(standings) == 2:
        first, second = standings
        for name in sorted({n for one in standings for n, k in one.items() if k.standing == "own"}):
            sides = [one[name].standing if name in one else "not named" for one in (first, second)]
            words = ["yes" if side == "own" else "no" for side in sides]
            yield _judged("own-code links", "readers", gold, words[0], words[1], f"{name}: {sides[1]}", sides[0])


def _standings(labels: Labels) -> dict[str, LinkLabel]:
    """A reader's word on each subject; one that is also own code is own code."""
    rank = {"own": 0, "unrendered": 1, "own data or weights": 2, "foreign": 3}
    found: dict[str, LinkLabel] = {}
    for link in sorted(labels.links, key=lambda link: rank[link.standing]):
        found.setdefault(link.subject, link)
    return found


def _rows(
    gold: GoldPaper, standings: Sequence[Mapping[str, LinkLabel]]
) -> Iterator[tuple[Against, Mapping[str, LinkLabel]]]:
    """Each reader's labels, and those on which both agree: own for both, or for neither."""
    for labels, label in zip(gold.readers, standings, strict=True):
        yield labels.reader, label
    if len(standings) == 2:
        first, second = standings
        aside = [n for n in {*first, *second} if (_is_own(first.get(n)) != _is_own(second.get(n)))]
        merged = {**second, **first}
        left = {n: LinkLabel(n, "own data or weights", "the readers differ") for n in aside}
        yield "both", {**merged, **left}


def _is_own(label: LinkLabel | None) -> bool:
    return label is not None and label.standing == "own"


def _seen(name: str, links: Iterable[LinkSaid]) -> str:
    found = next((link for link in links if link.subject == name), None)
    return f"{name} taken for {found.shown}: {found.evidence}" if found else f"{name} was not read"


def _hidden_and_foreign(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    shown = {link.subject for link in ours.links if link.shown != "hidden"}
    own = {link.subject for link in ours.links if link.shown == "own"}
    read = {link.subject for link in ours.links}
    for labels in gold.readers:
        for name, label in _standings(labels).items():
            if label.standing == "unrendered":
                word = "shown" if name in shown else "hidden" if name in read else "not read"
                measure, good = "links: unrendered", None if ours.trouble and word == "not read" else word == "hidden"
            elif label.standing == "foreign":
                word = "own" if name in own else "foreign" if name in read else "not read"
                measure, good = "links: foreign", None if word == "not read" else word == "foreign"
            else:
                continue
            yield Judged(
                measure=measure,
                against=labels.reader,
                paper=gold.name,
                theirs=label.standing,
                ours=word,
                agrees=good,
                our_evidence=_seen(name, ours.links),
                their_evidence=f"{name} {label.evidence}",
            )


def _commented(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    for labels in gold.readers:
        for lines, quote in labels.commented:
            there = [link for link in ours.links if link.lines.overlaps(lines)]
            shown = [link for link in there if link.shown != "hidden"]
            yield Judged(
                measure="links: commented",
                against=labels.reader,
                paper=gold.name,
                theirs="commented",
                ours="shown" if shown else "hidden" if there else "no link read",
                agrees=not shown if there else None,
                our_evidence="; ".join(link.evidence for link in shown or there),
                their_evidence=f"{lines} “{quote}”",
            )


# -------------------------------------------------------------------------------------------------------------- compute


def _statements(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    for labels in gold.readers:
        for statement in labels.statements:
            if statement.aside:
                continue
            near = [m for m in ours.mentions if m.lines.overlaps(statement.lines)]
            hit = next((m for m in near if agrees(statement, m)), None)
            shown = hit or next(iter(near), None)
            yield _judged(
                "compute statements",
                labels.reader,
                gold,
                "yes",
                "yes" if hit else "no",
                f"{shown.lines} “{shown.quote[:200]}” {_read(shown)}"
                if shown
                else ours.trouble or "nothing on these lines",
                f"{statement.lines} {statement.text[:250]}",
            )
    if gold.first and gold.second:
        for statement in (s for s in gold.second.statements if not s.aside):
            also = next((s for s in gold.first.statements if s.lines.overlaps(statement.lines)), None)
            theirs = "yes" if also else "no"
            yield _judged(
                "compute statements", "readers", gold, theirs, "yes", statement.text, also.text if also else ""
            )


def _mentions(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    labelled = [s for labels in gold.readers for s in labels.statements]
    for mention in (m for m in ours.mentions if not m.aside and (m.devices or m.hours)):
        also = next((s for s in labelled if s.lines.overlaps(mention.lines)), None)
        yield _judged(
            "compute mentions",
            "either",
            gold,
            "yes" if also else "no",
            "yes",
            f"{mention.lines} “{mention.quote[:200]}” {_read(mention)}",
            f"{also.lines} {also.text[:200]}" if also else "no reader lists a statement on these lines",
        )


def _read(mention: Mention) -> str:
    hours = "" if mention.hours is None else f", {mention.hours[0]:g} to {mention.hours[1]:g} h"
    return f"({', '.join(mention.devices) or 'no device'}{hours})"


def agrees(statement: Statement, mention: Mention) -> bool:
    """Whether a device or a duration of ours is the statement's."""
    return any(same_device(name, statement.text) for name in mention.devices) or same_duration(statement, mention)


def same_device(name: str, text: str) -> bool:
    """Whether a label names our device: the same entry of the device table, or the same model word ("2080 Ti")."""
    device = match_device(name)
    if device is not None and device == match_device(text):
        return True
    words = [w for w in re.findall(r"[a-z0-9]+", name.casefold()) if w not in _MAKERS]
    squeezed = r"[\W_]*".join(map(re.escape, words))
    return bool(words) and re.search(rf"(?<![a-z0-9]){squeezed}s?(?![a-z0-9])", text.casefold()) is not None


_MAKERS = frozenset(
    {"nvidia", "amd", "intel", "google", "apple", "geforce", "tesla", "cloud", "rtx", "gtx", "gpu", "gpus"}
)


def same_duration(statement: Statement, mention: Mention) -> bool:
    if mention.hours is None:
        return False
    low, high = mention.hours
    slack = HOURS_AGREE
    return any(low * (1 - slack) <= h <= high * (1 + slack) and h > 0 for h in statement.hours)


# --------------------------------------------------------------------------------------------------------------- target


def _targets(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    accepted = [v for labels in gold.readers for v in labels.values]
    if not accepted:
        return
    theirs = " | ".join(dict.fromkeys(v.text for v in accepted))
    evidence = "; ".join(f"{v.text} ({v.evidence})" for v in accepted)
    for measure, few in (("target: first", 1), ("target: one of three", FIRST_FEW)):
        proposed = ours.targets[:few]
        good = any(same_value(p, v) for p in proposed for v in accepted)
        yield Judged(
            measure=measure,
            against="either",
            paper=gold.name,
            theirs=theirs,
            ours=" | ".join(p.text for p in proposed) or "none",
            agrees=good,
            our_evidence="; ".join(p.evidence for p in proposed) or ours.trouble or "no target proposed",
            their_evidence=evidence,
        )
    if gold.first and gold.second and gold.first.values and gold.second.values:
        own = gold.first.values[0]
        for measure, values in (
            ("target: first", gold.second.values[:1]),
            ("target: one of three", gold.second.values),
        ):
            yield Judged(
                measure=measure,
                against="readers",
                paper=gold.name,
                theirs=own.text,
                ours=" | ".join(v.text for v in values),
                agrees=any(same_value(own, v) for v in values),
                our_evidence="; ".join(v.evidence for v in values),
                their_evidence=own.evidence,
            )


def same_value(one: Proposed | Value, other: Proposed | Value) -> bool:
    """Values compare as numbers: "11,264x" is 11264, and 0.30 is 0.3; never one scaled to the other."""
    return any(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a in one.numbers for b in other.numbers)


# ----------------------------------------------------------------------------------------------------------------- tier


def _tiers(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    tier = ours.tier.value if ours.tier else None
    evidence = ours.tier_evidence or ours.trouble
    yield from _simple(gold, "tier: source alone", lambda k: k.tier.value if k.tier else None, "tier", tier, evidence)
    if gold.first and gold.first.tier_with_repository:
        theirs, note = gold.first.tier_with_repository.value, gold.first.note("tier_with_repository")
        yield _judged("tier: with repository", "first", gold, theirs, tier, evidence, note)


# --------------------------------------------------------------------------------------------------------- what all use


def _simple(
    gold: GoldPaper,
    measure: str,
    label: Callable[[Labels], str | None],
    note: str,
    ours: str | None,
    evidence: str,
) -> Iterator[Judged]:
    """One answer a paper: against each reader that gave a label, both where they agree, and one against the other."""
    given = [(labels, theirs) for labels in gold.readers if (theirs := label(labels)) is not None]
    for labels, theirs in given:
        yield _judged(measure, labels.reader, gold, theirs, ours, evidence, labels.note(note))
    if len(given) == 2:
        (first, one), (second, two) = given
        if one == two:
            yield _judged(measure, "both", gold, one, ours, evidence, f"{first.note(note)} | {second.note(note)}")
        yield _judged(measure, "readers", gold, one, two, second.note(note), first.note(note))


def _judged(
    measure: str,
    against: Against,
    gold: GoldPaper,
    theirs: str,
    ours: str | None,
    our_evidence: str,
    their_evidence: str,
) -> Judged:
    return Judged(
        measure=measure,
        against=against,
        paper=gold.name,
        theirs=theirs,
        ours=ours,
        agrees=None if ours is None else ours == theirs,
        our_evidence=our_evidence,
        their_evidence=their_evidence,
    )


def _yes_no(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"
