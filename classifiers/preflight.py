"""An author's preflight: what keeps a paper from tier Run, most useful first, and only what the evidence shows.

Rules over a derivation and its receipts. Nothing is said about a place that nobody could look at, beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.artifacts import CODE_HOSTS, current, names, on, presented_as_own, subject, url
from pipeline.derivation import Derivation
from pipeline.evidence import Outcome, Receipt, Signal, Verification
from pipeline.labels import Label
from pipeline.paper import Paper
from pipeline.tiers import Tier


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing to mend: what, and what shows it."""

    what: str
    evidence: str


def missing(paper: Paper, derived: Derivation, receipts: Sequence[Receipt]) -> tuple[Missing, ...]:
    """What to mend, in the order in which it moves the tier: data, code, weights; then target, hours and the rest."""
    if derived.tier is Tier.OUT_OF_SCOPE:
        return ()
    found = [
        *_data(derived),
        *_code(paper, derived, receipts),
        *_hidden(paper, derived, receipts),
        *_weights(derived, receipts),
        *_gone(paper, derived, receipts),
        *_target(derived),
        *_hours(derived),
        *_needs(derived),
        *_licences(derived, receipts),
        *_unanswered(paper, derived, receipts),
        *_unknown(paper, derived, receipts),
    ]
    return tuple(dict.fromkeys(found))


SEARCHED = "every link was resolved, and complete searches found nothing that would do"


def why(label: Label) -> str:
    """A label's reason, with what "nothing found" rests on."""
    searched = label.verification is Verification.SEARCHED_NOT_FOUND and label.signal is not Signal.STANDARD
    return SEARCHED if searched else label.reason


def own_places(derived: Derivation) -> tuple[str, ...]:
    """Subjects that the code signal was judged on, sorted."""
    groups = derived.inputs.contexts[str(Signal.CODE)]["groups"]
    return tuple(sorted({name for group in groups for name in group}))


def _data(derived: Derivation) -> Iterator[Missing]:
    data, standard = derived.label(Signal.DATA), derived.label(Signal.STANDARD)
    if not data.applicable or data.value or standard.value:
        return
    sets = ", ".join(derived.inputs.datasets) or "no data set is named"
    if data.value is False and standard.value is False:
        yield Missing(f"No open place was found for the target's data ({sets}).", f"{why(data)}; {why(standard)}")


