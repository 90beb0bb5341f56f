"""From an episode to a row: what a classifier said, what its receipts entail, and what code derives from both.

A classifier (embedded rules or any model) fills an `Answer`. Nothing in it counts by itself: quotes must be in the
paper, the target must be printed at its anchor, signals are decided by `labels.label`, hours by `compute.hours`, the
tier by `tiers.tier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from pipeline import artifacts, reference
from pipeline.answers import Answer, ComputeWord, DatasetWord, Episode, TargetWord
from pipeline.compute_faults import named
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.defects import charged, defects
from pipeline.derivation import ClaimInput, Derivation, Inputs, InventoryChoice, PartInput, Rules, derive, labels
from pipeline.editions import Edition
from pipeline.evidence import WEB_LEADS, Outcome, Receipt, Signal, Status, digest, sizes
from pipeline.labels import Context, meets_rule
from pipeline.not_needed import not_needed
from pipeline.paper import Paper, parse_number
from pipeline.pinned import cell_of
from pipeline.targets import QUOTE_LIMIT, Target, TargetAnchor, make_bar, scale_of
from pipeline.targets import problems as problems_of
from pipeline.tiers import Tier

READ = ("absence_searches", "tolerance_relative")
"""The settings of an edition that `extract` reads, and no others: see `extraction`."""


def extraction(record: PaperRecord, episode: Episode, edition: Edition, *, has_supplement: bool, code: str) -> str:
    """What `extract` gives follows from this alone: hash of the paper's record, its episode (the bundle's digest is in
    it; how often and at what cost it looked is not read), the settings read, and the code."""
    settings = edition.model_dump(mode="json", include=set(READ))
    said = {name: value for name, value in episode.to_json().items() if name not in ("passes", "account")}
    return digest(["extraction", asdict(record), said, settings, has_supplement, code])


def extract(
    record: PaperRecord, paper: Paper, episode: Episode, edition: Edition, *, has_supplement: bool
) -> Inputs | Exclusion:
    """Turn one episode into what a derivation needs. An episode without an answer is an exclusion with its reason."""
    answer = episode.answer
    if answer is None:
        return Exclusion(
            key=record.arxiv_id,
            title=record.title,
            stage="classification",
            reason=episode.exit_reason,
            detail=episode.problem or "the classifier gave no answer that validates",
        )
    target, target_problems = pin(answer.target, paper, edition.tolerance_relative)
    owned = artifacts.own(paper, episode.receipts, has_supplement)
    needed = _datasets(answer)
    contexts = {s: _context(s, paper, episode, answer, owned, edition) for s in Signal}
    needs = {
        name: quote if paper.find(quote) is not None else ""
        for name, quote in answer.needs.model_dump().items()
        if quote
    }
    paid = reference.paid_api(f"{needs.get('paid_api', '')} {answer.mre_config}") if needs.get("paid_api") else None
    inputs = Inputs(
        arxiv_id=record.arxiv_id,
        version=record.version,
        title=record.title,
        bundle=episode.bundle,
        source_sha256=paper.source_sha256,
        classifier=episode.classifier,
        exit_reason=episode.exit_reason,
        paper_kind=answer.paper_kind,
        central_claim=answer.central_claim,
        claim_quote=answer.claim_quote,
        mre_config=answer.mre_config,
        agent_task=answer.agent_task,
        target=target,
        target_problems=target_problems,
        inventory=_inventory(answer, paper),
        needs={name: quote for name, quote in needs.items() if quote},
        paid_api=paid or "",
        datasets=[word.name for word in needed],
        training=answer.training,
        compute=[_part(word, paper) for word in answer.compute],
        basis_kind=answer.basis_kind,
        basis=answer.basis,
        claims={
            str(s): ClaimInput(value=word.value and word.scope == "exact", cited=list(word.receipts))
            for s in Signal
            if (word := answer.signals.word(s))
        },
        contexts={str(s): context.to_json() for s, context in contexts.items()},
        links=_links(contexts, owned, episode.receipts),
        receipts=[receipt.id for receipt in episode.receipts],
        linked=list(episode.linked),
        problems=[],
    )
    return inputs.model_copy(update={"problems": _problems(inputs, answer, paper, episode)})


def _problems(inputs: Inputs, answer: Answer, paper: Paper, episode: Episode) -> list[str]:
    """Why the row cannot be used whatever its labels: how its loop ended, and every defect that the answer still has.

    Hours are held against the weights that receipts show, and not only against the classifier's word about them.
    """
    ended = [] if episode.exit_reason == "natural" else [f"the episode ended by {episode.exit_reason}"]
    found = [defect for defect in defects(answer, paper, episode.receipts) if defect.blocks]
    shown = labels(inputs, {receipt.id: receipt for receipt in episode.receipts})
    weights = next(one.value for one in shown if one.signal is Signal.WEIGHTS)
    if weights is not None and answer.paper_kind == "empirical":
        found = [one for one in found if (one.name, one.place) != ("scope", "compute")]
        found += charged(answer, released=weights)
    return ended + list(dict.fromkeys(map(str, found)))


def pin(word: TargetWord | None, paper: Paper, relative: float) -> tuple[Target | None, list[str]]:
    """Make a proposed target machine-readable, or say why code could not grade it.

    The number is read from the cell or the quote itself, never from the proposal; `relative` is the edition's
    tolerance.
    """
    if word is None:
        return None, []
    if word.table is not None:
        cell_at = cell_of(word, paper)
        if cell_at is None:
            return None, [f"table {word.table} has no number at row {word.row}, column {word.column}"]
        table, cell = cell_at
        number, uncertainty, value = cell.value, cell.uncertainty, cell.text
        row = table.grid[cell.row]
        quote = " | ".join(dict.fromkeys(c.text for c in row if c is not None and c.text))
        if len(quote) > QUOTE_LIMIT or value not in quote:
            quote = " | ".join((*table.row_headers(cell.row)[:1], value))[-QUOTE_LIMIT:]
        place = table.row_anchors[cell.row] if cell.row < len(table.row_anchors) else table.anchor
        anchor = TargetAnchor(
            file=place.file,
            line=place.line,
            table=word.table,
            row=cell.row,
            column=cell.column,
            quote=quote,
            source_sha256=paper.source_sha256,
        )
    else:
        printed = parse_number(word.value)
        if printed is None or paper.find(word.quote) is None:
            return None, [f"the quote for {word.value!r} is not in the paper"]
        number, uncertainty, value = printed.value, printed.uncertainty, word.value
        holder = next((s for s in paper.sentences() if word.quote in s.text or s.text in word.quote), None)
        anchor = TargetAnchor(
            file=holder.anchor.file if holder else paper.main,
            line=holder.anchor.line if holder else 1,
            quote=_around(word.quote, value),
            source_sha256=paper.source_sha256,
        )
    assert number is not None
    bar = make_bar(
        word.bar_kind,
        number=number,
        direction=word.direction,
        uncertainty=uncertainty,
        baseline=word.baseline,
        relative=relative,
        low=word.low,
        high=word.high,
        scale=scale_of(value, word.unit, word.metric),
    )
    if bar is None:
        return None, [f"a {word.bar_kind} bar lacks a part (baseline, direction or the two ends)"]
    target = Target(
        config=word.config,
        metric=word.metric,
        unit=word.unit,
        direction=word.direction,
        value=value,
        number=number,
        uncertainty=uncertainty,
        n_seeds=word.n_seeds,
        scope=word.scope,
        split=word.split,
        aggregate=word.aggregate,
        dataset=word.dataset,
        baseline=word.baseline,
        bar=bar,
        anchor=anchor,
    )
    return target, problems_of(target)


def _around(quote: str, value: str) -> str:
    """At most `QUOTE_LIMIT` characters of a quote, with the value in them."""
    if len(quote) <= QUOTE_LIMIT:
        return quote
    at = max(quote.find(value), 0)
    start = max(0, min(at - QUOTE_LIMIT // 2, len(quote) - QUOTE_LIMIT))
    return quote[start : start + QUOTE_LIMIT]


def _inventory(answer: Answer, paper: Paper) -> list[InventoryChoice]:
    """Every float of the paper once, with the classifier's word about it; a missing word is an empty reason."""
    reasons = {word.item: word.reason for word in answer.candidates}
    items = ((f"{item.kind} {item.number}", item.caption) for item in paper.inventory)
    return [InventoryChoice(item=item, caption=caption[:200], reason=reasons.get(item, "")) for item, caption in items]


