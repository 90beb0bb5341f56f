"""Replay: every receipt of a release made again by its tool, from the evidence pack and from nothing else.

The tools run as they did in the build, over a recorder that may only remember. A receipt is answered with what it says
it rests on: an exchange that its tool asks for and it does not name is missing, one that it names and the tool does not
ask for is a difference.
"""

from __future__ import annotations

import hashlib
import inspect
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from pathlib import Path
from typing import NamedTuple

import httpx2
import sqlalchemy as sa

from pipeline import reference
from pipeline.editions import Edition
from pipeline.evidence import Json, NotRecorded, Outcome, Receipt, canonical
from pipeline.record import Sighting, request_of
from pipeline.record_tables import exchanges, receipts, sightings
from pipeline.release.case import Case
from pipeline.release.folder import same
from pipeline.release.pack import BLOBS, Pack, PackError
from pipeline.release.report import Report, Tally
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.probes import CALLABLE, PaperFacts, Probed, Probes
from pipeline.sources.recorder import Recorder
from pipeline.sources.web_search import KEY, Engine
from pipeline.store import Store

CHECK = "receipts come back from recorded evidence"
_TOKEN = "a-token-that-replay-sends-to-nobody"


def replay(case: Case, pack: Pack | None, came_back: dict[str, bool] | None = None) -> Report:
    """Call every receipt's tool with its arguments, and compare what comes back field by field and fact by fact;
    `came_back` is filled with whether it is the same, by receipt id.

    Receipts of calls that reached no tool (links over the bound of the link check, crashed tools, arguments that are no
    text) prove nothing and are skipped; a note says how many.
    """
    tally = Tally(CHECK)
    if pack is None:
        tally.look("the evidence pack", ["there is none that could be replayed from; give one with --evidence"])
        return Report((tally.done(),))
    skipped: Counter[str] = Counter()
    by_paper: dict[str, list[Receipt]] = {}
    for receipt in case.material.receipts.values():
        by_paper.setdefault(receipt.paper, []).append(receipt)
    with tempfile.TemporaryDirectory(prefix="reclaim-replay-") as folder:
        memory = Memory(case.material.edition, pack, Path(folder))
        for paper in sorted(by_paper):
            asked = [r for r in by_paper[paper] if not no_call(r)]
            skipped.update(no_call(r) for r in by_paper[paper] if no_call(r))
            tools = memory.tools(paper) if asked else ""
            for receipt in asked:
                call = f"{receipt.tool} {canonical(dict(receipt.arguments))[:300]}"
                problems = [tools] if isinstance(tools, str) else memory.differences(receipt, tools)
                tally.look(paper, [f"{call}: {problem}" for problem in problems])
                if came_back is not None:
                    came_back[receipt.id] = not problems
    return Report((tally.done(),), _notes(skipped))


def _notes(skipped: Mapping[str, int]) -> tuple[str, ...]:
    if not skipped:
        return ()
    listed = ", ".join(f"{count} {why}" for why, count in sorted(skipped.items()))
    return (f"{sum(skipped.values())} receipts of calls that reached no tool were not replayed: {listed}",)


def no_call(receipt: Receipt) -> str:
    """Why no tool can be called for this receipt again, or "". Such a receipt is undetermined and rests on nothing."""
    if receipt.outcome is not Outcome.UNDETERMINED or receipt.exchanges:
        return ""
    word = receipt.reason.partition(":")[0]
    if word in ("not_probed", "tool_crashed"):
        return word
    return "invalid_argument" if receipt.reason.endswith("must be text") else ""


class Tools(NamedTuple):
    """A paper's tools as a stranger calls them, and as one does whom GitHub knows: those also ask as a stranger."""

    stranger: Probes
    known: Probes


