"""A search of the open web, where a run has an engine for it: leads to look at with other tools, evidence of nothing.

Off unless configured. The engine is asked through the recorder and its guard as any host is; its key is a header that
the recorder neither keeps nor shows. Answers are read as SearXNG gives them (https://docs.searxng.org/dev/search_api.html),
or with the same list under `web`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from pipeline.evidence import WEB_LEADS, Json, Outcome
from pipeline.sources.on_github import invalid
from pipeline.sources.outcomes import Finding, json_of, refused
from pipeline.sources.recorder import Answer, Recorder

KEY = "RECLAIM_WEB_SEARCH_KEY"
LEADS = 10
"""Leads of one search that are shown."""
CHARS = 200
"""Characters of a title, and of what an engine says of a page."""
URL_CHARS = 500


@dataclass(frozen=True, slots=True)
class Engine:
    """A search engine: `template` is its URL with `{query}` in it, `key` the bearer token it wants, or ""."""

    template: str
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, template: str | None, environ: Mapping[str, str]) -> Engine | None:
        """The configured engine with the environment's key; None where none is configured."""
        return None if template is None else cls(template, environ.get(KEY, ""))

    def ask(self, recorder: Recorder, query: str) -> Answer:
        headers = {"accept": "application/json"} | ({"authorization": f"Bearer {self.key}"} if self.key else {})
        return recorder.ask("GET", self.template.replace("{query}", quote(query, safe="")), headers=headers)


def search(recorder: Recorder, engine: Engine | None, query: str) -> Finding:
    """At most ten leads. Its facts are no more than the query and how many: no rule can read anything out of them."""
    query = " ".join(query.split())
    if not query or len(query) > 256:
        return invalid(WEB_LEADS, "a query has 1 to 256 characters")
    if engine is None:
        return _nothing(query, "not_configured: no web search in this run")
    answer = engine.ask(recorder, query)
    verdict = refused(answer, recorder)
    if verdict is not None:
        return _nothing(query, verdict[1])
    found = _listed(json_of(answer))
    if found is None:
        return _nothing(query, "answer is not a list of results")
    leads = list(_leads(found))[:LEADS]
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason="leads, which prove nothing",
        subject=WEB_LEADS,
        facts={"query": query.casefold(), "leads": len(leads)},
        content={"leads": leads},
    )


def _nothing(query: str, reason: str) -> Finding:
    return Finding(
        outcome=Outcome.UNDETERMINED,
        reason=reason,
        subject=WEB_LEADS,
        facts={"query": query.casefold()},
        content={"error": reason},
    )


def _listed(told: Json) -> list[Json] | None:
    for place in (told, told.get("web") if isinstance(told, dict) else None):
        if isinstance(place, dict) and isinstance(place.get("results"), list):
            return list(place["results"])
    return None


def _leads(found: list[Json]) -> Iterator[dict[str, Json]]:
    """Each page once, in the engine's order; what is no web address, or too long to be asked for, is no lead."""
    seen: set[str] = set()
    for one in found:
        url = one.get("url") if isinstance(one, dict) else None
        if not isinstance(url, str) or not url.startswith(("http://", "https://")) or len(url) > URL_CHARS:
            continue
        if url in seen or not url.isprintable() or " " in url:
            continue
        seen.add(url)
        yield {"url": url, "title": _plain(one.get("title")), "text": _plain(one.get("content"))}


def _plain(text: Json) -> str:
    """One line without control or format characters, cut."""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    return "".join(c for c in words if c.isprintable())[:CHARS]