def _datasets(answer: Answer) -> list[DatasetWord]:
    return list({word.name.casefold(): word for word in answer.datasets}.values())


def _part(word: ComputeWord, paper: Paper) -> PartInput:
    """A part whose quote the paper does not print, or prints without a time, keeps its place and loses its numbers:
    unknown, not invented. The reader must have found a time in those words, and the device somewhere in the paper."""
    known = bool(word.quote) and paper.find(word.quote) is not None
    told = [m for m in paper.compute if known and _overlap(word.quote, m.sentence or m.quote)]
    times = any(m.hours or m.hours_range or m.time_per_epoch or m.time_per_step or m.flops for m in told)
    cpu = word.cpu_only and any(m.cpu_only for m in paper.compute)
    device = word.device if known and (cpu or named(word.device, paper.text)) else ""
    return PartInput(
        kind=word.kind,
        device=device,
        count=word.count if known else None,
        wall_hours=word.wall_hours if times else None,
        device_hours=word.device_hours if times else None,
        runs=word.runs,
        quote=word.quote if known else "",
        cpu_only=cpu,
    )


def _overlap(a: str, b: str) -> bool:
    """Whether one text lies in the other, white space aside."""
    one, two = ("".join(text.split()) for text in (a, b))
    return bool(one and two) and (one in two or two in one)


