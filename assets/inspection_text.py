"""What `reclaim inspect` prints: one examined paper for its author, as text and as JSON."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from classifiers.examination import Examined
from classifiers.preflight import Missing, missing, own_places, why
from pipeline import compute, tiers
from pipeline.artifacts import ARTIFACT_HOSTS, current, on, presented_as_own, subject, url
from pipeline.corpus import Exclusion
from pipeline.derivation import Derivation, PartInput, signals
from pipeline.evidence import WEB_LEADS, Json, Outcome, Receipt, Signal
from pipeline.labels import Label
from pipeline.paper import Paper
from pipeline.targets import Target
from pipeline.tiers import Tier

WIDTH = 100
SHOWN = 6
"""Receipts, candidates and links listed under one heading; the JSON has all."""

_ADVICE = {
    "no_source": "Give the source folder, or wait until arXiv has the LaTeX source of this version.",
    "not_latex": "The benchmark reads LaTeX. Give the folder or archive with the .tex files.",
    "no_main_file": "Give the folder that holds the file with \\documentclass and the paper's own text.",
    "refused_archive": "Pack the source anew as .tar.gz or .zip, or give the folder itself.",
    "undetermined": "Nothing is wrong with the paper as far as we know; try again later, or give the folder.",
    "crashed": "This is a fault of ours. Please report it with the paper's source.",
}

_TIERS = {
    Tier.RUN: "everything the target needs is released: run it",
    Tier.RETRAIN: "code and data are there, weights are not: train, then evaluate",
    Tier.REIMPLEMENT: "the data is there, the code is not: write it anew",
    Tier.BLOCKED: "the target's data is neither open nor a standard benchmark: nobody else can start",
    Tier.OUT_OF_SCOPE: "no experiment supports the central claim, so there is nothing to reproduce",
}
_QUESTIONS = {
    Signal.CODE: "Code",
    Signal.DATA: "Data",
    Signal.WEIGHTS: "Weights",
    Signal.STANDARD: "Standard benchmark",
}


# --------------------------------------------------------------------------------------------------------------- text


def as_text(found: Examined | Exclusion, way: str) -> str:
    """The report for a terminal."""
    if isinstance(found, Exclusion):
        return "\n".join(_excluded(found))
    lines = [*_head(found, way)]
    if isinstance(found.end, Exclusion):
        return "\n".join([*lines, *_excluded(found.end)])
    derived, receipts = found.end, found.episode.receipts
    lacking = missing(found.paper, derived, receipts)
    for title, body in (
        ("Claim", _claim(found.paper, derived)),
        ("Target", _target(found, derived)),
        ("Passed over", _passed(found)),
        ("Links", _links(found.paper, derived, receipts)),
        ("Signals", _signals(derived, receipts)),
        ("Hours", _hours(found.paper, derived)),
        ("Tier", _tier(derived, way)),
        ("Missing for Run, most useful first", _missing(derived, lacking, way)),
    ):
        lines += ["", title.upper(), *body]
    return "\n".join(lines)


def _excluded(found: Exclusion) -> Iterator[str]:
    yield from _wrap(f"Not classified: {found.detail} ({found.stage}, {found.reason}).", "")
    yield from _wrap(_ADVICE.get(found.reason, "Mend that, and inspect again."), "")


def _head(found: Examined, way: str) -> Iterator[str]:
    paper = found.paper
    yield from _wrap(paper.title or found.record.title or "(no title)", "")
    tables = sum(item.kind == "table" for item in paper.inventory)
    figures = len(paper.inventory) - tables
    yield (
        f"read from {paper.main}: {len(paper.files_read)} files, {tables} tables, {figures} figures, "
        f"{len(paper.links)} links"
    )
    for warning in (*found.warnings, *paper.warnings)[:SHOWN]:
        yield from _wrap(f"warning: {warning}", "", "  ")
    if way == "not asked":
        yield from _wrap(
            "Links were not asked, so code, data and weights stay undetermined. Ask them with --live, "
            "or in a recorded world with --world FOLDER.",
            "",
        )
    else:
        yield f"links asked: {way}, once; a release asks again a day later what gave no answer"


def _claim(paper: Paper, derived: Derivation) -> Iterator[str]:
    quote, kind = derived.inputs.claim_quote, derived.inputs.paper_kind
    article = "an" if kind[0] in "aeiou" else "a"
    if not quote:
        yield f"  no sentence states a measured advantage or finding; {article} {kind} paper"
        return
    yield from _wrap(f"“{quote}”", "  ")
    holder = next((s for s in paper.sentences() if quote in s.text or s.text in quote), None)
    yield f"  {f'{holder.anchor.file}:{holder.anchor.line}; ' if holder else ''}{article} {kind} paper"


def _target(found: Examined, derived: Derivation) -> Iterator[str]:
    target = derived.inputs.target
    if target is None:
        yield from _wrap(
            f"none: {'; '.join(derived.inputs.target_problems) or 'no printed number supports the claim'}", "  "
        )
        return
    unit = target.unit if target.unit not in target.value else ""
    yield from _wrap(f"{target.value} {unit} {target.metric}".replace("  ", " "), "  ")
    anchor = target.anchor
    if anchor.table is not None:
        yield from _wrap(f"table {anchor.table}, {anchor.file}:{anchor.line}: {anchor.quote}", "  ", "    ")
    else:
        yield from _wrap(f"{anchor.file}:{anchor.line}: “{anchor.quote}”", "  ", "    ")
    for name, value in (("configuration", target.config), ("data", target.dataset), ("scope", target.scope)):
        if value:
            yield from _wrap(f"{name}: {value}", "  ", "    ")
    yield from _wrap(f"reproduced if {bar_words(target)}", "  ", "    ")
    answer = found.episode.answer
    if answer and answer.target and answer.target.why:
        yield from _wrap(f"why this one: {answer.target.why}", "  ", "    ")
    for problem in derived.inputs.target_problems:
        yield from _wrap(f"cannot be graded: {problem}", "  ", "    ")


def bar_words(target: Target) -> str:
    """The bar as a sentence about a measured value."""
    bar = target.bar
    if bar.op == "between":
        return f"a rerun's value lies between {bar.low:g} and {bar.high:g} (range)"
    if bar.op == "within":
        how = _TOLERANCES[bar.tolerance_source or "absolute"]
        return f"a rerun's value is within {bar.tolerance:.4g} of {bar.reference:g} ({bar.kind}; tolerance: {how})"
    word = {">": "above", "<": "below", ">=": "at least", "<=": "at most"}[bar.op]
    whose = "the baseline's " if bar.kind == "direction" else ""
    return f"a rerun's value is {word} {whose}{bar.reference:g} ({bar.kind})"


_TOLERANCES = {
    "authors": "the paper's own ±",
    "default_relative": "the default share of the value",
    "absolute": "absolute, since the value is near zero",
}


def _passed(found: Examined) -> Iterator[str]:
    """Runners-up, each table, and figures by reason."""
    assert isinstance(found.end, Derivation)
    answer = found.episode.answer
    for word in (answer.target_alternatives if answer else [])[:3]:
        where = f"table {word.table}" if word.table else "text"
        yield from _wrap(f"runner-up {word.value} {word.metric}, {where}: {word.why or word.config}", "  ", "    ")
    rest = [choice for choice in found.end.inputs.inventory if choice.reason != "chosen"]
    for choice in (c for c in rest if c.item.startswith("table")):
        caption = textwrap.shorten(choice.caption, 60, placeholder=" …") or "no caption"
        yield from _wrap(f"{choice.item}: {choice.reason or 'no reason given'} ({caption})", "  ", "    ")
    by_reason: dict[str, list[str]] = {}
    for choice in (c for c in rest if not c.item.startswith("table")):
        by_reason.setdefault(choice.reason or "no reason given", []).append(choice.item.removeprefix("figure").strip())
    for reason, numbers in by_reason.items():
        named = ", ".join(number or "without a number" for number in numbers)
        yield from _wrap(f"figure{'s' * (len(numbers) > 1)} {named}: {reason}", "  ", "    ")
    if not rest:
        yield "  nothing: the paper has no other table or figure"


def _links(paper: Paper, derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[str]:
    """Yours, and links to artifacts that only the source holds; the rest is a number."""
    own = set(own_places(derived))
    shown = {subject(link.url) for link in paper.links if link.visible}
    yours, hidden, rest = [], [], 0
    for link in paper.links:
        name = current(subject(link.url), receipts)
        where = f"{link.anchor.file}:{link.anchor.line}"
        if link.visible and (name in own or presented_as_own(link)):
            yours.append(f"yours: {link.url} ({link.place}, {where})")
        elif (
            link.place in ("comment", "unrendered") and subject(link.url) not in shown and on(link.url, ARTIFACT_HOSTS)
        ):
            hidden.append(f"not in the PDF: {link.url} ({link.place}, {where})")
        else:
            rest += 1
    listed = [*dict.fromkeys(yours), *list(dict.fromkeys(hidden))[:SHOWN]]
    for line in listed:
        yield from _wrap(line, "  ", "    ")
    yield f"  {'and ' if listed else ''}{rest} others"


def _signals(derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[str]:
    by_id = {r.id: r for r in receipts}
    for label in derived.labels:
        yield from _wrap(f"{_QUESTIONS[label.signal]}: {answer_words(label)}. {_upper(why_words(label))}", "  ", "    ")
        cited = [by_id[i] for i in label.receipts if i in by_id]
        for receipt in cited[:SHOWN]:
            yield from _wrap(receipt_words(receipt), "    - ", "      ")
        if len(cited) > SHOWN:
            yield f"    - and {len(cited) - SHOWN} more"


_ENOUGH = {
    Signal.CODE: "a public place of yours holds code that runs the target",
    Signal.DATA: "a stranger gets everything the target needs",
    Signal.WEIGHTS: "a stranger gets the weights",
}


def why_words(label: Label) -> str:
    """A label's reason for somebody who does not know our rules; subjects as addresses."""
    if label.value and label.signal in _ENOUGH:
        return _ENOUGH[label.signal]
    if not label.applicable:
        return label.reason.removeprefix("not needed, ").removeprefix("not needed: ")
    return plain(re.sub(r"^undetermined: ", "no settled answer from ", why(label)))


