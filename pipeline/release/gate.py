"""The validators: each one rule over the files of a release, by name. All pass, or nothing is frozen.

`FOLDER` needs nothing but the release's own tables, and `verify` runs it again on a downloaded folder. `PAPERS` also
needs the papers' sources, `FREEZE` what only the build knows: when evidence was seen, whether its tables are current.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, get_args

from pydantic import ValidationError

from pipeline import compute, events, tiers
from pipeline.answers import Passed
from pipeline.audit import Audited, unsupported
from pipeline.corpus import UNDETERMINED
from pipeline.editions import sample_order
from pipeline.events import explain
from pipeline.evidence import Json, Outcome, Signal, Status, Verification
from pipeline.paper import Paper
from pipeline.release.compose import Composition, Material
from pipeline.release.report import Check, Report, Tally
from pipeline.release.tables import Lines
from pipeline.row import Row
from pipeline.targets import Bar, Target, at_anchor, make_bar, problems, scale_of
from pipeline.tiers import SELECTABLE

PASSED = get_args(Passed)
SUPPLEMENT_TOOL = "supplement_file"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What the validators look at: the recorded material, what follows from it, and the tables as they stand."""

    material: Material
    made: Composition
    lines: Mapping[str, Lines]

    @property
    def rows(self) -> Lines:
        return [*self.lines["eval"], *self.lines["dev"]]

    @property
    def audited(self) -> dict[str, Audited]:
        return {paper.arxiv_id: paper for paper in self.made.audited}


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


def row_schema(case: Case) -> Check:
    tally = Tally("every row has exactly the 25 fields, in their types")
    for line in case.rows:
        tally.look(str(line.get("custom_id")), _invalid(line))
    for paper, problem in case.made.problems:
        tally.look(paper, [problem])
    return tally.done()


def _invalid(line: Mapping[str, Json]) -> Iterable[str]:
    try:
        Row.model_validate(line)
    except ValidationError as error:
        yield explain(error)


def receipts_resolve(case: Case) -> Check:
    """Every receipt that an episode, a label or a person's answer rests on is there, and is this paper's own."""
    tally = Tally("receipts resolve")
    held = case.material.receipts
    for row in case.made.derivations:
        cited = {i for label in row.labels for i in label.receipts}
        for id_ in dict.fromkeys((*row.inputs.receipts, *sorted(cited))):
            receipt = held.get(id_)
            wrong = "is missing" if receipt is None else "is another paper's" if receipt.paper != row.arxiv_id else ""
            tally.look(row.arxiv_id, [f"receipt {id_[:16]} {wrong}"] if wrong else [])
    return tally.done()


def receipts_rest(case: Case) -> Check:
    """Nothing was reached without an exchange: only the supplement is read without the network, and it shows nothing
    but itself."""
    tally = Tally("what receipts found rests on exchanges")
    for receipt in case.material.receipts.values():
        inside = receipt.subject.startswith("supplement:")
        wrong = ""
        if (receipt.tool == SUPPLEMENT_TOOL) != inside:
            wrong = f"receipt {receipt.id[:16]} of {receipt.tool} is about {receipt.subject}"
        elif receipt.outcome is Outcome.AVAILABLE and not inside and not receipt.exchanges:
            wrong = f"receipt {receipt.id[:16]} of {receipt.tool} found {receipt.subject} without an exchange"
        tally.look(receipt.paper, [wrong] if wrong else [])
    return tally.done()


def receipts_entail(case: Case) -> Check:
    """Every published signal is what receipts (or a person, citing one) say, in the words they allow."""
    tally = Tally("labels follow from receipts and decisions")
    for line in case.rows:
        paper = case.audited.get(line["custom_id"])
        for signal in Signal:
            tally.look(line["custom_id"], _unentailed(line, paper, signal))
    for one in case.made.audited:  # also of rows in no split: an answer may be why they are in none
        tally.look(one.arxiv_id, unsupported(one, case.material.receipts))
    return tally.done()


def _unentailed(line: Mapping[str, Any], paper: Audited | None, signal: Signal) -> Iterable[str]:
    said = line["signals"][str(signal)]
    if paper is None:
        yield f"{signal} has no derivation"
        return
    label = paper.label(signal)
    if label.status is Status.UNVERIFIED:
        yield f"{signal} is unverified: {label.reason}"
    if (said["value"], said["verification"]) != (label.value, str(label.verification)):
        yield (
            f"{signal} says {said['value']} ({said['verification']}), "
            f"its receipts say {label.value} ({label.verification})"
        )
    if not label.receipts and label.verification is not Verification.NOT_APPLICABLE:
        yield f"{signal} stands without a receipt"


def targets_gradeable(case: Case) -> Check:
    tally = Tally("every target can be graded by code")
    targets = {line["custom_id"]: line for line in case.lines["targets"]}
    for line in case.rows:
        tally.look(line["custom_id"], _ungradeable(line, targets.get(line["custom_id"])))
    return tally.done()


