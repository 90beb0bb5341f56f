"""Step 7 of the guide: where to look next. Leads first, then the homes of the data, then searches that prove
absence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from classifiers.embedded.sights import Sight, View, carries
from classifiers.embedded.words import words
from classifiers.places import Call, call_for
from pipeline import artifacts, reference
from pipeline.evidence import Outcome, Signal

DISTINCT = 2
"""Distinct searches of repositories without which nothing is called absent."""
FOLLOWED = 8
"""Leads followed from one page or README, and results looked at from one kind of search."""


def wanted(view: View, asked: AbstractSet[str]) -> list[Call]:
    """The calls worth making now, in order, each once, without those whose keys are in `asked`, whatever came of them.

    Searches wait until no lead is left: a lead that finds the artifact spares them, one that dies asks for them.
    """
    if view.reading.kind != "empirical":
        return []
    leads = _new(asked, [*_leads(view), *_behind_pages(view), *_bases(view), *_homes(view)])
    return leads or _new(asked, [*_code_searches(view), *_weights_searches(view), *_data_searches(view)])


def _new(asked: AbstractSet[str], calls: list[Call]) -> list[Call]:
    return list({c.key: c for c in calls if c.key not in asked}.values())


def _leads(view: View) -> Iterator[Call]:
    """Own pages and READMEs lead to repositories and Hub entries: the place is what counts, not the page."""
    for receipt in view.receipts:
        if receipt.subject not in view.own or receipt.outcome is not Outcome.AVAILABLE:
            continue
        facts = receipt.facts
        urls = [str(u) for u in (*(facts.get("readme_links") or ()), *(facts.get("links") or ()))]
        artifact = [u for u in urls if artifacts.on(u, artifacts.ARTIFACT_HOSTS) and not _is_page(u)]
        yield from (call_for(u) for u in artifact[:FOLLOWED])


def _behind_pages(view: View) -> Iterator[Call]:
    """An own page `owner.github.io/name` is built from the repository `owner/name`: the first place to look for
    code.
    """
    for subject in view.own:
        page = re.fullmatch(r"url:https://([\w-]+)\.github\.io/([\w.-]+)", subject)
        if page is not None:
            yield Call.of("github_repo", repo=f"{page[1]}/{page[2]}")


def _bases(view: View) -> Iterator[Call]:
    """The base model of an own adapter: without it the adapter is nothing to run."""
    for receipt in view.receipts:
        if receipt.subject in view.own and receipt.facts.get("adapter_only"):
            named = receipt.facts.get("base_model")
            bases = [named] if isinstance(named, str) else [str(b) for b in named or ()]
            yield from (Call.of("hub_repo", kind="model", repo=base) for base in bases[:2] if base.count("/") == 1)


def _is_page(url: str) -> bool:
    """An organisation, a badge or an issue list on an artifact host is no artifact."""
    subject = artifacts.subject(url)
    on_hub = artifacts.on(url, ("github.com", "huggingface.co"))
    return (on_hub and subject.startswith("url:")) or bool(
        re.search(r"/(issues|actions|stargazers|network|badge)", url)
    )


def _homes(view: View) -> Iterator[Call]:
    """The home of each listed benchmark that the target is measured or trained on."""
    for word in (*view.reading.data.datasets, *view.reading.data.training):
        listed = reference.benchmark(word.name)
        if listed is not None and not word.custom:
            yield call_for(listed.home)


def title_of(view: View) -> str:
    """The paper's title; where its source prints none, the one it is listed under, else how its abstract begins."""
    given = view.briefing.given
    return " ".join((given.paper.title or given.title or " ".join(given.paper.abstract.split()[:8])).split())


def names(view: View) -> list[str]:
    """What to search by: the own method's names, else the title's head."""
    title = title_of(view)
    head = title.partition(":")[0]
    return [*view.reading.own.names[:2], *([head] if len(head.split()) <= 6 else [])]