def plain(reason: str) -> str:
    """A reason with its subjects as addresses."""
    return re.sub(r"\b(?:github:|hf:(?:model|dataset|space):|url:)[^\s,;()]+", lambda m: url(m[0]), reason)


def answer_words(label: Label) -> str:
    if not label.applicable:
        return "not needed"
    return {True: "yes", False: "no", None: "undetermined"}[label.value]


def receipt_words(receipt: Receipt) -> str:
    """What was probed, and what came back."""
    if receipt.subject.startswith("search:"):
        where = {"search:github": "GitHub", WEB_LEADS: "the web"}.get(receipt.subject, "the Hugging Face Hub")
        results = receipt.facts.get("results")
        count = "" if results is None else f": {len(results)} result{'s' * (len(results) != 1)}"
        return f"searched {where} for “{receipt.arguments.get('query')}”{count}, {receipt.reason}"
    facts = receipt.facts
    details = [receipt.reason]
    if facts.get("weights_open"):
        details.append(f"weights open: {_names(facts['weights_open'])}")
    if facts.get("data_open"):
        details.append(f"data open: {_names(facts['data_open'])}")
    if facts.get("train_entries"):
        details.append(f"trains: {', '.join(map(str, facts['train_entries'][:2]))}")
    if facts.get("eval_entries"):
        details.append(f"evaluates: {', '.join(map(str, facts['eval_entries'][:2]))}")
    if receipt.outcome is Outcome.AVAILABLE and "license" in facts and receipt.subject.startswith("github:"):
        details.append(f"licence: {facts['license'] or 'none'}")
    return f"{url(receipt.subject)}: {receipt.outcome} ({'; '.join(d for d in details if d)})"


