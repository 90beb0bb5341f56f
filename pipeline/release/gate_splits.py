"""Validators of the selection: tiers, bands, caps, splits, replacements, and that nothing was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pipeline import compute, events, tiers
from pipeline.editions import sample_order
from pipeline.evidence import Signal
from pipeline.release.case import Case
from pipeline.release.report import Check, Tally
from pipeline.second_readings import owed
from pipeline.tiers import SELECTABLE


def pool_decided(case: Case) -> Check:
    """Decided, and by two where two people read: a disagreement nobody could have yet is not agreement."""
    tally = Tally("every pool row is decided on its present hash")
    splits = case.made.splits
    due = owed(case.made.audited, case.made.events, {*splits.eval, *splits.dev}, case.material.edition)
    for paper in case.made.audited:
        state, open_ = paper.standing.state, paper.standing.open
        wrong = [] if state == "decided" else [f"{state}: {', '.join(f'{q} {s}' for q, s in open_.items())}"]
        if scope := due.get(paper.arxiv_id):
            wrong.append(f"a second reading ({scope}) is owed, and not in yet")
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
    for paper in (*case.made.pool.ids, *case.made.entered):
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
    edges = case.material.edition.band_edges_hours
    for line in case.rows:
        due = {
            "selection_band": compute.band(line["h100_hours_estimate"], edges),  # what the pool was drawn on
            "h100_band": compute.band(line["audited_h100_hours"], edges),
        }
        wrong = [f"{f} {line[f]}, its hours give {band}" for f, band in due.items() if line[f] != band]
        tally.look(line["custom_id"], wrong)
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
