"""Four probes of GitHub: two searches, overview, tree. Files: `github_files`."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from pipeline.evidence import Json, Outcome
from pipeline.sources import github_lookup
from pipeline.sources.github_bytes import opened
from pipeline.sources.github_lookup import Known
from pipeline.sources.github_trees import Listing, follow, place_of, tree_of
from pipeline.sources.outcomes import Finding, Verdict, json_of, refused, undetermined
from pipeline.sources.reach import Reach
from pipeline.sources.reading import Entry, about_files, coming_soon, front_page, links_in, names_paper
from pipeline.sources.recorder import Answer
from pipeline.textfiles import readable

_NAME = re.compile(r"(?:https?://)?(?:www\.)?(?:github\.com/)?([\w.-]+)/([\w.-]+?)(?:\.git)?(?:[/?#].*)?", re.ASCII)
NAMED = 20
"""Results of a search that its facts name."""
SHOWN = 200
"""Entries of a list that an agent is shown."""
_README_CHARS = 12_000


def split_name(repo: str) -> tuple[str, str] | None:
    match = _NAME.fullmatch(repo.strip())
    return (match[1], match[2]) if match and match[2] not in (".", "..") else None


def subject_of(full_name: str) -> str:
    return f"github:{full_name}".lower()


def invalid(subject: str, what: str) -> Finding:
    """A bad argument says nothing about any artifact."""
    return Finding(
        outcome=Outcome.UNDETERMINED,
        reason=f"invalid_argument: {what}",
        subject=subject,
        content={"error": f"invalid argument: {what}"},
    )


# Searches


def search_repositories(reach: Reach, query: str) -> Finding:
    return _search(reach, query, "repositories")


def search_code(reach: Reach, query: str) -> Finding:
    return _search(reach, query, "code")


def _search(reach: Reach, query: str, kind: str) -> Finding:
    query = " ".join(query.split())
    if not query or len(query) > 256:
        return invalid("search:github", "a query has 1 to 256 characters")
    if kind == "code":
        answer = reach.github(f"/search/code?{urlencode({'q': query, 'per_page': 30})}")
    else:
        answer = reach.github(f"/search/repositories?{urlencode({'q': query, 'per_page': 30})}")
    body, verdict = json_of(answer), refused(answer, reach.recorder)
    if kind == "code" and answer.status == 401:
        verdict = undetermined("code search needs a token")
    elif verdict is not None and verdict[0] is not Outcome.UNDETERMINED:
        verdict = undetermined(verdict[1])  # a search that was refused found out nothing about an artifact
    if verdict is None and not isinstance(body, dict):
        verdict = undetermined("answer is not JSON")
    if verdict is not None:
        return Finding(
            outcome=verdict[0],
            reason=verdict[1],
            subject="search:github",
            facts={"complete": False, "query": query.casefold()},
            content={"error": verdict[1]},
        )
    items: list[Any] = [i for i in body.get("items") or () if isinstance(i, dict)]
    complete = body.get("incomplete_results") is False
    if kind == "code":
        found = [{"repo": i.get("repository", {}).get("full_name"), "path": i.get("path")} for i in items]
    else:
        found = [
            {"repo": i.get("full_name"), "description": i.get("description"), "stars": i.get("stargazers_count")}
            for i in items
        ]
    names = list(dict.fromkeys(str(f["repo"]) for f in found if f["repo"]))
    # One spelling of a query and the names that came, so that a rule can tell queries apart and ask what was probed.
    facts = {
        "complete": complete,
        "query": query.casefold(),
        "results": names[:NAMED],
        "total": body.get("total_count"),
    }
    return Finding(
        outcome=Outcome.AVAILABLE if complete else Outcome.UNDETERMINED,
        reason="complete search" if complete else "incomplete_results",
        subject="search:github",
        facts=facts,
        content={"total": body.get("total_count"), "complete": complete, "results": found[:NAMED]},
    )


# A repository


def overview(reach: Reach, repo: str) -> Finding:
    """Metadata, README, releases and the whole tree, with what a stranger gets bytes of."""
    return _repository(reach, repo, None, readme=True)


def tree(reach: Reach, repo: str, path: str, ref: str | None) -> Finding:
    """The tree at a folder; the facts are about the whole repository at that ref."""
    finding = _repository(reach, repo, ref, readme=False)
    prefix = path.strip("/")
    shown: list[Json] = [
        entry
        for entry in finding.content.get("tree", [])
        if not prefix or entry["path"] == prefix or entry["path"].startswith(f"{prefix}/")
    ]
    content = {k: v for k, v in finding.content.items() if k in ("repo", "commit", "error", "truncated")}
    content |= {"path": prefix, "entries": shown[:SHOWN], "more": max(0, len(shown) - SHOWN)}
    return Finding(
        outcome=finding.outcome, reason=finding.reason, subject=finding.subject, facts=finding.facts, content=content
    )


def _repository(reach: Reach, repo: str, ref: str | None, *, readme: bool) -> Finding:
    name = split_name(repo)
    if name is None:
        return invalid(f"github:{repo.strip().lower()[:100]}", "a repository is owner/name")
    asked = "/".join(name)
    known = github_lookup.known(reach, name)
    if isinstance(known, tuple):
        return _closed(asked, known, {"asked": asked, "authenticated": False})  # its page says so to strangers
    told = _told(reach, asked) if known is None else known.told
    if isinstance(told, tuple):
        return _closed(asked, told)
    full_name = str(told["full_name"])
    facts, elsewhere = _metadata(told, asked), moved(asked, full_name)
    if told.get("disabled"):
        return _closed(asked, (Outcome.GATED, "disabled_by_host"), facts, full_name)
    if known is not None and not known.at_head(ref):
        known = None  # it knows the head and nothing else
    branch = ref or str(told.get("default_branch") or "HEAD")
    listing = listing_of(reach, full_name, branch, known)
    if isinstance(listing, tuple):
        return _closed(asked, listing, facts, full_name)
    at = str(listing.commit or branch)
    unseen: list[str] = ["tree"] if listing.truncated else []
    follow(reach, full_name, at, listing, unseen)
    facts |= about_files(listing.entries) | {
        "commit": listing.commit if listing.entries else None,
        "empty": listing.empty,
        "tree_truncated": listing.truncated,
        "submodules": listing.submodules,
    }
    if listing.empty:
        facts["readme_only"] = False
    content: dict[str, Json] = {
        "repo": full_name,
        "commit": facts["commit"],
        "description": told.get("description"),
        "archived": facts["archived"],
        "fork_of": facts["fork_of"],
        "license": facts["license"],
        "pushed_at": told.get("pushed_at"),
        "truncated": listing.truncated,
        "submodules": listing.submodules,
        "tree": [{"path": e.path, "size": e.size} for e in listing.entries],
    }
    if (readme or elsewhere) and not listing.empty:
        text = _readme(reach, full_name, at, listing.entries, known, unseen)
        about = about_readme(reach, f"{told.get('description') or ''}\n{text}")
        if elsewhere and not about["names_paper"]:
            facts["moved_elsewhere"] = True
        if readme:
            facts |= about
            content["readme"] = text[:_README_CHARS]
    if readme:
        facts["release_assets"] = _assets(reach, full_name, unseen) if known is None or known.assets else []
    facts |= opened(reach, partial(place_of, listing, full_name, at), listing.entries, facts, unseen)
    facts["unseen"] = unseen
    if listing.truncated and not facts["code_files"]:
        return _closed(asked, undetermined("tree_truncated"), facts, full_name)
    if readme:
        content["tree"] = content["tree"][:SHOWN]
    content |= {key: facts[key] for key in ("weights_open", "data_open", "release_assets") if key in facts}
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason="repository is empty" if listing.empty else f"{facts['code_files']} code files",
        subject=subject_of(full_name),
        facts=facts,
        content=content,
    )


def _told(reach: Reach, asked: str) -> Mapping[str, Any] | Verdict:
    """The repository as the REST API tells it, or what became of it."""
    answer = reach.github(f"/repos/{asked}")
    told = json_of(answer)
    verdict = refused(answer, reach.recorder)
    if reach.tokens and answer.status in (401, 403) and b"access blocked" not in answer.body:
        verdict = undetermined(f"token_refused: {answer.status}")  # a word about us, not about what strangers get
    if verdict is None and not (isinstance(told, dict) and told.get("full_name")):
        verdict = undetermined("answer is not a repository")
    return told if verdict is None else verdict


def listing_of(reach: Reach, full_name: str, ref: str, known: Known | None) -> Listing | Verdict:
    """The files at `ref`; those of the head without a further question where no folder hides any."""
    whole = known.whole_tree() if known is not None else None
    if known is None or (known.commit and whole is None):
        return tree_of(reach, full_name, ref, known.commit if known else None)
    listing = Listing()
    listing.commit, listing.empty = known.commit, known.commit is None
    listing.add(whole or ())
    return listing


def _closed(asked: str, verdict: Verdict, facts: dict[str, Json] | None = None, full_name: str = "") -> Finding:
    outcome, reason = verdict
    return Finding(
        outcome=outcome,
        reason=reason,
        subject=subject_of(full_name or asked),
        facts=facts or {"asked": asked},
        content={"repo": full_name or asked, "error": f"{outcome}: {reason}"},
    )


def _metadata(told: Mapping[str, Any], asked: str) -> dict[str, Json]:
    full_name = str(told["full_name"])
    license_ = told.get("license") or {}
    facts: dict[str, Json] = {
        "full_name": full_name,
        "archived": bool(told.get("archived")),
        "fork_of": (told.get("parent") or {}).get("full_name") if told.get("fork") else None,
        "license": license_.get("spdx_id") if isinstance(license_, dict) else None,
        "pushed_at": told.get("pushed_at"),
        "homepage": told.get("homepage") or None,
    }
    if full_name.lower() != asked.lower():
        facts["asked"] = asked
    return facts


def moved(asked: str, full_name: str) -> bool:
    """Whether neither owner nor name is what was asked for: such a place may be another paper's by now."""
    before, after = asked.lower().split("/"), full_name.lower().split("/")
    return len(before) == len(after) and all(old != new for old, new in zip(before, after, strict=True))


