"""Readings made again from an evidence pack: the same turns, the same tool results, no endpoint and no network.

Apart from the loop, which knows no packs. Second looks and double reads are episodes of others, whose proposals a
release cites by receipt; a pack holds the sampled papers' own episodes, and those are what is made again.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from classifiers.agent import run_episode
from classifiers.budget import Spent
from classifiers.models import Classifier, Way, limits_of, model_for
from classifiers.prompt import latex_of, texts_of
from classifiers.toolbox import PaperInput
from pipeline.answers import Episode
from pipeline.editions import Classifier as Settings
from pipeline.evidence import Json, NotRecorded, canonical
from pipeline.release.case import Case
from pipeline.release.folder import same
from pipeline.release.pack import Pack, PackError
from pipeline.release.report import Report, Tally
from pipeline.sources.replay import Memory, Recalled

CHECK = "readings come back from recorded turns and tool results"


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

    Turns are found by name, so no key and no address is needed; when the clock ended a paper, its account says.
    """
    way = Way(turns=lambda paper: PackedTurns(pack), environ={}, ask=False)
    late = {paper: episode.account.get("late") or {} for paper, episode in pack.episodes.items()}
    return replace(model_for(told.model, told.llm, way), late=lambda paper: late.get(paper, {}))


def readings(case: Case, pack: Pack | None) -> Report:
    """Run the loop again for every paper that has an episode in the pack, and hold the whole episode against it."""
    tally = Tally(CHECK)
    if pack is None:
        tally.look("the evidence pack", ["there is none that could be replayed from; give one with --evidence"])
        return Report((tally.done(),))
    edition = case.material.edition
    reader = packed(edition.classifier, pack)
    with tempfile.TemporaryDirectory(prefix="reclaim-readings-") as folder:
        memory = Memory(edition, pack, Path(folder))
        for paper, episode in sorted(pack.episodes.items()):
            tally.look(paper, _differences(episode, reader, edition.classifier, pack, memory))
    return Report((tally.done(),))


def _differences(episode: Episode, reader: Classifier, told: Settings, pack: Pack, memory: Memory) -> Iterator[str]:
    """What differs when one paper is read again; one difference an aspect, in words."""
    given, tools = _given(episode, reader, pack), memory.tools(episode.paper)
    if given is None or isinstance(tools, str):
        # A source that cannot be read has an episode that says so, and nothing to run again.
        if episode.answer is not None or episode.receipts:
            yield tools if isinstance(tools, str) else "its source is not in the pack, or not whole"
        return
    recalled = Recalled(memory, tools, episode.receipts)
    try:
        again = asyncio.run(run_episode(given, recalled, reader, limits_of(told), episode.passes))
    except (NotRecorded, PackError) as missing:
        yield str(missing)
        return
    then, now = episode.to_json(), again.to_json()
    for name in sorted(then.keys() | now.keys()):
        if not same(then.get(name), now.get(name)):
            yield f"{name} is {_short(then.get(name))}, read again {_short(now.get(name))}"


def _given(episode: Episode, reader: Classifier, pack: Pack) -> PaperInput | None:
    """What the episode read, as the build hands it in; None where the pack does not hold it whole."""
    held, paper = pack.papers.get(episode.paper), pack.paper(episode.paper)
    if held is None or paper is None:
        return None
    supplement = pack.files(held.supplement)
    shows_all = reader.style == "published"
    return PaperInput(
        record=episode.paper,
        bundle=episode.bundle,
        paper=paper,
        supplement=tuple((path, len(supplement[path])) for path in sorted(supplement)),
        texts=texts_of(supplement, code=shows_all) if reader.endpoint else (),
        latex=latex_of(pack.files(held.source)) if shows_all else "",
    )


def _short(value: Json) -> str:
    return f"{canonical(value):.200}"
