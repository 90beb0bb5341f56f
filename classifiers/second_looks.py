"""Second looks: who reads a row again, and what a prober is told. What they find is in `pipeline.disagreements`.

A row without code, or without data, stands on what nobody found. Two readers who know nothing of the first one's answer
read the paper again, by other seeds or as other models; a third is told the pinned target and that no way to it was
found, and looks for one. Each is an episode of its own, through the same loop, tools and gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.derivation import Derivation
from pipeline.disagreements import Look
from pipeline.editions import Classifier as Settings
from pipeline.editions import LanguageModel
from pipeline.evidence import Signal

LOOKS: tuple[Look, ...] = ("recheck 1", "recheck 2", "prober")
SEEDS: Mapping[Look, int] = {"recheck 1": 1, "recheck 2": 2, "prober": 3, "double read": 4}
"""Added to the first reader's seed, so that a model that looks again is not the one that looked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Looker:
    """One second reader: its part, its model by name, and how that is asked."""

    look: Look
    model: str
    told: LanguageModel | None


def lookers(told: Settings) -> tuple[Looker, ...]:
    """The two re-checks and the prober of a Reimplement row, by the edition's settings; none for rules alone."""
    return tuple(looker(told, look, name) for look, name in zip(LOOKS, told.looks, strict=bool(told.looks)))


def double_reader(told: Settings, name: str | None = None) -> Looker:
    """Who reads any row a second time: the model of that name, else the edition's own by another seed."""
    return looker(told, "double read", name or told.model)


def looker(told: Settings, look: Look, name: str) -> Looker:
    if name == "embedded":
        return Looker(look=look, model=name, told=None)
    asked = told.llm or LanguageModel()
    return Looker(look=look, model=name, told=asked.model_copy(update={"seed": (asked.seed or 0) + SEEDS[look]}))


def note(row: Derivation, look: Look) -> str:
    """What a prober reads behind the paper; nothing for the others, who look as if nobody had."""
    target = row.inputs.target
    if look != "prober" or target is None:
        return ""
    missing = [s for s in Signal if s is not Signal.STANDARD and row.label(s).value is not True]
    words = {Signal.CODE: "code that runs it", Signal.DATA: "its data", Signal.WEIGHTS: "its weights"}
    lacking = ", ".join(words[s] for s in missing if row.label(s).applicable) or "nothing"
    return (
        "## A first reader found no way\n"
        f"The pinned result is {target.metric} = {target.value} of {target.config}. A first reader says that a "
        f"stranger cannot get: {lacking}. Try to prove it wrong. Search by the authors, the method's name and its "
        "earlier names; follow project pages, lists of an author's repositories, Hub organisations and archives; look "
        "for another configuration that the paper prints, supports the same claim and can be run with what is public. "
        "Cite the receipts that show a way. If there is none, answer as you find it."
    )
