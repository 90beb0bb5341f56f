"""The link check: every URL of paper, README and supplement resolved outside the model, before it is asked anything.

Its receipts come first in the episode. A link that is not probed (over the bound) leaves an undetermined receipt: it
was not seen, which is not absence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from classifiers.places import call_for
from classifiers.toolbox import Desk, subject_asked
from pipeline.answers import Answer
from pipeline.artifacts import ARTIFACT_HOSTS, PAPER_HOSTS, linked, on, presented_as_own, subject
from pipeline.evidence import Outcome, Receipt
from pipeline.paper import Link, Paper

_URL = re.compile(r"https?://[^\s<>\"'`{}|\\^\[\]()]+[^\s<>\"'`{}|\\^\[\]().,;:!?]")
_TEXTS = re.compile(r"(^|/)(readme[^/]*|[^/]*\.(md|txt|rst))$", re.IGNORECASE)
MAX_SUPPLEMENT_TEXTS = 5


def check(desk: Desk) -> tuple[str, ...]:
    """Resolve the links of paper, supplement and own repositories' READMEs; returns the receipts' ids, in call
    order.
    """
    start = len(desk.receipts)
    seen: set[str] = set()
    _resolve(desk, [link.url for link in ordered(desk.given.paper)], seen)
    _resolve(desk, _supplement_urls(desk), seen)
    own = {subject(link.url) for link in desk.given.paper.links if presented_as_own(link, desk.given.paper.title)}
    readmes = [r for r in desk.receipts[start:] if {r.subject, subject_asked(r.tool, r.arguments)} & own]
    _resolve(desk, [str(url) for r in readmes for url in r.facts.get("readme_links") or ()], seen)
    return tuple(r.id for r in desk.receipts[start:])


def ordered(paper: Paper) -> list[Link]:
    """The links to resolve, those first that could be an artifact: own before others, visible before hidden, pages
    to read last.

    Of the bibliography only hosts of code and data: the rest is literature.
    """

    def rank(link: Link) -> int:
        if presented_as_own(link, paper.title):
            return 0
        host = 0 if on(link.url, ARTIFACT_HOSTS) else 2 if on(link.url, PAPER_HOSTS) else 1
        return 1 + host + (0 if link.visible and link.place != "bibliography" else 3)

    kept = [k for k in paper.links if k.place != "bibliography" or on(k.url, ARTIFACT_HOSTS)]
    return sorted((k for k in kept if k.url.lower().startswith(("http://", "https://"))), key=rank)


def _supplement_urls(desk: Desk) -> Iterator[str]:
    """URLs of the supplement's READMEs and other texts, the outermost first; its manifest is looked at once."""
    if desk.given.supplement:
        desk.call("supplement_file", {"path": ""})
    texts = [path for path, _ in desk.given.supplement if _TEXTS.search(path)]
    for path in sorted(texts, key=lambda p: (p.count("/"), p))[:MAX_SUPPLEMENT_TEXTS]:
        receipt, content = desk.call("supplement_file", {"path": path})
        yield from receipt.facts.get("links") or _URL.findall(str(content.get("text", "")))


def _resolve(desk: Desk, urls: Iterable[str], seen: set[str]) -> None:
    for url in urls:
        call = call_for(url)
        if call.key in seen:
            continue
        seen.add(call.key)
        arguments = dict(call.arguments)
        if len(seen) <= desk.limits.links:
            desk.call(call.tool, arguments)
        else:
            desk.receipts.append(
                Receipt(
                    paper=desk.given.record,
                    tool=call.tool,
                    arguments=arguments,
                    exchanges=(),
                    outcome=Outcome.UNDETERMINED,
                    reason=f"not_probed: over the bound of {desk.limits.links} links",
                    subject=subject_asked(call.tool, arguments),
                )
            )


def flags(answer: Answer, paper: Paper, receipts: Sequence[Receipt]) -> list[str]:
    """What a person should look at first: the answer says "no code" while the paper links a repository that lives."""
    if answer.signals.code_available.value:
        return []
    links = set(linked(paper))
    live = [
        r.subject
        for r in receipts
        if r.outcome is Outcome.AVAILABLE
        and r.facts.get("code_files")
        and {r.subject, subject_asked(r.tool, r.arguments)} & links
    ]
    return [f"says no code, but the paper links a live repository: {name}" for name in dict.fromkeys(live)]
