"""What people's decisions make of the pool: which rows are decided, what the audited rows are, and which are split.

A decision is bound to the hash of the row it judged, and goes stale with it. A person's answer replaces the verdict;
score, tier and hours are then derived again by the same functions as before. A split is `replay` of the audited rows
and the ledger; nothing is edited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pipeline import compute, tiers
from pipeline.derivation import Derivation, Inputs, Rules, estimate, signals
from pipeline.derivation import ineligible as why_ineligible
from pipeline.editions import Edition
from pipeline.events import CANNOT_TELL, QUESTIONS, SETTLING, SIGNALS, STANDS, WRONG, Event, Question
from pipeline.evidence import Json, Outcome, Receipt, Signal, Status, Verification
from pipeline.labels import Label
from pipeline.selection import Candidate, Selection, split_dev, split_eval
from pipeline.swaps import Change, swapped
from pipeline.targets import Bar, Target
from pipeline.targets import problems as target_problems

State = Literal["decided", "disputed", "stale", "waiting"]
_WORST: tuple[State, ...] = ("disputed", "stale", "waiting")


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """The answer that stands for one question, and the event that gave it."""

    question: Question
    value: Json
    event: Event


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Where one pool row stands: its settled questions, and the others with what they lack.

    disputed: auditors differ, or one of them cannot tell; an adjudication is needed. stale: answered only on an
    earlier state of the row. waiting: nobody answered.
    """

    paper: str
    row_hash: str
    decisions: Mapping[Question, Decision]
    open: Mapping[Question, State]

    @property
    def state(self) -> State:
        """The row's state is that of its worst question. A row that is found not eligible needs no other answer."""
        out = self.decisions.get("eligibility")
        if not self.open or (out is not None and out.value is False):
            return "decided"
        return next(state for state in _WORST if state in self.open.values())


def standing(paper: str, row_hash: str, events: Iterable[Event]) -> Standing:
    """Fold the events about one paper, in fold order, over its present row hash."""
    about = [e for e in events if e.paper == paper and e.question is not None]
    decisions: dict[Question, Decision] = {}
    open_: dict[Question, State] = {}
    for question in QUESTIONS:
        said = [e for e in about if e.question == question]
        present = [e for e in said if e.row_hash == row_hash]
        settling = [e for e in present if e.kind in SETTLING]
        latest = {e.who: e for e in present if e.kind == "answer"}  # later answers of a person replace earlier ones
        values = [e.value for e in latest.values()]
        if settling:
            decisions[question] = Decision(question=question, value=settling[-1].value, event=settling[-1])
        elif not values:
            open_[question] = "stale" if said else "waiting"
        elif values[0] == CANNOT_TELL or any(not _same(value, values[0]) for value in values):
            open_[question] = "disputed"
        else:
            last = list(latest.values())[-1]
            decisions[question] = Decision(question=question, value=last.value, event=last)
    return Standing(paper=paper, row_hash=row_hash, decisions=decisions, open=open_)


def _same(a: Json, b: Json) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


@dataclass(frozen=True, kw_only=True, slots=True)
class Audited:
    """A pool row after its decisions. `excluded` is why it can enter no split; `overturned` what a person changed."""

    derivation: Derivation
    standing: Standing
    inputs: Inputs
    labels: tuple[Label, ...]
    estimate: compute.Estimate
    score_needs: int | None
    score_published: int | None
    tier: tiers.Tier | None
    overturned: tuple[Question, ...]
    excluded: str | None

    @property
    def arxiv_id(self) -> str:
        return self.inputs.arxiv_id

    @property
    def hours(self) -> float | None:
        return self.estimate.mid

    def score(self, scoring: tiers.Scoring) -> int | None:
        return self.score_needs if scoring == "needs" else self.score_published

    def label(self, signal: Signal) -> Label:
        return next(one for one in self.labels if one.signal is signal)

    def candidate(self) -> Candidate:
        """The row as the split's selection sees it."""
        paid = bool(self.inputs.paid_api or self.inputs.needs.get("paid_api"))
        return Candidate(self.arxiv_id, self.tier, self.hours, paid, self.excluded)


