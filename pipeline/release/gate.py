"""The validators: each one rule over the files of a release, by name. All pass, or nothing is frozen.

`FOLDER` needs nothing but the release's own tables, and `verify` runs it again on a downloaded folder. `PAPERS` also
needs the papers' sources, `FREEZE` what only the build knows: when evidence was seen, whether its tables are current.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.corpus import UNDETERMINED
from pipeline.paper import Paper
from pipeline.release.case import Case
from pipeline.release.gate_rows import (
    agents_untold,
    inventory_reasoned,
    receipts_entail,
    receipts_resolve,
    receipts_rest,
    row_schema,
    targets_gradeable,
    targets_ruled,
)
from pipeline.release.gate_splits import (
    all_accounted,
    bands_follow,
    caps_hold,
    eligible_rows,
    ledger_whole,
    pool_decided,
    replacements_ruled,
    sampled_by_rank,
    sizes_hold,
    splits_disjoint,
    tiers_follow,
)
from pipeline.release.report import Check, Report, Tally, tried
from pipeline.targets import at_anchor

REFRESH = "`reclaim build EDITION --refresh` asks for it anew"
"""What makes evidence new: a build answers every question of one `as_of` from the record, once it was asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """What only the build knows.

    `papers`: a sampled paper's source, read, or None where it cannot be. `seen`: when each receipt's exchanges were
    last seen, by receipt id; the oldest of them counts. `stages`: (stage, its output's print, what it should be).
    `unfinished`: stages that left papers for the next build.
    """

    papers: Callable[[str], Paper | None]
    seen: Mapping[str, datetime]
    frozen_at: datetime
    stages: tuple[tuple[str, str | None, str], ...]
    unfinished: tuple[str, ...] = ()


def targets_anchored(case: Case, papers: Callable[[str], Paper | None]) -> Check:
    tally = Tally("every target is printed at its anchor")
    for one in case.made.chosen:
        paper, target = papers(one.arxiv_id), one.inputs.target
        wrong: list[str] = []
        if paper is None:
            wrong.append("its source cannot be read")
        elif target is None or not at_anchor(target, paper):
            wrong.append(f"{target and target.value!r} is not printed at {target and target.anchor}")
        elif paper.find(one.inputs.claim_quote) is None:
            wrong.append("the claim's quote is not in the source")
        tally.look(one.arxiv_id, wrong)
    return tally.done()


def inventory_whole(case: Case, papers: Callable[[str], Paper | None]) -> Check:
    """The candidates are the source's results tables and figures: none left out, none made up."""
    tally = Tally("candidates are the paper's inventory")
    for one in case.made.chosen:
        paper = papers(one.arxiv_id)
        listed = Counter(choice.item for choice in one.inputs.inventory)
        there = Counter(f"{item.kind} {item.number}" for item in (() if paper is None else paper.inventory))
        wrong = [f"{item} is not in the source" for item in sorted(listed - there)]
        wrong += [f"{item} of the source is left out" for item in sorted(there - listed)]
        tally.look(one.arxiv_id, ["its source cannot be read"] if paper is None else wrong)
    return tally.done()


def receipts_fresh(case: Case, given: Given) -> Check:
    tally = Tally("receipts of split rows are not older than the edition allows")
    days = case.material.edition.max_receipt_age_days
    oldest = given.frozen_at - timedelta(days=days)
    for paper in case.made.chosen:
        for id_ in dict.fromkeys(i for label in paper.labels for i in label.receipts):
            seen = given.seen.get(id_)
            wrong = []
            if seen is None:
                wrong = [f"receipt {id_[:16]} was never seen"]
            elif seen < oldest:
                wrong = [f"receipt {id_[:16]} is older than {days} days (seen {seen:%Y-%m-%d}); {REFRESH}"]
            tally.look(paper.arxiv_id, wrong)
    return tally.done()


def nothing_pending(case: Case, given: Given) -> Check:
    """No paper is left out for want of an answer, and no stage has papers left to look at."""
    tally = Tally("nothing was left undetermined or unfinished")
    for row in case.made.derivations:
        tally.look(row.arxiv_id)
    for one in case.made.exclusions:
        waits = one.reason == UNDETERMINED
        tally.look(
            one.key, [f"is excluded in {one.stage} as undetermined ({one.detail}); build again"] if waits else []
        )
    for stage in given.unfinished:
        tally.look(stage, ["has papers left to look at; build again"])
    return tally.done()


def stages_current(case: Case, given: Given) -> Check:
    tally = Tally("every stage's output is current")
    for stage, recorded, current in given.stages:
        stale = "has no output" if recorded is None else "is stale; build again" if recorded != current else ""
        tally.look(stage, [stale] if stale else [])
    return tally.done()


FOLDER: tuple[Callable[[Case], Check], ...] = (
    row_schema,
    receipts_resolve,
    receipts_rest,
    receipts_entail,
    targets_gradeable,
    targets_ruled,
    agents_untold,
    inventory_reasoned,
    ledger_whole,
    pool_decided,
    tiers_follow,
    bands_follow,
    caps_hold,
    eligible_rows,
    sizes_hold,
    splits_disjoint,
    replacements_ruled,
    sampled_by_rank,
    all_accounted,
)
PAPERS: tuple[Callable[[Case, Callable[[str], Paper | None]], Check], ...] = (targets_anchored, inventory_whole)
FREEZE: tuple[Callable[[Case, Given], Check], ...] = (receipts_fresh, nothing_pending, stages_current)


def gate(case: Case, given: Given) -> Report:
    """Run every validator, never raising. The release may be frozen if the report is ok."""
    return Report(
        (
            *(tried(check, case) for check in FOLDER),
            *(tried(check, case, given.papers) for check in PAPERS),
            *(tried(check, case, given) for check in FREEZE),
        )
    )
