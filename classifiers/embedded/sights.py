"""What the policy has seen so far: the link check's receipts and its own tools' answers, as structured facts only.

Texts of READMEs and pages are never read here, so nothing in them can steer the policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from classifiers.embedded.data import DataFound
from classifiers.embedded.kind import Trained
from classifiers.embedded.reading import Reading
from classifiers.embedded.words import squeezed
from classifiers.places import Call
from classifiers.toolbox import Briefing
from pipeline import artifacts, reference
from pipeline.answers import DatasetWord
from pipeline.evidence import Outcome, Receipt, Signal
from pipeline.labels import Context, base_reached, meets_rule

_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?[bm])(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sight:
    """One receipt as the policy knows it. `id` is the real receipt's; the value rebuilt from a tool's answer lacks
    its exchanges.
    """

    id: str
    receipt: Receipt


def from_messages(messages: Sequence[ModelMessage], paper: str) -> list[Sight]:
    """The tools' answers of a conversation, in call order. Refusals and requests to retry are no sights."""
    asked: dict[str, ToolCallPart] = {}
    sights: list[Sight] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            asked |= {p.tool_call_id: p for p in message.parts if isinstance(p, ToolCallPart)}
        elif isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, ToolReturnPart) and part.outcome == "success" and part.tool_call_id in asked:
                    sight = _sight(part, asked[part.tool_call_id], paper)
                    if sight is not None:
                        sights.append(sight)
    return sights


def _sight(part: ToolReturnPart, call: ToolCallPart, paper: str) -> Sight | None:
    answer = part.content if isinstance(part.content, dict) else json.loads(part.model_response_str())
    if "receipt" not in answer:
        return None
    receipt = Receipt(
        paper=paper,
        tool=call.tool_name,
        arguments=call.args_as_dict(),
        exchanges=(),
        outcome=Outcome(answer["outcome"]),
        reason=answer["reason"],
        subject=answer["subject"],
        facts=answer["facts"],
    )
    return Sight(answer["receipt"], receipt)


def calls_made(messages: Sequence[ModelMessage]) -> list[str]:
    """Keys of all calls asked for so far, whatever came of them: none is asked twice."""
    parts = (p for m in messages if isinstance(m, ModelResponse) for p in m.parts if isinstance(p, ToolCallPart))
    return [Call.of(p.tool_name, **p.args_as_dict()).key for p in parts]


