"""What code finds odd about a row, for the auditor's first look: facts beside the proposal, never an answer.

A doubt speaks of the paper, of a target's or estimate's parts, or of what a receipt shows; none speaks of a label, so
that they may be shown before a blind answer. Doubts decide nothing and are part of no release.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline import compute, evidence, reference
from pipeline.compute_faults import Stated, faults
from pipeline.derivation import Derivation, Inputs, PartInput
from pipeline.events import Question
from pipeline.evidence import Receipt, Signal
from pipeline.paper import ComputeMention, Paper, Table
from pipeline.place_doubts import places
from pipeline.targets import NEAR_ZERO, Target, at_anchor, make_bar, scale_of

CLOSE = 0.2
"""Hours closer than a fifth say the same."""


@dataclass(frozen=True, slots=True)
class Doubt:
    question: Question
    text: str


def doubts(row: Derivation, receipts: Mapping[str, Receipt], paper: Paper, relative: float) -> tuple[Doubt, ...]:
    """Every doubt, by question. `relative` is the edition's default tolerance."""
    found = [
        *_claim(row.inputs, paper),
        *_kind(row.inputs, paper),
        *_target(row.inputs, paper),
        *_bar(row.inputs, relative),
        *_needs(row.inputs, paper),
        *_hours(row, receipts, paper),
        *(Doubt(*odd) for odd in places(row.inputs, receipts, paper)),
        *(Doubt("eligibility", text) for text in row.inputs.problems),
    ]
    return tuple(dict.fromkeys(found))


def _claim(inputs: Inputs, paper: Paper) -> Iterator[Doubt]:
    if not inputs.claim_quote:
        yield Doubt("claim", "no sentence of the paper is quoted for the claim")
        return
    at = paper.find(inputs.claim_quote)
    if at is None:
        yield Doubt("claim", "the quoted sentence is not in the paper")
        return
    if " ".join(inputs.claim_quote.split()) not in " ".join(paper.abstract.split()):
        held = next((s for s in reversed(paper.sections) if s.start <= at < s.end), None)
        yield Doubt("claim", f"the quote is not of the abstract but of “{held.title if held else 'the front matter'}”")
    said, quoted = _numbers(inputs.central_claim), _numbers(inputs.claim_quote)
    if extra := sorted(said - quoted):
        yield Doubt("claim", f"the claim says {', '.join(extra)}, its quote does not")


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", text))


def _kind(inputs: Inputs, paper: Paper) -> Iterator[Doubt]:
    results = sum(item.results for item in paper.inventory)
    printed = inputs.target is not None and inputs.target.anchor.table is None  # in a sentence, which is a result too
    if inputs.paper_kind == "empirical" and not results and not printed:
        yield Doubt("kind", "no table of the paper holds results")
    elif inputs.paper_kind != "empirical" and results:
        yield Doubt("kind", f"called {inputs.paper_kind}, and the paper has {results} tables of results")


def _target(inputs: Inputs, paper: Paper) -> Iterator[Doubt]:
    target = inputs.target
    if target is None:
        yield Doubt("target", "no target is pinned")
        return
    for problem in inputs.target_problems:
        yield Doubt("target", problem)
    if target.anchor.source_sha256 != paper.source_sha256:
        yield Doubt("target", "the target was read from another source than this one")
    table = table_of(target, paper)
    if not at_anchor(target, paper):
        there = cell_text(target, table) if table else None
        stands = f": there stands {there!r}" if there else ""
        yield Doubt("target", f"the paper does not print {target.value} where the target says{stands}")
    if table is not None:
        yield from _in_table(target, table)
    yield from _data(inputs, target, paper)
    wanted = evidence.sizes(target.config)
    others = sorted({s for t in paper.tables if t.place == "body" for s in _row_sizes(t)} - set(wanted), key=_billions)
    if wanted and others and _billions(others[0]) < min(map(_billions, wanted)):
        yield Doubt("target", f"a cheaper size is printed too: {others[0]}, the target is of {', '.join(wanted)}")
    dearer = [choice.item for choice in inputs.inventory if choice.reason == "dearer"]
    if table is not None and f"table {table.number}" in dearer:
        yield Doubt("target", f"table {table.number} was passed over as dearer, and the target is of it")


