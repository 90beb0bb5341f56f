"""What receipts and links show that is odd about the places which would have to hold code, data and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipeline.artifacts import presented_as_own, subject
from pipeline.derivation import Inputs
from pipeline.events import Question
from pipeline.evidence import Outcome, Receipt, Signal
from pipeline.lookalikes import alike
from pipeline.paper import Link, Paper

_ABOUT: Mapping[Signal, tuple[Question, str]] = {
    Signal.CODE: ("code_available", "code"),
    Signal.DATA: ("dataset_available", "data"),
    Signal.WEIGHTS: ("weights_available", "weights"),
}


def places(inputs: Inputs, receipts: Mapping[str, Receipt], paper: Paper) -> Iterator[tuple[Question, str]]:
    """Each oddity of a place, with the question it is about."""
    linked = {subject(link.url): link for link in reversed(paper.links)}
    known = [receipts[i] for i in inputs.receipts if i in receipts]
    seen: set[str] = set()
    for signal, (question, word) in _ABOUT.items():
        groups = inputs.contexts.get(str(signal), {}).get("groups", [])
        own = {place for group in groups for place in group} - (seen if signal is Signal.WEIGHTS else set())
        seen |= own
        for receipt in (r for r in known if r.subject in own):
            for text in _oddities(receipt, signal):
                yield (question, f"{receipt.subject}: {text}")
            link = linked.get(receipt.subject)
            if signal is Signal.DATA or receipt.subject.startswith("supplement:"):
                continue
            if link is None:
                if twin := _twin(receipt.subject, linked):
                    yield (question, f"{receipt.subject}: looks like {twin}, which the paper links, and is another")
                elif not receipt.facts.get("names_paper"):
                    yield (question, f"{receipt.subject}: neither linked by the paper nor naming it")
                elif theirs := _of_the_kind(receipt.subject, linked):
                    yield (question, f"{receipt.subject}: not linked by the paper, which links {theirs}")
            elif not link.visible:
                yield (question, f"{receipt.subject}: linked only where no reader sees it ({link.place})")
            elif not presented_as_own(link) and not receipt.facts.get("names_paper"):
                yield (question, f"{receipt.subject}: the paper does not present it as its own {word}")


def _twin(place: str, linked: Mapping[str, Link]) -> str | None:
    """A linked place whose owner the eye takes for this one's."""
    kind, _, name = place.rpartition(":")
    owner = name.partition("/")[0]
    for other in linked:
        if other.rpartition(":")[0] == kind and "/" in other:
            theirs = other.rpartition(":")[2].partition("/")[0]
            if theirs != owner and alike(owner, theirs):
                return other
    return None


def _of_the_kind(place: str, linked: Mapping[str, Link]) -> str | None:
    """A place on the same service that the paper links as its own."""
    kind = place.rpartition(":")[0]
    return next((o for o, link in linked.items() if o.rpartition(":")[0] == kind and presented_as_own(link)), None)


def _oddities(receipt: Receipt, signal: Signal) -> Iterator[str]:
    facts = receipt.facts
    if receipt.outcome is not Outcome.AVAILABLE:
        yield f"{receipt.outcome} ({receipt.reason})"
    elif facts.get("gated"):
        yield f"gated ({facts['gated']})"
    if facts.get("authenticated"):
        yield "asked with credentials, so not a stranger's view"
    for fact, text in _ODD_FACTS.items():
        if facts.get(fact) and not (fact == "wall" and receipt.outcome is Outcome.GATED):
            yield text
    if facts.get("fork_of"):
        yield f"a fork of {facts['fork_of']}"
    if facts.get("moved_elsewhere"):
        yield f"moved to {facts['moved_elsewhere']}"
    if signal is Signal.CODE and receipt.outcome is Outcome.AVAILABLE:
        if facts.get("eval_only"):
            yield "code for evaluation only"
        said = facts.get("empty") or facts.get("readme_only")
        if facts.get("code_files") in (0, []) and not said and not receipt.subject.startswith("url:"):
            yield "no code files"
    if signal is Signal.WEIGHTS and facts.get("adapter_only"):
        yield f"an adapter of {facts.get('base_model') or 'an unnamed base'}"


_ODD_FACTS = {
    "empty": "empty",
    "readme_only": "nothing but a README",
    "website_only": "a website only",
    "coming_soon": "says that it is coming soon",
    "lfs_pointers": "holds pointers in place of files",
    "soft_404": "a page that says it is not there",
    "wall": "behind a wall",
}