def _listed(word: DatasetWord, paper: Paper) -> reference.Benchmark | None:
    """The listed benchmark a word means, where the paper itself names it; a name that it never prints is nobody's."""
    found = reference.benchmark(word.name)
    if found is None or found.name not in {m.name for m in reference.benchmarks_in(paper.text)}:
        return None
    return found


def _context(
    signal: Signal, paper: Paper, episode: Episode, answer: Answer, owned: tuple[str, ...], edition: Edition
) -> Context:
    """What code knows when it judges one signal."""
    receipts = episode.receipts
    searches = {"github": edition.absence_searches.github, "hub": edition.absence_searches.hub}
    listed = {word.name: _listed(word, paper) for word in answer.datasets if not word.custom}
    homes = {artifacts.subject(b.home): b for b in listed.values() if b is not None}
    unresolved = tuple(
        link for link in artifacts.linked(paper) if not artifacts.resolved(link, receipts) and link not in homes
    )
    groups: tuple[frozenset[str], ...] = ()
    places = [artifacts.current(s, receipts) for s in owned]
    if signal is Signal.CODE:
        groups = (frozenset(s for s in places if not s.startswith(("hf:model:", "hf:dataset:"))),)
    elif signal is Signal.WEIGHTS:
        groups = (frozenset(s for s in places if not s.startswith("hf:dataset:")),)
    else:
        groups = tuple(_data_places(word, listed.get(word.name), paper, receipts, places) for word in answer.datasets)
    about_data = signal in (Signal.DATA, Signal.STANDARD)
    return Context(
        groups=groups,
        open_homes=frozenset(s for s, b in homes.items() if b.gate == "open"),
        gated_homes=frozenset(s for s, b in homes.items() if b.gate != "open"),
        unresolved_links=unresolved,
        not_needed=not_needed(signal, answer, paper),
        training_needed=answer.training in ("trained", "is_the_experiment"),
        standard_names=tuple(sorted(b.name for b in listed.values() if b is not None)),
        custom_data=any(word.custom or listed.get(word.name) is None for word in answer.datasets),
        absence_searches=searches,
        words=artifacts.telling_words(" ".join([paper.title, *(_names_of_data(answer) if about_data else ())])),
        method=artifacts.method_name(paper.title),
        sizes=sizes(f"{answer.target.config} {answer.target.metric}") if answer.target is not None else (),
    )