def _names(entries: Iterable[Json]) -> str:
    listed = [str(e.get("path") or e.get("url") or e) if isinstance(e, dict) else str(e) for e in entries]
    return ", ".join(listed[:2]) + (f" and {len(listed) - 2} more" if len(listed) > 2 else "")


def _hours(paper: Paper, derived: Derivation) -> Iterator[str]:
    hours = derived.estimate
    if hours.mid is None:
        why_not = hours.reason if derived.inputs.compute else derived.inputs.basis or hours.reason
        yield from _wrap(f"unknown: {why_not}", "  ")
        for one in [m for m in paper.compute if not (m.denial or m.acknowledgement)][:3]:
            quote = textwrap.shorten(one.quote, 220, placeholder=" …")
            yield from _wrap(f"the paper says: “{quote}” ({one.anchor.file}:{one.anchor.line})", "  - ", "    ")
    else:
        band = f", band {derived.band}" if derived.band else ", above every band"
        low, high = f"{hours.low:.2g}", f"{hours.high:.2g}"
        yield f"  {hours.mid:.2g} H100-hours (between {low} and {high}, by the devices' factors){band}"
    for part in derived.inputs.compute:
        yield from _wrap(part_words(part), "  - ", "    ")
        if part.quote:
            yield from _wrap(f"“{textwrap.shorten(part.quote, 220, placeholder=' …')}”", "    ")
    if derived.inputs.basis and derived.inputs.compute:
        yield from _wrap(f"basis: {derived.inputs.basis} ({derived.inputs.basis_kind})", "  ", "    ")


