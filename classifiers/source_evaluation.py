"""What a reader of the source found, held against the readers' labels: links told apart, and statements of compute."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from classifiers.gold import GoldPaper, Labels, LinkLabel, Statement
from classifiers.judged import Against, Judged, judged
from classifiers.said import LinkSaid, Mention, Said
from pipeline.compute import match_device

HOURS_AGREE = 0.1
"""Two durations agree within this share: "under thirty minutes" and 0.5 h, rounded days and hours."""


# ---------------------------------------------------------------------------------------------------------------- links


def own_links(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
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
            yield judged(
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
            yield judged("own-code links", "readers", gold, words[0], words[1], f"{name}: {sides[1]}", sides[0])


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


def hidden_and_foreign(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
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


def commented(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
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


def statements(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    for labels in gold.readers:
        for statement in labels.statements:
            if statement.aside:
                continue
            near = [m for m in ours.mentions if m.lines.overlaps(statement.lines)]
            hit = next((m for m in near if agrees(statement, m)), None)
            shown = hit or next(iter(near), None)
            yield judged(
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
            yield judged(
                "compute statements", "readers", gold, theirs, "yes", statement.text, also.text if also else ""
            )


def mentions(gold: GoldPaper, ours: Said) -> Iterator[Judged]:
    labelled = [s for labels in gold.readers for s in labels.statements]
    for mention in (m for m in ours.mentions if not m.aside and (m.devices or m.hours)):
        also = next((s for s in labelled if s.lines.overlaps(mention.lines)), None)
        yield judged(
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