def _data(inputs: Inputs, target: Target, paper: Paper) -> Iterator[Doubt]:
    """Listed benchmarks that one part of the row names and the paper, or another part, does not."""
    own = {m.name for m in reference.benchmarks_in(f"{target.dataset} {' '.join(inputs.datasets)}")}
    for what, words in (("scope", target.scope), ("configuration", f"{inputs.mre_config} {target.config}")):
        named = {m.name: m.words for m in reference.benchmarks_in(words)}
        for name in sorted(named.keys() - own):
            if name not in {m.name for m in reference.benchmarks_in(paper.text)}:
                yield Doubt("target", f"the {what} names {named[name]}, which the paper does not")
            elif own:
                yield Doubt("target", f"the {what} names {named[name]}, the target's data are {', '.join(sorted(own))}")


def _in_table(target: Target, table: Table) -> Iterator[Doubt]:
    row, column = target.anchor.row, target.anchor.column
    if row is None or column is None or row >= len(table.grid) or column >= table.columns:
        yield Doubt("target", f"table {table.number} has no such cell")
        return
    head = " / ".join(table.column_headers(column))
    others = {m[0].casefold() for m in _METRICS.finditer(head)}
    same = {m[0].casefold()[:3] for m in _METRICS.finditer(target.metric)} | {w[:3] for w in _words(target.metric)}
    if others and not {word[:3] for word in others} & same:
        yield Doubt("target", f"the metric is {target.metric}, the cell stands under “{head}”")
    if table.directions[column] and target.direction and table.directions[column] != target.direction:
        yield Doubt("target", f"the column says {table.directions[column]} is better, the target {target.direction}")
    if re.search(r"(?i)\bablat", f"{table.caption} {table.label}"):
        yield Doubt("target", f"table {table.number} is an ablation: {table.caption[:80]}")
    cell = table.grid[row][column]
    if cell is not None and cell.uncertainty and not target.uncertainty:
        yield Doubt("target", f"the cell prints ± {cell.uncertainty:g}, the target leaves it out")
    own = " ".join(table.row_headers(row))
    if own and not set(_words(own)) & {"ours", "our", *_words(f"{target.config} {target.scope}")}:
        yield Doubt("target", f"the cell is of the row “{own[:60]}”, the target's configuration does not name it")


_METRICS = re.compile(
    r"(?i)\b(?:acc(?:uracy)?|f1|bleu|rouge|auc|auroc|mae|mse|rmse|wer|cer|fid|psnr|ssim|lpips|flops|params|parameters|"
    r"time|latency|memory|speed|loss|perplexity|ppl|m?ap|recall|precision|error|nll|reward|return|regret)\b"
)
"""What a column's heading measures, where it says so; most name a data set or a split."""


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]{2,}", text.casefold())


def _row_sizes(table: Table) -> tuple[str, ...]:
    heads = (" ".join(table.row_headers(row)) for row in range(table.header_rows, len(table.grid)))
    return tuple(size for head in heads for size in evidence.sizes(head))


def _billions(size: str) -> float:
    return float(size[:-1]) * (1.0 if size[-1] == "b" else 0.001)


def table_of(target: Target, paper: Paper) -> Table | None:
    """The table of the paper in which a target's cell stands."""
    anchor = target.anchor
    return next((t for t in paper.tables if (t.number, t.anchor.file) == (anchor.table, anchor.file)), None)


def cell_text(target: Target, table: Table) -> str | None:
    row, column = target.anchor.row, target.anchor.column
    if row is None or column is None or row >= len(table.grid) or column >= table.columns:
        return None
    cell = table.grid[row][column]
    return None if cell is None else cell.text