def audit(row: Derivation, events: Iterable[Event], receipts: Mapping[str, Receipt], rules: Rules) -> Audited:
    """Apply what people decided about one pool row, and derive its score, tier and hours again."""
    where = standing(row.arxiv_id, row.row_hash, events)
    answers = where.decisions
    inputs, problems = _corrected(row.inputs, answers)
    labels = tuple(_label(one, answers.get(_question(one.signal)), row.inputs, receipts) for one in row.labels)
    hours = _hours(row, inputs, labels, answers.get("hours"))
    now = signals(labels)
    needs = tiers.score(now, "needs", inputs.paper_kind)
    published = tiers.score(now, "published", inputs.paper_kind)
    tier = tiers.tier(needs if rules.scoring == "needs" else published, now, rules.scoring, inputs.paper_kind)
    eligible = answers.get("eligibility")
    if where.state != "decided":
        problems = [f"{where.state}: {', '.join(where.open)}"]
    elif eligible is not None and eligible.value is False:
        problems = [f"a person found it not eligible: {eligible.event.why or 'no reason given'}"]
    else:
        problems += why_ineligible(inputs, labels, tier, hours, rules)
    return Audited(
        derivation=row,
        standing=where,
        inputs=inputs,
        labels=labels,
        estimate=hours,
        score_needs=needs,
        score_published=published,
        tier=tier,
        overturned=tuple(q for q, d in answers.items() if overturns(row, q, d.value)),
        excluded=problems[0] if problems else None,
    )


def unsupported(row: Audited, receipts: Mapping[str, Receipt]) -> list[str]:
    """Overturned answers without what an overturn needs: a reason, and for a signal receipts of the row's own episode
    that can support it (`support`).

    No label stands without a receipt, a person's included; only `not_needed` rests on the paper alone. In a row that
    was found not eligible no other answer decides anything.
    """
    out = row.standing.decisions.get("eligibility")
    found: list[str] = []
    for question in row.overturned:
        decision = row.standing.decisions[question]
        if out is not None and out.value is False and question != "eligibility":
            continue
        if not decision.event.why:
            found.append(f"{question} overturned by {decision.event.who} without a reason")
        if question not in SIGNALS or decision.value == "not_needed":
            continue
        if not support(Signal(question), decision.value, _cited(decision, row.inputs, receipts)):
            found.append(
                f"{question} overturned to {decision.value} by {decision.event.who} without a receipt of this paper "
                f"that supports it; cite {_NEEDED[bool(decision.value)]}"
            )
    return found


_NEEDED = {
    True: "one that found something available (a search only names places)",
    False: "one that found it gated or gone, one of a place that was read and lacks it, or complete searches",
}


def support(signal: Signal, value: bool, cited: Sequence[Receipt]) -> tuple[Receipt, ...]:
    """Those of the cited receipts on which a person's answer to a signal can rest; empty where there are none.

    True takes a place that a stranger reached (for "is standard" also a gated one: a gate does not change what a data
    set is). False takes a place that is gated, gone, or was read and lacks it; else complete searches that found
    nothing else. What stayed undetermined supports nothing.
    """
    places = [r for r in cited if not _search(r) and r.outcome is not Outcome.UNDETERMINED]
    if value:
        enough = {Outcome.AVAILABLE, Outcome.GATED} if signal is Signal.STANDARD else {Outcome.AVAILABLE}
        return tuple(r for r in places if r.outcome in enough and not r.facts.get("authenticated"))
    if places:
        return tuple(places)
    return tuple(r for r in cited if _search(r) and r.facts.get("complete") and not r.facts.get("failed"))


def _search(receipt: Receipt) -> bool:
    return receipt.subject.startswith("search:")


def _cited(decision: Decision, inputs: Inputs, receipts: Mapping[str, Receipt]) -> list[Receipt]:
    """The receipts of this row's own episode and its second looks that a decision cites, in its order."""
    own = set(inputs.citable)
    return [receipts[i] for i in dict.fromkeys(decision.event.evidence) if i in own and i in receipts]


def _question(signal: Signal) -> Question:
    return next(q for q in QUESTIONS if q == signal.value)


def verdict(row: Derivation, question: Question) -> Json:
    """What the row says, in the words of an answer; None for a signal that no receipt settles."""
    if question in SIGNALS:
        label = row.label(Signal(question))
        return label.value if label.applicable else "not_needed"
    if question == "kind":
        return row.inputs.paper_kind
    if question == "needs":
        return sorted(n for n, quote in row.inputs.needs.items() if quote)
    return True if question == "eligibility" else STANDS


def overturns(row: Derivation, question: Question, value: Json) -> bool:
    """Whether an answer that decides says other than the row."""
    return value != CANNOT_TELL and not _same(value, verdict(row, question))


