"""What a classifier's episode says of one paper, in the terms in which gold readers label it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from classifiers.examination import Examined
from classifiers.gold import NO_PAPER, Lines, numbers_of
from pipeline.answers import TargetWord
from pipeline.artifacts import current, subject
from pipeline.corpus import Exclusion
from pipeline.derivation import Derivation
from pipeline.evidence import Json, Receipt, Signal
from pipeline.labels import Label
from pipeline.paper import Link, Paper
from pipeline.tiers import Tier

Shown = Literal["own", "other", "hidden"]
"""own: shown by the PDF, and a place of the paper's own where code may lie. other: shown, and not so. hidden: a
comment,
an unused macro or an uncited entry, which the PDF does not show."""


@dataclass(frozen=True, slots=True)
class LinkSaid:
    subject: str
    shown: Shown
    lines: Lines
    evidence: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A compute mention. `hours`: low and high end, in hours, of one stated duration; None where none is stated."""

    lines: Lines
    quote: str
    devices: tuple[str, ...]
    hours: tuple[float, float] | None
    aside: bool


@dataclass(frozen=True, slots=True)
class Proposed:
    text: str
    numbers: tuple[float, ...]
    evidence: str


@dataclass(frozen=True, slots=True)
class SignalSaid:
    """`value` None: left open. `needed` False: the bundle shows that the target needs no such artifact."""

    value: bool | None
    needed: bool
    evidence: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What a reading took: turns of a model and tokens as its service counted them, and dollars in millionths. Rules
    take none."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.micro_usd + other.micro_usd,
        )

    def of_one(self, papers: int) -> Cost:
        """The mean over so many papers, in whole units."""
        parts = (self.requests, self.input_tokens, self.output_tokens, self.micro_usd)
        return Cost(*(round(part / papers) for part in parts)) if papers else Cost()

    def __str__(self) -> str:
        if not self.requests:
            return "no model asked"
        tokens = f"{self.input_tokens:,} tokens read, {self.output_tokens:,} written"
        return f"{self.requests:,} turns, {tokens}, ${self.micro_usd / 1e6:.4f}"

    @classmethod
    def of(cls, account: Mapping[str, Json]) -> Cost:
        return cls(*(int(account.get(name) or 0) for name in _COUNTED))


_COUNTED = ("requests", "input_tokens", "output_tokens", "micro_usd")


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One paper. `targets`: proposals, the chosen one first. `hours`: H100-hours of the target, None where unknown.
    `trouble`: why there is nothing else."""

    kind: str | None = None
    links: tuple[LinkSaid, ...] = ()
    mentions: tuple[Mention, ...] = ()
    targets: tuple[Proposed, ...] = ()
    hours: float | None = None
    tier: Tier | None = None
    tier_evidence: str = ""
    signals: dict[Signal, SignalSaid]
    kind_evidence: str = ""
    trouble: str = ""
    cost: Cost = Cost()


def said(found: Examined | Exclusion) -> Said:
    """What an examination says. A source found to hold no paper says so; any other failure says nothing."""
    if isinstance(found, Exclusion):
        no_paper = found.reason == "no_main_file"
        reason = f"{found.reason}: {found.detail}"
        return Said(kind=NO_PAPER if no_paper else None, kind_evidence=reason, signals={}, trouble=reason)
    paper, receipts, cost = found.paper, found.episode.receipts, Cost.of(found.episode.account)
    mentions = tuple(_mentions(paper))
    if isinstance(found.end, Exclusion):
        reason = f"{found.end.reason}: {found.end.detail}"
        return Said(links=_links(paper, receipts, None), mentions=mentions, signals={}, trouble=reason, cost=cost)
    inputs, answer = found.end.inputs, found.episode.answer
    words = [] if answer is None else [w for w in (answer.target, *answer.target_alternatives) if w is not None]
    by_id = {r.id: r for r in receipts}
    open_labels = [f"{one.signal}: {one.reason}" for one in found.end.labels if one.value is None]
    return Said(
        kind=inputs.paper_kind,
        kind_evidence=inputs.claim_quote,
        links=_links(paper, receipts, found.end),
        mentions=mentions,
        targets=tuple(Proposed(w.value, numbers_of(w.value), _place(w)) for w in words),
        hours=found.end.hours,
        cost=cost,
        tier=found.end.tier,
        tier_evidence="; ".join(open_labels) or ", ".join(f"{one.signal} {one.value}" for one in found.end.labels),
        signals={one.signal: SignalSaid(one.value, one.applicable, _shown(one, by_id)) for one in found.end.labels},
    )


def _links(paper: Paper, receipts: tuple[Receipt, ...], end: Derivation | None) -> tuple[LinkSaid, ...]:
    """Every link of the paper; own are those that the code signal was judged on."""
    groups = end.inputs.contexts[str(Signal.CODE)]["groups"] if end is not None else []
    own = {name for group in groups for name in group}
    return tuple(
        LinkSaid(name, _standing(link, current(name, receipts) in own), _lines(link), _link_evidence(link))
        for link in paper.links
        if (name := subject(link.url))
    )


def _standing(link: Link, own: bool) -> Shown:
    if not link.visible:
        return "hidden"
    return "own" if own else "other"


def _lines(link: Link) -> Lines:
    return Lines(link.anchor.file, link.anchor.line, max(link.anchor.line, link.anchor.end_line))


def _link_evidence(link: Link) -> str:
    return f"{link.anchor.file}:{link.anchor.line} ({link.place}) “{link.sentence[:200]}”"


def _mentions(paper: Paper) -> Iterator[Mention]:
    for one in paper.compute:
        ends = one.hours_range or ((one.hours, one.hours) if one.hours is not None else None)
        for other in (one.time_per_epoch, one.time_per_step):
            ends = ends or ((other, other) if other is not None else None)
        lines = Lines(one.anchor.file, one.anchor.line, max(one.anchor.line, one.anchor.end_line))
        yield Mention(lines, one.quote, one.devices, ends, one.denial or one.acknowledgement)


def _place(word: TargetWord) -> str:
    where = f"table {word.table}, row {word.row}, column {word.column}" if word.table else f"“{word.quote[:200]}”"
    return f"{word.value} {word.unit} {word.metric} at {where}; {word.why or word.config}".strip("; ")


def _shown(label: Label, receipts: dict[str, Receipt]) -> str:
    cited = [receipts[i] for i in label.receipts if i in receipts][:3]
    return "; ".join([label.reason, *(f"{r.tool} {r.subject}: {r.outcome}, {r.reason}" for r in cited)])
