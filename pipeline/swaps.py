"""Drops and replacements: the splits as they were selected, and every event that took a row out, in fold order.

A replacement is the next of the ranked reserve. A person may choose another one, with a reason; it is then shown as a
choice wherever the split is told of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from pipeline.events import Event
from pipeline.evidence import Json
from pipeline.selection import Selection

Split = Literal["eval", "dev"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A drop or replacement, as it was carried out: who left which split, who came in, who was `due` by rule, and
    `because` of what another one came; "" where the rule was followed."""

    event: Event
    split: Split | None
    left: str
    entered: str | None
    due: str | None = None
    because: str = ""

    @property
    def chosen(self) -> bool:
        return bool(self.because)

    def to_json(self) -> dict[str, Json]:
        told = {"split": self.split, "left": self.left, "entered": self.entered, "due": self.due}
        return {**told, "because": self.because, "event": self.event.id}


@dataclass(frozen=True, kw_only=True, slots=True)
class Folded:
    """The splits after all changes. `problems`: replacements that could not be carried out as they stand."""

    members: Mapping[Split, tuple[str, ...]]
    changes: tuple[Change, ...]
    problems: tuple[str, ...]


def swapped(
    selected: Mapping[Split, Sequence[str]], rules: Mapping[Split, Selection], events: Iterable[Event]
) -> Folded:
    """Fold drops and replacements over a given selection.

    A dropped paper leaves a gap; a replaced one is followed by the next of its stratum's reserve, else the cheapest
    left of its tier, or by the paper that a person chose (`value` {"paper", "because"}): an eligible one of its tier
    that left no split, out of the reserve or, for eval, out of dev, where it leaves a gap. Nobody comes back, and no
    paper is in both splits. A choice that may not be is a problem, and the rule's paper comes in. `rules` rank all
    candidates, each for its split.
    """
    members: dict[Split, list[str]] = {split: list(ids) for split, ids in selected.items()}
    gone: set[str] = set()
    changes: list[Change] = []
    problems: list[str] = []
    for event in events:
        if event.kind not in ("drop", "replace"):
            continue
        gone.add(event.paper)
        split = next((name for name, ids in members.items() if event.paper in ids), None)
        if split is None or event.kind == "drop":
            if split is not None:
                members[split].remove(event.paper)
            elif event.kind == "replace":
                problems.append(f"{event.paper}: cannot be replaced, it is in no split")
            changes.append(Change(event=event, split=split, left=event.paper, entered=None))
            continue
        due = rules[split].replacement(event.paper, gone.union(*members.values()))
        choice, because, wrong = _choice(event, split, due, rules[split], members, gone)
        entered = choice or due
        if choice is not None and choice in members["dev"]:
            members["dev"].remove(choice)
            changes.append(Change(event=event, split="dev", left=choice, entered=None))
        place = members[split].index(event.paper)
        members[split][place : place + 1] = [] if entered is None else [entered]
        if entered is None and not wrong:
            wrong = "the reserve of its tier is empty; drop it instead"
        problems += [f"{event.paper}: {wrong}"] if wrong else []
        changes.append(Change(event=event, split=split, left=event.paper, entered=entered, due=due, because=because))
    return Folded(
        members={split: tuple(ids) for split, ids in members.items()},
        changes=tuple(changes),
        problems=tuple(problems),
    )


def _choice(
    event: Event, split: Split, due: str | None, rule: Selection, members: Mapping[Split, Sequence[str]], gone: set[str]
) -> tuple[str | None, str, str]:
    """Whom a person chose against the rule, why, and what is wrong with it; a choice that is wrong counts as none."""
    value = event.value
    if value is None or value == due:
        return None, "", ""
    if not isinstance(value, dict):
        return None, "", f"{event.who} expected {value} in its place, the rule gives {due}" if due else ""
    paper, because = value.get("paper"), value.get("because")
    if paper == due:
        return None, "", ""
    if not isinstance(paper, str) or not isinstance(because, str) or not because.strip():
        return None, "", f"{event.who} chose {paper} in its place, which is not next, without a reason"
    wrong = _unfit(paper, event.paper, split, rule, members, gone)
    return (None, "", f"{event.who} chose {paper} in its place, which {wrong}") if wrong else (paper, because, "")


def _unfit(
    paper: str, left: str, split: Split, rule: Selection, members: Mapping[Split, Sequence[str]], gone: set[str]
) -> str:
    """Why a paper may not take another one's place, or ""."""
    if paper in gone:
        return "was dropped or replaced itself"
    if paper in members["eval"] or (split == "dev" and paper in members["dev"]):
        return "is in a split already"
    tiers = dict(rule.rows.filter(pl.col("rank").is_not_null()).select("arxiv_id", "tier").iter_rows())
    if paper not in tiers:
        return f"is no candidate: {rule.reasons.get(paper, 'not in the pool')}"
    (tier,) = rule.rows.filter(pl.col("arxiv_id") == left)["tier"].to_list() or [None]
    return "" if tiers[paper] == tier else f"is of another tier, {tiers[paper]}"