def _ungradeable(line: Mapping[str, Any], stored: Mapping[str, Json] | None) -> Iterable[str]:
    if stored is None:
        yield "has no machine-readable target"
        return
    try:
        target = Target.model_validate({k: v for k, v in stored.items() if k not in ("custom_id", "split")})
    except ValidationError as error:
        yield f"its target is none: {explain(error)}"
        return
    yield from problems(target)
    shown = line["match_target"]
    for field, value in (("config", target.config), ("metric", target.metric), ("value", target.value)):
        if shown[field] != value:
            yield f"the row shows the {field} {shown[field]!r}, its target has {value!r}"
    if shown["match_bar_kind"] != target.bar.kind:
        yield f"the row shows a {shown['match_bar_kind']} bar, its target has {target.bar.kind}"


def targets_ruled(case: Case) -> Check:
    """A target is read from the paper's own source, and its bar is the rule's under the edition's tolerance, unless a
    person gave another bar or target."""
    tally = Tally("targets are of the paper's source, with the bar of the edition's tolerance")
    relative = case.material.edition.tolerance_relative
    for paper in case.made.chosen:
        target, decisions = paper.inputs.target, paper.standing.decisions
        if target is None:
            tally.look(paper.arxiv_id, ["has no target"])
            continue
        own = target.anchor.source_sha256 == paper.inputs.source_sha256
        wrong = [] if own else ["its target is anchored in another source"]
        given = any(q in decisions and isinstance(decisions[q].value, dict) for q in _BAR_QUESTIONS)
        if not given and target.bar != (due := _bar(target, relative)):
            wrong.append(f"its bar is {target.bar!r}, by rule {due!r}")
        tally.look(paper.arxiv_id, wrong)
    return tally.done()


_BAR_QUESTIONS: tuple[events.Question, ...] = ("target", "bar")


def _bar(target: Target, relative: float) -> Bar | None:
    """The bar that a target's own numbers give; percent have a scale of 100, as where the target is first read."""
    return make_bar(
        target.bar.kind,
        number=target.number,
        direction=target.direction,
        uncertainty=target.uncertainty,
        baseline=target.baseline,
        relative=relative,
        low=target.bar.low,
        high=target.bar.high,
        scale=scale_of(target.value, target.unit, target.metric),
    )


def inventory_reasoned(case: Case) -> Check:
    """Every results table and figure of a split paper is chosen or passed over, in a word of the guide; chosen is the
    table that prints the classifier's target, and none where running text prints it."""
    tally = Tally("every candidate is chosen or passed over with a reason")
    for paper in case.made.chosen:
        inputs = paper.derivation.inputs  # a person's correction moves the target, not what the classifier chose
        for choice in inputs.inventory:
            wrong = [] if choice.reason in PASSED else [f"{choice.item} has no reason of the guide: {choice.reason!r}"]
            tally.look(paper.arxiv_id, wrong)
        table = None if inputs.target is None else inputs.target.anchor.table
        due = [] if table is None else [f"table {table}"]
        picked = [choice.item for choice in inputs.inventory if choice.reason == "chosen"]
        where = "running text" if table is None else due[0]
        wrong = [] if picked == due else [f"its target is printed in {where}, and chosen is {picked or 'nothing'}"]
        tally.look(paper.arxiv_id, wrong)
    return tally.done()


def pool_decided(case: Case) -> Check:
    tally = Tally("every pool row is decided on its present hash")
    for paper in case.made.audited:
        state, open_ = paper.standing.state, paper.standing.open
        wrong = [] if state == "decided" else [f"{state}: {', '.join(f'{q} {s}' for q, s in open_.items())}"]
        tally.look(paper.arxiv_id, wrong)
    return tally.done()


def ledger_whole(case: Case) -> Check:
    tally = Tally("the ledger's chains are whole")
    for entry in case.material.entries:
        tally.look(entry.event.paper)
    for problem in events.verify_chain(case.material.entries, case.material.edition.name):
        tally.look("ledger", [problem])
    return tally.done()


def caps_hold(case: Case) -> Check:
    tally = Tally("hours are within the caps")
    edition = case.material.edition
    hours = {row.arxiv_id: row.hours for row in case.made.derivations}
    for paper in case.made.pool.ids:
        tally.look(paper, _over(hours.get(paper), edition.pool_cap_hours, "pool"))
    for line in case.rows:
        tally.look(line["custom_id"], _over(line["audited_h100_hours"], edition.split_cap_hours, "split"))
    return tally.done()


def _over(hours: float | None, cap: float, of: str) -> Iterable[str]:
    if hours is None or not 0 <= hours <= cap:
        yield f"{hours} H100-hours are not within the {of}'s cap of {cap:g}"


def tiers_follow(case: Case) -> Check:
    """Score and tier of each row, from the row's own published signals alone."""
    tally = Tally("score and tier follow from the signals")
    scoring = case.material.edition.scoring
    for line in case.rows:
        read = {
            str(s): tiers.Signal(
                line["signals"][str(s)]["value"], line["signals"][str(s)]["verification"] != "not_applicable"
            )
            for s in Signal
        }
        score = tiers.score(read, scoring, line["paper_kind"])
        tier = tiers.tier(score, read, scoring, line["paper_kind"])
        wrong = [] if line["score"] == score else [f"score {line['score']}, its signals give {score}"]
        word = None if tier is None else tier.row_word
        wrong += [] if line["tier"] == word else [f"tier {line['tier']}, its signals give {word}"]
        tally.look(line["custom_id"], wrong)
    return tally.done()