def _names_of_data(answer: Answer) -> list[str]:
    """A search for data asks by the data's name, not by the paper's."""
    return [word.name for word in answer.datasets]


def _data_places(
    word: DatasetWord,
    listed: reference.Benchmark | None,
    paper: Paper,
    receipts: Sequence[Receipt],
    owned: Sequence[str],
) -> frozenset[str]:
    """Where one data set of the target may lie.

    A listed benchmark's home; else places that the paper links beside its name and places that carry its
    name, if the paper prints it: a name that a classifier made up finds whatever carries it. Own collections may also
    lie in the paper's own places. Only probed places and links count: a name alone blocks nothing.
    """
    if listed is not None and not word.custom:
        # Whoever uploads a copy under the same name is a stranger: only the listed home speaks.
        return frozenset({artifacts.subject(listed.home)})
    probed = {r.subject for r in receipts}
    beside = {
        artifacts.current(artifacts.subject(link.url), receipts)
        for link in paper.links
        if link.visible and word.name.casefold() in f"{link.sentence} {link.visible_text}".casefold()
    }
    named = {
        r.subject
        for r in receipts
        if r.subject.startswith(("hf:dataset:", "url:", "github:")) and artifacts.names(word.name, r)
    }
    places = (beside | named) & (probed | {artifacts.subject(link.url) for link in paper.links})
    if _plain(word.name) not in _plain(paper.text):
        places = set[str]()
    if word.custom:
        places |= {s for s in owned if not s.startswith("hf:model:")}
    return frozenset(places)


def _plain(text: str) -> str:
    """Letters and digits alone, in one case: data sets are spelled with and without hyphens."""
    return "".join(c for c in text.casefold() if c.isalnum())


def _links(contexts: dict[Signal, Context], owned: Sequence[str], receipts: Sequence[Receipt]) -> dict[str, list[str]]:
    """Links that receipts of this episode resolved, by what they lead to, as URLs."""
    resolved_ = {r.subject for r in receipts if r.outcome is Outcome.AVAILABLE}

    def urls(signal: Signal) -> list[str]:
        context = contexts[signal]
        met = (
            r.subject
            for r in receipts
            if any(r.subject in group for group in context.groups) and meets_rule(signal, r, context)
        )
        return [artifacts.url(s) for s in dict.fromkeys(met) if not s.startswith("supplement:")]

    pages = [artifacts.url(s) for s in owned if s.startswith("url:") and s in resolved_]
    return {
        "paper_or_project": pages,
        "code": urls(Signal.CODE),
        "dataset": urls(Signal.DATA),
        "weights": urls(Signal.WEIGHTS),
    }


def open_answers(episode: Episode) -> bool:
    """Whether another day may settle something: without that, no label of the episode wants a second look."""
    return any(r.outcome is Outcome.UNDETERMINED and r.subject != WEB_LEADS for r in episode.receipts)


def second_look_wanted(episode: Episode, end: Derivation | Exclusion) -> bool:
    """Whether a label waits on an answer that another day may settle."""
    waits = isinstance(end, Derivation) and any(one.status is Status.UNVERIFIED for one in end.labels)
    return waits and open_answers(episode)


def prefix_that_fills(tiers: Iterable[Tier | None], until: Mapping[Tier, int]) -> int | None:
    """How many leading papers of a sample hold so many eligible rows of each tier; None while they do not. `tiers`:
    that of each paper's row, None where it has no eligible one."""
    lacking = dict(until)
    for place, tier in enumerate(tiers, start=1):
        if tier in lacking:
            lacking[tier] -= 1
            if all(n <= 0 for n in lacking.values()):
                return place
    return None


def derivation(
    record: PaperRecord, paper: Paper, episode: Episode, edition: Edition, *, has_supplement: bool
) -> Derivation | Exclusion:
    """One paper's row of the `rows` table, or its exclusion."""
    inputs = extract(record, paper, episode, edition, has_supplement=has_supplement)
    if isinstance(inputs, Exclusion):
        return inputs
    return derive(inputs, {receipt.id: receipt for receipt in episode.receipts}, Rules.of(edition))
