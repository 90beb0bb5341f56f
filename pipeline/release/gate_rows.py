"""Validators of single rows: fields, receipts, targets, candidates, what agents see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import ValidationError

from pipeline import events
from pipeline.answers import Passed
from pipeline.audit import Audited, unsupported
from pipeline.events import explain
from pipeline.evidence import Json, Outcome, Signal, Status, Verification
from pipeline.release.agent_view import given_away
from pipeline.release.case import Case
from pipeline.release.report import Check, Tally
from pipeline.row import Row
from pipeline.targets import Bar, Target, make_bar, problems, scale_of

PASSED = get_args(Passed)
SUPPLEMENT_TOOL = "supplement_file"


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


_BAR_QUESTIONS: tuple[events.Question, ...] = ("target", "bar")


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
        # A table without a number is no float, and so no item of the inventory: it counts as running text.
        table = (None if inputs.target is None else inputs.target.anchor.table) or None
        due = [] if table is None else [f"table {table}"]
        picked = [choice.item for choice in inputs.inventory if choice.reason == "chosen"]
        where = "running text" if table is None else due[0]
        wrong = [] if picked == due else [f"its target is printed in {where}, and chosen is {picked or 'nothing'}"]
        tally.look(paper.arxiv_id, wrong)
    return tally.done()


def agents_untold(case: Case) -> Check:
    """The agent view restates no setting of the running configuration."""
    tally = Tally("the agent view gives no setting away")
    views = {view["custom_id"]: view for view in case.lines["agent_view"]}
    for line in case.rows:
        view = views.get(line["custom_id"])
        told = ["has no agent view"] if view is None else [f"tells {s!r}" for s in given_away(line, view)]
        tally.look(line["custom_id"], told)
    return tally.done()
