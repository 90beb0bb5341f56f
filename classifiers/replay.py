"""Readings made again from an evidence pack: the same turns, no endpoint. Apart from the loop, which knows no packs."""

from __future__ import annotations

from dataclasses import dataclass

from classifiers.budget import Spent
from classifiers.models import Classifier, Way, model_for
from pipeline.editions import Classifier as Settings
from pipeline.evidence import NotRecorded
from pipeline.release.pack import Pack


@dataclass(frozen=True, slots=True)
class PackedTurns:
    """The turns that a pack holds. Raises PackError where an answer is missing or other bytes."""

    pack: Pack

    def get(self, key: str) -> bytes | None:
        held = self.pack.turns.get(key)
        return None if held is None else self.pack.blob(held)

    def put(self, key: str, answer: bytes, model: str, cost: Spent) -> None:
        raise NotRecorded(f"turn {key[:16]} of {model} is not in the evidence pack, and nobody adds to one")


def packed(told: Settings, pack: Pack) -> Classifier:
    """The edition's classifier as the pack remembers it: a turn that is not there is NotRecorded, and nobody is asked.

    Turns are found by name, so no key and no address is needed; a paper that time ended (`time_limit`) may go on
    further here than it did, since a replay takes none.
    """
    way = Way(turns=lambda paper: PackedTurns(pack), environ={}, ask=False)
    return model_for(told.model, told.llm, way)
