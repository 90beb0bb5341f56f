"""Everything a release says, derived from recorded inputs, receipts, edition and ledger: one pure function.

The build calls it before the freeze and `verify` calls it on a downloaded folder; what they have in common is all that
a release can claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from pipeline.agreement import measure
from pipeline.audit import Audited, Splits, audit, replay
from pipeline.corpus import Exclusion
from pipeline.derivation import Derivation, Inputs, Rules, derive
from pipeline.editions import Edition
from pipeline.events import Entry, Event, explain, fold
from pipeline.evidence import Json, Receipt
from pipeline.release.agent_view import Figure
from pipeline.release.rows import RowError, Split, published_row
from pipeline.replacement import audited_pool, by_tier, candidate
from pipeline.row import Row
from pipeline.selection import Selection, Stratum, pool

EARLY = ("corpus", "bundles", "sample", "classification")
"""Stages whose exclusions are recorded, not derived. An exclusion of `sample` is a paper beyond the last rank."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexLine:
    """One entry of the list of accepted papers. `arxiv_id` is the version-less id of the paper it became, or "" where
    the corpus stage excluded it."""

    key: str
    arxiv_id: str
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """What a release rests on. `early`: exclusions of the stages before a derivation; `sample`: one item for each
    sampled paper that has an answer; `receipts` by id; `figures` of at least the papers in a split."""

    edition: Edition
    index: tuple[IndexLine, ...]
    early: tuple[Exclusion, ...]
    sample: tuple[Inputs, ...]
    receipts: Mapping[str, Receipt]
    entries: tuple[Entry, ...]
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Composition:
    """What follows from a material. `rows` by split, in the order of arXiv ids; `problems`: (paper, why no row);
    `entered`: who came into the pool out of its reserve, in that order, and is among `audited`."""

    derivations: tuple[Derivation, ...]
    pool: Selection
    audited: tuple[Audited, ...]
    entered: tuple[str, ...]
    events: tuple[Event, ...]
    splits: Splits
    rows: Mapping[Split, tuple[Row, ...]]
    exclusions: tuple[Exclusion, ...]
    problems: tuple[tuple[str, str], ...]

    @property
    def chosen(self) -> tuple[Audited, ...]:
        """The audited papers of both splits, in the order of arXiv ids."""
        return tuple(a for a in self.audited if self.splits.split(a.arxiv_id))


def pool_of(derivations: Sequence[Derivation], edition: Edition) -> Selection:
    """The pool by rule, from every sampled paper with a row."""
    return pool(map(candidate, derivations), edition)


def compose(material: Material) -> Composition:
    """Derive labels, pool, audited rows, splits, rows and exclusions. Never raises for a single bad paper."""
    edition, rules = material.edition, Rules.of(material.edition)
    sample = sorted(material.sample, key=lambda i: i.arxiv_id)
    derivations = tuple(derive(inputs, material.receipts, rules) for inputs in sample)
    chosen_pool = pool_of(derivations, edition)
    events = tuple(fold(material.entries))
    by_paper: dict[str, list[Event]] = {}
    for event in events:
        by_paper.setdefault(event.paper, []).append(event)
    by_id = {row.arxiv_id: row for row in derivations}
    drawn, entered = audited_pool(
        [by_id[i] for i in chosen_pool.ids],
        by_tier([by_id[i] for i in chosen_pool.reserve]),
        edition,
        lambda row: audit(row, by_paper.get(row.arxiv_id, ()), material.receipts, rules),
        events,
    )
    audited = tuple(sorted((*drawn, *entered), key=lambda a: a.arxiv_id))
    splits = replay(audited, edition, events)
    rows: dict[Split, tuple[Row, ...]] = {}
    problems: list[tuple[str, str]] = []
    for split in ("eval", "dev"):
        made: list[Row] = []
        for paper in audited:
            if splits.split(paper.arxiv_id) != split:
                continue
            try:
                made.append(published_row(paper, split, edition))
            except ValidationError as error:
                problems.append((paper.arxiv_id, explain(error)))
            except RowError as error:
                problems.append((paper.arxiv_id, str(error)))
        rows[split] = tuple(made)
    late = _left_out(derivations, chosen_pool, audited, splits)
    return Composition(
        derivations=derivations,
        pool=chosen_pool,
        audited=audited,
        entered=tuple(row.arxiv_id for row in entered),
        events=events,
        splits=splits,
        rows=rows,
        exclusions=tuple(sorted((*material.early, *late), key=lambda e: (e.key, e.stage))),
        problems=tuple(problems),
    )