class Memory:
    """A recorder over the exchanges of one receipt at a time, and the tools of one paper at a time over it."""

    def __init__(self, edition: Edition, pack: Pack, folder: Path) -> None:
        self._pack = pack
        self._store = Store(folder)  # in a file, since a loop calls its tools from any thread
        self._store.blobs = PackBlobs(pack)
        self._recorder = Recorder(
            self._store,
            SimulatedClock(datetime.combine(edition.as_of, time(), tzinfo=UTC)),
            run="replay",
            epoch="replay",
            transport=httpx2.BaseTransport(),  # leads nowhere
            mode="replay",
            second_look_hours=edition.second_look_hours,
        )
        self._walls = reference.walls()
        self._search = None if edition.classifier.llm is None else edition.classifier.llm.web_search
        self._answers = _histories(pack)

    def tools(self, paper: str) -> Tools | str:
        """The tools of a paper, or why the pack does not have what they read."""
        held, read = self._pack.papers.get(paper), self._pack.paper(paper)
        if held is None or read is None:
            return "the paper's source is not in the pack, or not whole"
        try:
            supplement = self._pack.files(held.supplement)
        except PackError as error:
            return f"the paper's supplement is not whole in the pack: {error}"
        facts = PaperFacts(title=read.title or held.title, arxiv_id=paper, authors=held.authors)
        given = (paper, self._recorder, supplement, facts, self._walls)
        known = Engine.of(self._search, {KEY: _TOKEN})
        return Tools(Probes(*given, engine=Engine.of(self._search, {})), Probes(*given, _TOKEN, known))

    def recall(self, receipt: Receipt | None, tools: Tools, tool: str, arguments: Mapping[str, Json]) -> Probed:
        """What a tool gives at the moment of a receipt, or, where it gives that at none, at its last; without a
        receipt, what it gives without the world. Raises NotRecorded.
        """
        first: Probed | NotRecorded | None = None
        for held in ((),) if receipt is None else self._moments(receipt):
            try:
                again = self._again(held, tools, tool, arguments)
            except NotRecorded as missing:
                first = first or missing
                continue
            if receipt is None or not any(self._unlike(receipt, again.receipt)):
                return again
            first = first or again
        if isinstance(first, Probed):
            return first
        raise first or NotRecorded(f"{tool} {canonical(dict(arguments))[:300]} is not in the record")

    def _again(self, held: Sequence[Sighting], tools: Tools, tool: str, arguments: Mapping[str, Json]) -> Probed:
        self._hold_only(held)
        probes = tools.known if any(seen.exchange.authenticated for seen in held) else tools.stranger
        return probes.call(tool, arguments)

    def differences(self, receipt: Receipt, tools: Tools) -> list[str]:
        """What the tool does not give again at any moment at which the receipt can have been made.

        Whether a thing is gone depends on how often it was seen so. An exchange that was seen several times is taken at
        its last sighting, then at earlier ones, for as long as something differs.
        """
        tries = (self._difference(receipt, tools, held) for held in self._moments(receipt))
        first = next(tries)
        return [] if not first or not all(tries) else first

    def _difference(self, receipt: Receipt, tools: Tools, held: Sequence[Sighting]) -> list[str]:
        try:
            again = self._again(held, tools, receipt.tool, receipt.arguments).receipt
        except NotRecorded as missing:
            return [str(missing)]
        except Exception as fault:  # forged arguments or evidence may break a tool in any way
            return [f"cannot be called again ({type(fault).__name__}: {fault})"]
        return list(self._unlike(receipt, again))

    def _moments(self, receipt: Receipt) -> Iterator[list[Sighting]]:
        """What was known of the receipt's requests when each of its exchanges was last seen, and before that."""
        known = [self._pack.exchanges[id_] for id_ in dict.fromkeys(receipt.exchanges) if id_ in self._pack.exchanges]
        histories = [(self._answers.get(request_of(e), ()), e) for e in known]
        places = [[n for n, seen in enumerate(all_) if seen.exchange.id == e.id] for all_, e in histories]
        for back in range(max(map(len, places), default=1) or 1):
            cuts = (there[max(-1 - back, -len(there))] + 1 if there else 0 for there in places)
            yield [seen for (all_, _), cut in zip(histories, cuts, strict=True) for seen in all_[:cut]]

    def _hold_only(self, held: Sequence[Sighting]) -> None:
        with self._store.engine.begin() as connection:
            for table in (sightings, exchanges, receipts):
                connection.execute(sa.delete(table))
        for seen in held:
            self._recorder.record.put_exchange(
                seen.exchange,
                seen_at=seen.seen_at,
                attempt=seen.attempt,
                run=seen.run,
                epoch=seen.epoch,
                headers=seen.headers,
            )

    def _unlike(self, receipt: Receipt, again: Receipt) -> Iterator[str]:
        for name in ("outcome", "reason", "subject", "arguments"):
            then, now = receipt.to_json()[name], again.to_json()[name]
            if not same(then, now):
                yield f"{name} is {_short(then)}, replayed {_short(now)}"
        for name in sorted(receipt.facts.keys() | again.facts.keys()):
            if name not in again.facts or name not in receipt.facts:
                which = "replay does not show it" if name in receipt.facts else "only replay shows it"
                yield f"facts.{name}: {which}"
            elif not same(receipt.facts[name], again.facts[name]):
                yield f"facts.{name} is {_short(receipt.facts[name])}, replayed {_short(again.facts[name])}"
        if receipt.exchanges != again.exchanges:
            idle = [id_ for id_ in receipt.exchanges if id_ not in again.exchanges]
            named = [self._pack.exchanges.get(id_) for id_ in idle]
            asked = ", ".join(f"{e.method} {e.url}" if e else "one that is not in the pack" for e in named[:5])
            yield f"rests on exchanges that its tool does not ask for: {asked}" if idle else "asks in another order"