def _bar(inputs: Inputs, relative: float) -> Iterator[Doubt]:
    target = inputs.target
    if target is None:
        return
    bar = target.bar
    scale = scale_of(target.value, target.unit, target.metric)
    due = make_bar(
        bar.kind,
        number=target.number,
        direction=target.direction,
        uncertainty=target.uncertainty,
        baseline=target.baseline,
        relative=relative,
        low=bar.low,
        high=bar.high,
        scale=scale,
    )
    if due is None:
        yield Doubt("bar", f"a {bar.kind} bar lacks what it needs")
    elif due.op != bar.op:
        yield Doubt("bar", f"the bar asks for {bar.op}, a {bar.kind} of this metric for {due.op}")
    elif not _near(due.reference, bar.reference):
        yield Doubt("bar", f"the bar is held at {bar.reference}, its kind says {due.reference}")
    elif not _near(due.tolerance, bar.tolerance):
        source = "the paper's ±" if target.uncertainty else f"{relative:.0%} of the value"
        yield Doubt("bar", f"the tolerance is {bar.tolerance:g}, {source} would be {due.tolerance:g}")
    if bar.kind == "point_estimate" and abs(target.number) < NEAR_ZERO * scale and bar.tolerance_source != "absolute":
        yield Doubt("bar", "the value is near zero and has no absolute tolerance")


def _near(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=0.01, abs_tol=1e-9)


def _needs(inputs: Inputs, paper: Paper) -> Iterator[Doubt]:
    words = f"{inputs.mre_config} {inputs.target.config if inputs.target else ''} {inputs.agent_task}"
    if named := reference.paid_api(words):
        if not inputs.needs.get("paid_api"):
            yield Doubt("needs", f"the target's configuration names {named}, and no paid API is among the needs")
    elif not inputs.needs.get("paid_api"):
        yield from _used(paper, reference.paid_api, _USES, "paid_api")
    if not inputs.needs.get("human_raters"):
        yield from _used(paper, _raters, _RATES, "human_raters")
    for need, quote in inputs.needs.items():
        if quote and paper.find(quote) is None:
            yield Doubt("needs", f"the words quoted for {need.replace('_', ' ')} are not in the paper")


_USES = re.compile(
    r"(?i)\b(?:judg|evaluat|annotat|label|rate[ds]?\b|scor|generat|prompt|quer|call|extract|filter|rewr)\w*"
)
_RATES = re.compile(r"(?i)\b(?:rate[ds]?|rating|judg|score|evaluat|prefer|annotat|compar)\w*")
_RATERS = re.compile(
    r"(?i)\b(?:crowd[- ]?workers?|mechanical turk|mturk|prolific|human (?:raters?|annotators?|evaluators?|judges?)|"
    r"(?:raters?|annotators|evaluators) (?:were|are|rated|judged))\b"
)
_ELSEWHERE = re.compile(
    r"(?i)related|background|introduction|prior|conclusion|discussion|limitation|impact|acknowledg|future|ethic|checklist"
)


def _raters(text: str) -> str | None:
    found = _RATERS.search(text)
    return found[0] if found else None


def _used(
    paper: Paper, named: Callable[[str], str | None], verbs: re.Pattern[str], need: Literal["paid_api", "human_raters"]
) -> Iterator[Doubt]:
    """The first sentence about the paper's own experiments in which a service or people do something."""
    for sentence in paper.sentences():
        if sentence.place != "body" or sentence.appendix or _ELSEWHERE.search(sentence.section or "introduction"):
            continue
        if verbs.search(sentence.text) and (who := named(sentence.text)):
            said = " ".join(sentence.text.split())[:140]
            what = f"uses {who}" if need == "paid_api" else "is rated by people"
            yield Doubt("needs", f"something {what}, perhaps the target: “{said}”")
            return