def _code(paper: Paper, derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[Missing]:
    label = derived.label(Signal.CODE)
    if label.value or not label.applicable:
        return
    own = own_places(derived)
    shown = {current(subject(link.url), receipts) for link in paper.links if link.visible}
    if not shown & set(own):
        yield Missing(
            "The PDF shows no link to code of your own.", f"{len(paper.links)} links read, none of them yours"
        )
    for receipt in _about(own, receipts):
        facts, place = receipt.facts, url(receipt.subject)
        if receipt.outcome is Outcome.UNAVAILABLE:
            yield Missing(f"{place} is gone.", receipt.reason)
        elif receipt.outcome is Outcome.GATED:
            yield Missing(f"A stranger may not see {place}.", receipt.reason)
        elif receipt.outcome is Outcome.AVAILABLE and receipt.subject.startswith("github:") and "code_files" in facts:
            yield from _no_code(
                place, receipt, training=bool(derived.inputs.training in ("trained", "is_the_experiment"))
            )


def _hidden(paper: Paper, derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[Missing]:
    """Links to code hosts that the source holds and the PDF does not show."""
    own = own_places(derived)
    shown = {subject(link.url) for link in paper.links if link.visible}
    for link in paper.links:
        name, reason = subject(link.url), _HIDDEN.get(link.place)
        if link.visible or reason is None or name in shown or not on(link.url, CODE_HOSTS):
            continue
        where = f"{link.anchor.file}:{link.anchor.line}, {reason}"
        if current(name, receipts) in own:
            yield Missing(f"The PDF does not show your link {link.url}.", where)
        elif link.place != "bibliography":
            yield Missing(f"The PDF does not show {link.url}; if that is your code, show it.", where)


_HIDDEN = {
    "comment": "a comment",
    "unrendered": "a macro or passage that is never typeset",
    "bibliography": "a bibliography entry that nothing cites",
}


def _no_code(place: str, receipt: Receipt, *, training: bool) -> Iterator[Missing]:
    facts = receipt.facts
    if facts.get("empty"):
        yield Missing(f"{place} is empty.", receipt.reason)
    elif not facts["code_files"]:
        what = "a website" if facts.get("website_only") else "a README" if facts.get("readme_only") else "no code"
        soon = "; ".join(map(str, facts.get("coming_soon") or ()))[:200]
        said = f"; its README says “{soon}”" if soon else ""
        yield Missing(f"{place} holds {what}, no code that runs.", f"{facts.get('files')} files{said}")
    elif training and facts.get("eval_entries") and not facts.get("train_entries"):
        entries = ", ".join(map(str, facts["eval_entries"][:3]))
        yield Missing(f"{place} evaluates but does not train, and the target must be trained.", entries)


def _weights(derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[Missing]:
    label = derived.label(Signal.WEIGHTS)
    if label.value or not label.applicable:
        return
    by_id = {r.id: r for r in receipts}
    for receipt in (by_id[i] for i in label.receipts if i in by_id):
        if receipt.outcome is Outcome.GATED:
            yield Missing(f"The weights at {url(receipt.subject)} are gated.", receipt.reason)
        elif receipt.facts.get("adapter_only"):
            yield Missing(f"{url(receipt.subject)} holds an adapter without its base.", receipt.reason)
    if label.value is False and not any(by_id[i].outcome is Outcome.GATED for i in label.receipts if i in by_id):
        yield Missing("No checkpoint of exactly the target's configuration is open to a stranger.", why(label))


def _target(derived: Derivation) -> Iterator[Missing]:
    inputs = derived.inputs
    if inputs.target is None:
        why = "; ".join(inputs.target_problems) or "no table or sentence prints a number for the claim's own method"
        yield Missing("No printed number could be pinned as the result to reproduce.", why)
    else:
        for problem in inputs.target_problems:
            yield Missing("The target cannot be graded by code.", problem)


def _hours(derived: Derivation) -> Iterator[Missing]:
    if derived.estimate.mid is None and not derived.inputs.needs.get("paid_api"):
        why = derived.estimate.reason if derived.inputs.compute else derived.inputs.basis or derived.estimate.reason
        yield Missing("The hours of one rerun cannot be derived.", why)
    for reason in derived.ineligible:
        if reason.startswith("above the cap"):
            yield Missing("One rerun costs more than the benchmark takes.", reason)


def _needs(derived: Derivation) -> Iterator[Missing]:
    for need, quote in sorted(derived.inputs.needs.items()):
        yield Missing(f"The target needs {_NEEDS[need]}.", f"“{quote[:200]}”")


_NEEDS = {
    "paid_api": "a paid or closed API",
    "human_raters": "human raters",
    "special_hardware": "special hardware",
    "licensed_simulator": "a licensed simulator",
}


def _licences(derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[Missing]:
    for receipt in _about(own_places(derived), receipts):
        holds = receipt.outcome is Outcome.AVAILABLE and receipt.facts.get("code_files")
        if holds and receipt.subject.startswith("github:") and receipt.facts.get("license", "unseen") is None:
            yield Missing(f"{url(receipt.subject)} has no licence.", "its host recognises no licence file")


def _waiting(paper: Paper, derived: Derivation, receipts: Sequence[Receipt]) -> list[Receipt]:
    """Own places and data places that were asked and settled nothing: a release asks them again a day later."""
    wanted = {current(subject(link.url), receipts) for link in paper.links if presented_as_own(link)}
    wanted |= {r.subject for r in receipts for name in derived.inputs.datasets if ":" in r.subject and names(name, r)}
    settled = {r.subject for r in receipts if r.outcome is not Outcome.UNDETERMINED}
    asked = [r for r in receipts if r.exchanges and not r.subject.startswith("search:")]
    return list({r.subject: r for r in asked if r.subject in wanted - settled}.values())


def _gone(paper: Paper, derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[Missing]:
    for receipt in _waiting(paper, derived, receipts):
        kind, _, said = receipt.reason.partition(": ")
        if kind == "gone_once":
            yield Missing(
                f"{url(receipt.subject)} is not there.", f"{said}, once; two such answers a day apart prove it"
            )


def _unanswered(paper: Paper, derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[Missing]:
    for receipt in _waiting(paper, derived, receipts):
        if not receipt.reason.startswith("gone_once"):
            yield Missing(f"{url(receipt.subject)} gave no answer.", receipt.reason)


def _unknown(paper: Paper, derived: Derivation, receipts: Sequence[Receipt]) -> Iterator[Missing]:
    """Questions that were asked and stayed open for another reason than a place that is listed already."""
    if not any(receipt.exchanges for receipt in receipts):
        return
    listed = [receipt.subject for receipt in _waiting(paper, derived, receipts)]
    for label in derived.labels:
        if label.value is None and label.signal in _OPEN and not any(name in label.reason for name in listed):
            yield Missing(f"It stays open whether {_OPEN[label.signal]}.", label.reason)


_OPEN = {
    Signal.CODE: "a stranger finds code that runs the target",
    Signal.DATA: "a stranger gets the target's data",
    Signal.WEIGHTS: "a stranger gets the weights",
}


def _about(places: Sequence[str], receipts: Sequence[Receipt]) -> list[Receipt]:
    """The last receipt of each tool about each place, in call order."""
    return list({(r.subject, r.tool): r for r in receipts if r.subject in places}.values())