@dataclass(frozen=True, slots=True)
class View:
    """The state of an episode for the policy: what it read, what it saw, and what follows for each kind of artifact."""

    briefing: Briefing
    reading: Reading
    sights: tuple[Sight, ...]
    own: tuple[str, ...]

    @classmethod
    def of(cls, briefing: Briefing, reading: Reading, sights: Sequence[Sight]) -> View:
        """What is the paper's own is asked at every step of the policy, and follows from what was seen alone."""
        given = briefing.given
        own = artifacts.own(given.paper, [s.receipt for s in sights], bool(given.supplement))
        return cls(briefing, reading, tuple(sights), own)

    @property
    def receipts(self) -> list[Receipt]:
        return [s.receipt for s in self.sights]

    def meeting(self, signal: Signal) -> list[Sight]:
        """The sights that show code or weights in a place of the paper's own."""
        own = set(self.own)
        met: list[Sight] = []
        for sight in self.sights:
            receipt = sight.receipt
            if receipt.subject not in own or receipt.subject.startswith("hf:dataset:"):
                continue
            if signal is Signal.WEIGHTS and not self._this_size(receipt):
                continue
            alone = meets_rule(signal, receipt, Context(training_needed=self.trains))
            if alone or (signal is Signal.WEIGHTS and base_reached(receipt, self.receipts)):
                met.append(sight)
        return met

    def training(self) -> View:
        """The same view of a rerun that trains: it needs the data it is trained on, too."""
        data = self.reading.data
        both = DataFound((*data.datasets, *data.training) if data.datasets else (), data.made, ())
        return replace(self, reading=replace(self.reading, data=both))

    def making(self) -> View:
        """The same view of a target whose data the paper's own released code makes: that is where a stranger gets
        it.
        """
        word = DatasetWord(name="data made by the released code", custom=True, quote=self.reading.data.made)
        return replace(self, reading=replace(self.reading, data=DataFound((word,), "", ())))

    @property
    def trained(self) -> Trained:
        """What the paper says is trained; where it says nothing, training code or weights of its own say that
        something is."""
        said = self.reading.trained
        own = set(self.own)
        shown = any(
            r.facts.get("train_entries") or r.facts.get("weights_open")
            for r in self.receipts
            if r.subject in own and r.outcome is Outcome.AVAILABLE and not r.subject.startswith("hf:dataset:")
        )
        return Trained("trained", "") if said.kind == "none" and not said.quote and shown else said

    @property
    def trains(self) -> bool:
        return self.trained.kind != "none"

    def _this_size(self, receipt: Receipt) -> bool:
        """Another size than the target's is another model: sizes in the name against sizes in the target's words."""
        candidate = self.reading.candidate
        wanted = (
            {s.lower() for s in _SIZE.findall(f"{candidate.row_text} {candidate.column_text}")} if candidate else set()
        )
        named = {s.lower() for s in _SIZE.findall(receipt.subject.replace("-", " ").replace("_", " "))}
        return not (wanted and named and not wanted & named)

    def about(self, subjects: set[str]) -> list[Sight]:
        return [s for s in self.sights if s.receipt.subject in subjects]

    def named(self, name: str) -> list[Sight]:
        """Sights whose subject carries a data set's name."""
        return [s for s in self.sights if artifacts.names(name, s.receipt)]

    def data_sights(self, word: DatasetWord) -> list[Sight]:
        """Sights of one data set: its listed home and what carries its name, places linked beside its name, own
        places of own data.
        """
        subjects = {r.subject for r in self.receipts if artifacts.names(word.name, r)}
        subjects = {s for s in subjects if not s.startswith(("hf:model:", "search:"))}
        listed = reference.benchmark(word.name)
        if listed is not None and not word.custom:
            subjects = {s for s in subjects if s.startswith("hf:dataset:")} | {artifacts.subject(listed.home)}
        else:
            subjects |= {
                artifacts.current(artifacts.subject(link.url), self.receipts)
                for link in self.briefing.given.paper.links
                if link.visible and word.name.casefold() in f"{link.sentence} {link.visible_text}".casefold()
            }
            if word.custom:
                subjects |= {s for s in self.own if not s.startswith("hf:model:")}
        return self.about(subjects)

    def opens(self, sight: Sight) -> bool:
        """Whether a sight shows that a stranger gets data there; a gated benchmark is gated however well its page
        answers.
        """
        words = [w for w in self.reading.data.datasets if not w.custom]
        gates = {artifacts.subject(b.home): b.gate for w in words if (b := reference.benchmark(w.name)) is not None}
        context = Context(
            open_homes=frozenset(s for s, gate in gates.items() if gate == "open"),
            gated_homes=frozenset(s for s, gate in gates.items() if gate != "open"),
        )
        return meets_rule(Signal.DATA, sight.receipt, context)

    def results(self, tool: str, kind: str | None = None) -> list[str]:
        """Entries `owner/name` of the searches made so far, best first, each once."""
        made = (r for r in self.receipts if r.tool == tool and kind in (None, r.facts.get("kind")))
        return list(dict.fromkeys(str(entry) for r in made for entry in r.facts.get("results") or ()))


def carries(name: str, entry: str) -> bool:
    """Whether an entry `owner/name` of a search carries a name, spelling aside."""
    wanted = squeezed(name)
    return len(wanted) >= 3 and wanted in squeezed(entry.rpartition("/")[2] or entry)