def _code_searches(view: View) -> Iterator[Call]:
    """By title, and by name with the title's rarest words; then the hits that carry the name or the title."""
    if view.meeting(Signal.CODE):
        return
    title = title_of(view)
    known = names(view)
    queries = _code_queries(title, known, view.briefing.given.paper.abstract)
    yield from (Call.of("github_search_repositories", query=q) for q in queries)
    if len(queries) < DISTINCT:
        yield Call.of("github_search_code", query=_query(title))
    found = view.results("github_search_repositories")
    bearing = [hit for hit in found if any(carries(name, hit) for name in known)]
    likely = [hit for hit in found if hit not in bearing and _likely(hit, title)]
    yield from (Call.of("github_repo", repo=hit) for hit in [*bearing[:FOLLOWED], *likely[:3]])


def _code_queries(title: str, known: list[str], abstract: str) -> list[str]:
    """Distinct searches for a repository: the title, the name with the title's rarest words, the name alone, and the
    name without its version or size ("Atlas" for "Atlas5M").
    """
    rest = [w for w in re.findall(r"[A-Za-z][\w-]{3,}", title) if w.lower() in words(title)]
    first = known[0] if known else ""
    told = [title, " ".join(dict.fromkeys([first, *rest[:2]])) if first else " ".join(rest[:4])]
    if len(first) >= 5 and not first.islower():
        told += [first, re.sub(r"[-_ ]?v?\d+(?:\.\d+)?[KMBk]?$", "", first)]
    queries = [q for q in dict.fromkeys(map(_query, told)) if len(q) >= 4]
    if len(queries) < DISTINCT:
        # A title of one word is not two searches; the abstract's first long words make the second.
        queries.append(_query(" ".join([title, *re.findall(r"[A-Za-z-]{7,}", abstract)[:2]])))
    return list(dict.fromkeys(queries))


def _weights_searches(view: View) -> Iterator[Call]:
    """Also where nothing seems to be trained: whether that is so is decided elsewhere, and one search settles it
    either way.
    """
    if view.meeting(Signal.WEIGHTS):
        return
    yield from (Call.of("hub_search", kind="model", query=query) for query in _hub_queries(view))
    hits = [h for h in view.results("hub_search", "model") if any(carries(n, h) for n in names(view))]
    yield from (Call.of("hub_repo", kind="model", repo=hit) for hit in hits[:FOLLOWED])


def _hub_queries(view: View) -> list[str]:
    """The own name; and, where the title does not bear it or there is none, the title's telling words: a search that
    holds none of them did not ask for this paper.
    """
    title, known = title_of(view), names(view)
    telling = artifacts.telling_words(title)
    queries = [_query(known[0])] if known else []
    if not any(artifacts.telling_words(q) & telling for q in queries):
        queries.append(" ".join([w for w in _query(title).split() if artifacts.telling_words(w) & telling][:3]))
    return [q for q in dict.fromkeys(queries) if q]


def _data_searches(view: View) -> Iterator[Call]:
    """Data sets that no sight shows open or shut: search the Hub by name and look at what carries it."""
    if not view.reading.data.datasets and not view.reading.data.made:
        # No data set could be named: what the Hub holds under the paper's own name is all that can be asked.
        yield from (Call.of("hub_search", kind="dataset", query=query) for query in _hub_queries(view))
    for word in view.reading.data.datasets:
        if any(s.receipt.outcome is not Outcome.UNDETERMINED and not _silent(view, s) for s in view.data_sights(word)):
            continue
        yield Call.of("hub_search", kind="dataset", query=_query(word.name))
        hits = [hit for hit in view.results("hub_search", "dataset") if carries(word.name, hit)]
        yield from (Call.of("hub_repo", kind="dataset", repo=hit) for hit in hits[:FOLLOWED])


def _silent(view: View, sight: Sight) -> bool:
    """Available, and yet no data: a page or a repository that says nothing about where the data is."""
    return sight.receipt.outcome is Outcome.AVAILABLE and not view.opens(sight)


def _likely(hit: str, title: str) -> bool:
    """Whether a repository's name shares much of the title."""
    shared = words(title) & words(hit.replace("/", " ").replace("-", " ").replace("_", " "))
    return len(shared) >= max(2, len(words(title)) // 3)


def _query(text: str) -> str:
    """Words only, within the services' 256 characters: search operators in a title are text, not orders."""
    return " ".join(re.findall(r"[\w][\w.+-]*", text))[:200]