def _left_out(
    derivations: Sequence[Derivation], chosen_pool: Selection, audited: Sequence[Audited], splits: Splits
) -> list[Exclusion]:
    """The one stage and reason for which each derived paper outside the splits is there."""
    by_id = {paper.arxiv_id: paper for paper in audited}
    last = {change.left: change for change in splits.changes}
    pool_reasons, split_reasons = chosen_pool.reasons, splits.by_rule.reasons
    found: list[Exclusion] = []
    for row in derivations:
        paper = row.arxiv_id
        if splits.split(paper):
            continue
        if row.ineligible:
            because = ("selection", "not eligible", "; ".join(row.ineligible))
        elif paper not in by_id:
            because = ("selection", "not in the pool", pool_reasons[paper])
        elif paper in last:
            event = last[paper].event
            because = ("audit", "dropped" if event.kind == "drop" else "replaced", event.why)
        elif by_id[paper].excluded:
            because = ("audit", "not eligible", by_id[paper].excluded or "")
        else:
            because = ("release", "reserve", split_reasons[paper])
        stage, reason, detail = because
        found.append(Exclusion(key=paper, title=row.inputs.title, stage=stage, reason=reason, detail=detail))
    return found


def funnel(material: Material, made: Composition) -> dict[str, Json]:
    """How many papers each stage saw and let through; `index` is the sum of both splits and all exclusions."""
    lost: dict[str, Counter[str]] = {}
    for one in made.exclusions:
        lost.setdefault(one.stage, Counter())[one.reason] += 1
    chosen = [change.to_json() for change in made.splits.changes if change.chosen]
    by_scoring = [a for a in made.chosen if a.score_needs != a.score_published]
    return {
        "index": len(material.index),
        "excluded": {stage: dict(sorted(reasons.items())) for stage, reasons in sorted(lost.items())},
        "derived": len(made.derivations),
        "eligible": sum(d.eligible for d in made.derivations),
        "pool": len(made.pool.ids),
        "entered": list(made.entered),
        "decided": sum(a.standing.state == "decided" for a in made.audited),
        "overturned": sum(bool(a.overturned) for a in made.audited),
        "eval": len(made.splits.eval),
        "dev": len(made.splits.dev),
        # A replacement that a person chose against the rule stands where whoever counts the papers looks.
        **({"chosen": chosen} if chosen else {}),
        "scores_differ": sorted(a.arxiv_id for a in by_scoring),
        "strata": {
            "pool": [_stratum(s) for s in made.pool.strata],
            "eval": [_stratum(s) for s in made.splits.by_rule.strata],
            "dev": [_stratum(s) for s in made.splits.dev_by_rule.strata],
        },
        "shortfall": {
            "pool": _short(made.pool),
            "eval": _short(made.splits.by_rule),
            "dev": _short(made.splits.dev_by_rule),
        },
    }


def agreement(material: Material, made: Composition) -> dict[str, Json]:
    """How far people agree about the pool's rows as they now are."""
    rows = {a.arxiv_id: a.derivation.row_hash for a in made.audited}
    return measure(rows, made.events, material.edition.seed).to_json()


def _stratum(s: Stratum) -> dict[str, Json]:
    return {
        "tier": s.tier.value,
        "band": s.band,
        "supply": s.supply,
        "quota": s.quota,
        "want": s.want,
        "taken": s.taken,
        "cascaded": [list(pair) for pair in s.cascaded],
        "topped_up": s.topped_up,
        "inclusion": s.inclusion,
    }


def _short(selection: Selection) -> dict[str, int]:
    return {tier.value: n for tier, n in selection.shortfall.items() if n}