def _corrected(inputs: Inputs, answers: Mapping[Question, Decision]) -> tuple[Inputs, list[str]]:
    """The inputs with people's corrections, and what people found wrong without correcting it."""
    changes: dict[str, Json] = {}
    problems = [f"a person found its {q} wrong" for q in ("claim", "target", "bar") if _value(answers, q) == WRONG]
    if (kind := _value(answers, "kind")) is not None:
        changes["paper_kind"] = kind
    needs = _value(answers, "needs")
    if needs is not None:
        changes["needs"] = {n: inputs.needs.get(n) or answers["needs"].event.why or "as a person found" for n in needs}
        changes["paid_api"] = (inputs.paid_api or "as a person found") if "paid_api" in needs else ""
    claim = _value(answers, "claim")
    if isinstance(claim, dict):
        changes |= {"central_claim": claim["claim"], "claim_quote": claim["quote"]}
    target, said = inputs.target, _value(answers, "target")
    if isinstance(said, dict):
        target = Target.model_validate(said)
    bar = _value(answers, "bar")
    if isinstance(bar, dict) and target is not None:
        target = target.model_copy(update={"bar": Bar.model_validate(bar)})
    if target is not inputs.target and target is not None:
        changes |= {"target": target, "target_problems": target_problems(target)}
    return inputs.model_copy(update=changes), problems


def _value(answers: Mapping[Question, Decision], question: str) -> Json:
    decision = next((d for q, d in answers.items() if q == question), None)
    return None if decision is None else decision.value


def _label(label: Label, decision: Decision | None, inputs: Inputs, receipts: Mapping[str, Receipt]) -> Label:
    """A person's answer in the verdict's place. It rests on those receipts that the person cites and that support it;
    one without any fails the gate (`unsupported`)."""
    if decision is None:
        return label
    who = f"{decision.event.who}: {decision.event.why}".rstrip(": ")
    value = decision.value
    if value == "not_needed":
        if not label.applicable:
            return label
        return replace(
            label,
            value=False,
            verification=Verification.NOT_APPLICABLE,
            status=Status.CONFIRMED,
            receipts=(),
            reason=who,
        )
    if label.applicable and value == label.value:
        return label
    rests_on = support(label.signal, value, _cited(decision, inputs, receipts))
    absent = value is False and any(_search(r) for r in rests_on)
    return replace(
        label,
        value=value,
        verification=Verification.SEARCHED_NOT_FOUND if absent else Verification.TOOL_VERIFIED,
        status=Status.CONFIRMED,
        receipts=tuple(r.id for r in rests_on),
        reason=who,
    )


def _hours(row: Derivation, inputs: Inputs, labels: Sequence[Label], decision: Decision | None) -> compute.Estimate:
    """A person's hours, or the stated parts again: with weights found released, training is no part of the rerun."""
    value = None if decision is None else decision.value
    if value == WRONG:
        return compute.Estimate(low=None, mid=None, high=None, unknown=True, reason="a person found the hours wrong")
    if value is not None and value != STANDS:
        return compute.Estimate(low=value, mid=float(value), high=value, reason="as a person estimated")
    before = row.label(Signal.WEIGHTS).value
    after = next(one.value for one in labels if one.signal is Signal.WEIGHTS)
    if before is not True and after is True:
        evaluated = [p for p in inputs.compute if p.kind not in compute.TRAINING]
        return estimate(inputs.model_copy(update={"compute": evaluated}))
    if before is True and after is not True and not any(p.kind in compute.TRAINING for p in inputs.compute):
        reason = "the weights were found missing, and the hours of training are not stated"
        return compute.Estimate(low=None, mid=None, high=None, unknown=True, reason=reason)
    return estimate(inputs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Splits:
    """The outcome of a replay. `problems`: replacements that the rule did not give, or could not."""

    eval: tuple[str, ...]
    dev: tuple[str, ...]
    by_rule: Selection
    dev_by_rule: Selection
    changes: tuple[Change, ...]
    problems: tuple[str, ...]

    def split(self, paper: str) -> Literal["eval", "dev"] | None:
        return "eval" if paper in self.eval else "dev" if paper in self.dev else None


def replay(rows: Sequence[Audited], edition: Edition, events: Iterable[Event]) -> Splits:
    """The splits: selection by rule over audited rows, then every drop and replacement, in fold order (`swapped`)."""
    candidates = [row.candidate() for row in rows]
    evaluation = split_eval(candidates, edition)
    development = split_dev(candidates, evaluation.ids, edition)
    folded = swapped({"eval": evaluation.ids, "dev": development.ids}, {"eval": evaluation, "dev": development}, events)
    return Splits(
        eval=folded.members["eval"],
        dev=folded.members["dev"],
        by_rule=evaluation,
        dev_by_rule=development,
        changes=folded.changes,
        problems=folded.problems,
    )