def about_readme(reach: Reach, text: str) -> dict[str, Json]:
    return {
        "names_paper": names_paper(text, reach.paper),
        "coming_soon": coming_soon(text),
        "readme_links": links_in(text),
    }


def _readme(
    reach: Reach, full_name: str, ref: str, entries: Sequence[Entry], known: Known | None, unseen: list[str]
) -> str:
    if not any(e.path.lower().split("/")[-1].startswith("readme") for e in entries):
        return ""
    if known is not None and (path := front_page(e.path for e in entries)) in known.readmes:
        return known.readmes[str(path)]
    answer = reach.github(f"/repos/{full_name}/readme?ref={quote(ref, safe='')}")
    text = text_of(answer)
    if text is None:
        if answer.status != 404:
            unseen.append("readme")
        return ""
    return text


def text_of(answer: Answer) -> str | None:
    told = json_of(answer)
    if answer.status != 200 or not isinstance(told, dict) or told.get("encoding") != "base64":
        return None
    try:
        return readable(str(told.get("name") or ""), base64.b64decode(told.get("content") or ""))
    except ValueError:
        return None


def _assets(reach: Reach, full_name: str, unseen: list[str]) -> list[dict[str, Json]]:
    answer = reach.github(f"/repos/{full_name}/releases?per_page=100")
    told = json_of(answer)
    if answer.status != 200 or not isinstance(told, list):
        unseen.append("releases")
        return []
    return [
        {"tag": r.get("tag_name"), "name": a.get("name"), "size": a.get("size"), "url": a.get("browser_download_url")}
        for r in told
        if isinstance(r, dict)
        for a in r.get("assets") or ()
        if isinstance(a, dict) and a.get("state", "uploaded") == "uploaded"
    ][:50]