def _hours(row: Derivation, receipts: Mapping[str, Receipt], paper: Paper) -> Iterator[Doubt]:
    inputs = row.inputs
    if not inputs.compute:
        yield Doubt("hours", f"no part of the hours is stated: {row.estimate.reason or inputs.basis or 'no reason'}")
    for part in inputs.compute:
        yield from _part(part, inputs, paper)
    target = inputs.target
    runs = max((p.runs for p in inputs.compute), default=0)
    if target is not None and inputs.compute:
        arms = 2 if target.bar.kind in ("direction", "magnitude") else 1
        due = arms * (target.n_seeds or 1)
        if runs != due:
            seeds = f" × {target.n_seeds} seeds" if target.n_seeds else ""
            compared = f"{arms} arm{'s' * (arms > 1)}{seeds}"
            yield Doubt("hours", f"runs counted: {runs}; the bar compares {compared}")
    groups = inputs.contexts.get(str(Signal.WEIGHTS), {}).get("groups", [])
    own = {place for group in groups for place in group}
    wanted = evidence.sizes(target.config) if target is not None else ()
    for place in sorted(own):
        found = evidence.sizes(place.replace("-", " ").replace("_", " ").replace("/", " "))
        if wanted and found and not set(found) & set(wanted):
            yield Doubt("weights_available", f"{place} is of {', '.join(found)}, the target is of {', '.join(wanted)}")
    open_ = [r for i in inputs.receipts if (r := receipts.get(i)) and r.subject in own and r.facts.get("weights_open")]
    if open_ and any(p.kind == "train" for p in inputs.compute):
        yield Doubt("hours", f"training is charged, and {open_[0].subject} gives weights to a stranger")


def _part(part: PartInput, inputs: Inputs, paper: Paper) -> Iterator[Doubt]:
    device = compute.match_device(part.device)
    stated = Stated(
        text=part.quote,
        basis=inputs.basis,
        printed=paper.text,
        count=part.count,
        wall_hours=part.wall_hours,
        device_hours=part.device_hours,
        runs=part.runs,
        factor=device.factor if device else None,
        device=part.device,
        basis_kind=inputs.basis_kind,
    )
    for fault in faults(stated):
        yield Doubt("hours", f"{part.kind}: {fault.detail}")
    if part.quote and paper.find(part.quote) is None:
        yield Doubt("hours", f"{part.kind}: the words quoted for its time are not in the paper")
    told = [m for m in paper.compute if part.quote and (m.quote in part.quote or part.quote in (m.sentence or m.quote))]
    yield from _unlike(part, told)
    if part.device and device is None and not part.cpu_only:
        yield Doubt("hours", f"{part.kind}: {part.device!r} is not in the device table")


def _unlike(part: PartInput, told: Sequence[ComputeMention]) -> Iterator[Doubt]:
    """Where none of the paper's statements in the quoted words says what is charged."""
    used = part.device_hours if part.device_hours is not None else part.wall_hours
    options = {
        h * k
        for m in told
        if m.hours
        for h in (m.hours, *(m.hours_range or ()))
        for n in (part.count or m.count or 1,)
        for k in (1, n, 1 / n)
    }
    if used and options and not any(abs(used - one) <= CLOSE * max(used, one) for one in options):
        said = ", ".join(sorted({f"{m.hours:.3g} h" for m in told if m.hours}))
        yield Doubt("hours", f"{part.kind}: {used:.3g} h are charged, the quoted words say {said}")
    counts = {m.count for m in told if m.count and not m.inherited}
    if part.count and counts and part.count not in counts:
        said = ", ".join(map(str, sorted(counts)))
        yield Doubt("hours", f"{part.kind}: {part.count:g} devices are charged, the quoted words say {said}")
    device = compute.match_device(part.device)
    named = {word: d for m in told for word in m.devices if (d := compute.match_device(word))}
    # "A100" alone leaves the memory open, and is no other device.
    same = any(device and (device.id == d.id or word.casefold() in device.name.casefold()) for word, d in named.items())
    if device and named and not same:
        yield Doubt("hours", f"{part.kind}: charged as {device.name}, the quoted words name {', '.join(named)}")
    if told and all(m.includes_failed for m in told):
        yield Doubt("hours", f"{part.kind}: the quoted time includes failed or preliminary runs")