def part_words(part: PartInput) -> str:
    """One part: runs × devices × time, and the factor of the device table."""
    device = compute.match_device(part.device)
    if part.device_hours is not None:
        time = f"{part.device_hours:.3g} device-hours"
    elif part.wall_hours is not None:
        count = "an unstated number of" if part.count is None else f"{part.count:g}"
        time = f"{count} × {part.wall_hours:.3g} h"
    else:
        time = "no time stated"
    named = part.device or "no device stated"
    factor = (
        f"{device.name} counts {device.factor:g} H100 ({device.low:g} to {device.high:g})" if device else "no factor"
    )
    return f"{part.kind}: {part.runs} run{'s' * (part.runs != 1)} of {time} on {named}; {factor}"


def _tier(derived: Derivation, way: str) -> Iterator[str]:
    if derived.tier is None:
        yield "  undetermined: what it reads is not known"
        reads = tiers.reads(signals(derived.labels), "needs")
        for label in derived.labels:
            if str(label.signal) in reads and label.value is None:
                reason = why_words(label) if way != "not asked" else "its links were not asked"
                yield from _wrap(f"{_QUESTIONS[label.signal]}: {reason}", "  - ", "    ")
    else:
        score = "" if derived.score_needs is None else f" (score {derived.score_needs} of 6)"
        yield from _wrap(f"{derived.tier}{score}: {_TIERS[derived.tier]}", "  ")
        if derived.tier is not Tier.OUT_OF_SCOPE:
            words = ", ".join(f"{_QUESTIONS[k.signal].lower()} {answer_words(k)}" for k in derived.labels)
            yield from _wrap(f"because: {words}", "  ")
    others = [r for r in derived.ineligible if not r.startswith("unverified")]
    if derived.tier is not Tier.OUT_OF_SCOPE and others:
        yield from _wrap(f"not eligible for a release: {'; '.join(others)}", "  ", "    ")


def _missing(derived: Derivation, lacking: Sequence[Missing], way: str) -> Iterator[str]:
    if derived.tier is Tier.OUT_OF_SCOPE:
        yield "  nothing: the tier does not apply"
        return
    for place, one in enumerate(lacking, start=1):
        yield from _wrap(f"{one.what} [{plain(one.evidence)}]", f"  {place}. ", "     ")
    if not lacking:
        yield "  nothing that the evidence shows"
    if way == "not asked":
        yield from _wrap("What lies behind the links was not looked at; more may be missing there.", "  ")


def _wrap(text: str, first: str, rest: str | None = None) -> list[str]:
    plain = " ".join(text.split())
    return textwrap.wrap(
        plain,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]  # no reason begins with an address


# --------------------------------------------------------------------------------------------------------------- JSON


def as_json(found: Examined | Exclusion, way: str) -> dict[str, Json]:
    """Everything the text says, and all receipts, for programs."""
    if isinstance(found, Exclusion):
        return {"links_asked": way, "excluded": _exclusion(found)}
    paper = found.paper
    head: dict[str, Json] = {
        "links_asked": way,
        "title": paper.title or found.record.title,
        "main": paper.main,
        "classifier": found.episode.classifier,
        "warnings": [*found.warnings, *paper.warnings],
    }
    if isinstance(found.end, Exclusion):
        return head | {"excluded": _exclusion(found.end)}
    derived, inputs = found.end, found.end.inputs
    by_id = {r.id: r for r in found.episode.receipts}
    answer = found.episode.answer
    return head | {
        "claim": {"sentence": inputs.central_claim, "quote": inputs.claim_quote, "kind": inputs.paper_kind},
        "target": None if inputs.target is None else inputs.target.model_dump(mode="json"),
        "target_problems": inputs.target_problems,
        "alternatives": [w.model_dump(mode="json") for w in (answer.target_alternatives if answer else [])],
        "inventory": [choice.model_dump(mode="json") for choice in inputs.inventory],
        "signals": {
            str(k.signal): {
                "answer": answer_words(k),
                "value": k.value,
                "verification": str(k.verification),
                "status": str(k.status),
                "reason": k.reason,
                "receipts": [by_id[i].to_json() for i in k.receipts if i in by_id],
            }
            for k in derived.labels
        },
        "hours": {
            "low": derived.estimate.low,
            "mid": derived.estimate.mid,
            "high": derived.estimate.high,
            "band": derived.band,
            "reason": derived.estimate.reason,
            "factors": list(derived.estimate.factor_ids),
            "parts": [part.model_dump(mode="json") for part in inputs.compute],
            "basis": inputs.basis,
        },
        "tier": derived.tier.value if derived.tier else None,
        "score": derived.score_needs,
        "ineligible": list(derived.ineligible),
        "missing": [{"what": m.what, "evidence": m.evidence} for m in missing(paper, derived, found.episode.receipts)],
    }


def _exclusion(found: Exclusion) -> dict[str, Json]:
    advice = _ADVICE.get(found.reason, "")
    return {"stage": found.stage, "reason": found.reason, "detail": found.detail, "advice": advice}