class Recalled:
    """A paper's tools as one of its episodes called them: each call is answered as it was then, in call order."""

    def __init__(self, memory: Memory, tools: Tools, receipts: Sequence[Receipt]) -> None:
        self._memory, self._tools = memory, tools
        self._left = [r for r in receipts if no_call(r) != "not_probed"]

    def __getattr__(self, tool: str) -> Callable[..., Probed]:
        if tool not in CALLABLE:
            raise AttributeError(tool)
        return lambda **arguments: self._call(tool, arguments)

    def _call(self, tool: str, given: Mapping[str, Json]) -> Probed:
        bound = inspect.signature(getattr(self._tools.stranger, tool)).bind(**given)
        bound.apply_defaults()
        spelled = (canonical(dict(given)), canonical(dict(bound.arguments)))
        receipt = next((r for r in self._left if r.tool == tool and canonical(dict(r.arguments)) in spelled), None)
        if receipt is not None:
            self._left.remove(receipt)
            if no_call(receipt) == "tool_crashed":
                return Probed(receipt, {})
        return self._memory.recall(receipt, self._tools, tool, given)


class PackBlobs:
    """The pack's blobs as a store's, read only. What is missing or damaged is not recorded."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack

    def put(self, data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    def get(self, sha256: str) -> bytes:
        try:
            return self._pack.blob(sha256)
        except PackError as error:
            raise NotRecorded(f"{error}; replay needs the evidence of that run") from None

    def has(self, sha256: str) -> bool:
        return BLOBS + sha256 in self._pack.names


def _histories(pack: Pack) -> dict[str, tuple[Sighting, ...]]:
    """All sightings of a request, oldest first, by request."""
    found: dict[str, list[Sighting]] = {}
    for seen in pack.sightings:
        exchange = pack.exchanges.get(seen.exchange)
        if exchange is not None:
            sighting = Sighting(
                exchange=exchange, seen_at=seen.at, attempt=seen.attempt, run="", epoch="", headers=seen.headers
            )
            found.setdefault(request_of(exchange), []).append(sighting)
    for listed in found.values():
        listed.sort(key=lambda s: (s.seen_at, s.attempt, s.exchange.id))
    return {request: tuple(listed) for request, listed in found.items()}


def _short(value: Json) -> str:
    return f"{canonical(value):.200}"