def bands_follow(case: Case) -> Check:
    tally = Tally("bands follow from the hours")
    for line in case.rows:
        band = compute.band(line["audited_h100_hours"], case.material.edition.band_edges_hours)
        tally.look(
            line["custom_id"],
            [
                f"{field} {line[field]}, its hours give {band}"
                for field in ("h100_band", "selection_band")
                if line[field] != band
            ],
        )
    return tally.done()


def sizes_hold(case: Case) -> Check:
    """Each tier of each split has its quota, less what the pool could not supply and what was dropped."""
    tally = Tally("split sizes are the edition's, less what is said to be short")
    splits = case.made.splits
    for split, selection in (("eval", splits.by_rule), ("dev", splits.dev_by_rule)):
        gaps = Counter(
            row["tier"]
            for change in splits.changes
            if change.split == split and change.entered is None
            for row in selection.rows.to_dicts()
            if row["arxiv_id"] == change.left
        )
        found = Counter(line["tier"] for line in case.lines[split])
        for tier in SELECTABLE:
            due = sum(s.taken for s in selection.strata if s.tier is tier) - gaps[tier.value]
            have = found[tier.row_word]
            if due or have:  # splits without any row are nothing to check, and so a failure
                tally.look(f"{split} {tier}", [] if have == due else [f"{have} rows, the rule gives {due}"])
    return tally.done()


def splits_disjoint(case: Case) -> Check:
    tally = Tally("no paper is in two splits or twice in one")
    times = Counter(line["custom_id"] for line in case.rows)
    for split in ("eval", "dev"):
        for line in case.lines[split]:
            wrong = ["stands more than once in the splits"] if times[line["custom_id"]] > 1 else []
            wrong += [] if line["split"] == split else [f"is in {split} and says {line['split']}"]
            tally.look(line["custom_id"], wrong)
    return tally.done()


def replacements_ruled(case: Case) -> Check:
    """Every replacement came from the ranked reserve, by rule. Most editions have none."""
    tally = Tally("replacements are the rule's", expects_none=True)
    for change in case.made.splits.changes:
        tally.look(change.left)
    for problem in case.made.splits.problems:
        tally.look("ledger", [problem])
    return tally.done()


def all_accounted(case: Case) -> Check:
    """Every entry of the index ends in exactly one place: a row, or an exclusion with stage and reason."""
    tally = Tally("every paper of the index is accounted for, once")
    ends = Counter(line["custom_id"] for line in case.rows)
    for line in case.lines["exclusions"]:
        ends[line["key"]] += 1
        if not line["stage"] or not line["reason"]:
            tally.look(line["key"], ["its exclusion lacks stage or reason"])
    for line in case.lines["index"]:
        end = line["arxiv_id"] or line["key"]
        places = ends.pop(end, 0)
        tally.look(end, [] if places == 1 else [f"ends in {places} places; it must end in one"])
    for end in sorted(ends):
        tally.look(end, ["is in a split or excluded, and not in the index"])
    return tally.done()


def sampled_by_rank(case: Case) -> Check:
    """No paper beyond the sample ranks before one inside it."""
    tally = Tally("the sample is a prefix of the seeded order")
    beyond = {e.key for e in case.material.early if e.stage == "sample"}
    inside = {row.arxiv_id for row in case.made.derivations}
    inside |= {e.key for e in case.material.early if e.stage == "classification"}
    order = sample_order(inside | beyond, case.material.edition.seed)
    first = next((i for i, paper in enumerate(order) if paper in beyond), len(order))
    for i, paper in enumerate(order):
        wrong = paper in inside and i > first
        tally.look(paper, [f"is sampled, though {order[first]} ranks before it and is not"] if wrong else [])
    return tally.done()


def eligible_rows(case: Case) -> Check:
    """No row of a split is out of scope, blocked, paid for, or found unfit by a person."""
    tally = Tally("every row of a split is eligible")
    for paper in case.made.chosen:
        wrong = [paper.excluded] if paper.excluded else []
        if paper.candidate().needs_paid_api:
            wrong.append("needs a paid or closed API")
        if paper.tier not in SELECTABLE:
            wrong.append(f"its tier is {paper.tier}")
        tally.look(paper.arxiv_id, wrong)
    return tally.done()


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


REFRESH = "set a later `as_of` in the edition and build again"
"""What makes evidence new: the record answers every question of one `as_of` once."""


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
    """Run every validator. The release may be frozen if the report is ok."""
    return Report(
        (
            *(check(case) for check in FOLDER),
            *(check(case, given.papers) for check in PAPERS),
            *(check(case, given) for check in FREEZE),
        )
    )
