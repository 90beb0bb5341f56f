"""Repositories of record, asked through their own interfaces: Zenodo, Figshare, OSF. Their pages are the same for
everybody, or scripts; the interfaces tell open from restricted, and name the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from pipeline import archives
from pipeline.evidence import Json, Outcome
from pipeline.sources.landing import closed
from pipeline.sources.outcomes import Finding, Verdict, refused, undetermined
from pipeline.sources.reach import Reach, bytes_seen, gives_bytes, missed
from pipeline.sources.reading import MEGABYTE, Entry, about_files, is_weights, names_paper
from pipeline.sources.recorder import TRUNCATED

_LISTINGS = 6
"""Pages and folders of one OSF project that are listed; strangers have 100 requests an hour there."""


class _File(NamedTuple):
    """`place`: where its bytes are."""

    name: str
    size: int | None
    place: str


def of_record(reach: Reach, url: str, subject: str) -> Finding | None:
    """The record a URL or DOI names, or None where it names none of a repository that we can ask."""
    for pattern, ask in _RECORDS:
        match = pattern.search(url)
        if match is not None:
            return ask(reach, next(filter(None, match.groups())), url, subject)
    return None


def _zenodo(reach: Reach, number: str, url: str, subject: str) -> Finding:
    answer, told = reach.json(f"https://zenodo.org/api/records/{number}")
    verdict = refused(answer, reach.recorder)
    if verdict is None and not isinstance(told, dict):
        verdict = undetermined("answer is not a record")
    if verdict is not None:
        return closed(subject, verdict)
    metadata, access = told.get("metadata") or {}, told.get("access") or {}
    entries = told.get("files") or []
    if isinstance(entries, dict):
        entries = list((entries.get("entries") or {}).values())
    files = [_zenodo_file(f) for f in entries if isinstance(f, dict)]
    title = str(metadata.get("title") or told.get("title") or "")
    right = metadata.get("access_right")
    shut: Verdict | None = None
    if access.get("files") == "restricted" or right in ("restricted", "embargoed", "closed"):
        embargo = (access.get("embargo") or {}).get("active") or right == "embargoed"
        shut = Outcome.GATED, "embargo" if embargo else "restricted"
    licence = metadata.get("license")
    return _record(
        reach,
        subject,
        title,
        f"{title}\n{metadata.get('description') or ''}",
        licence.get("id") if isinstance(licence, dict) else None,
        files,
        shut,
    )


def _zenodo_file(told: dict[str, Any]) -> _File:
    links = told.get("links") or {}
    return _File(str(told.get("key")), told.get("size"), str(links.get("content") or links.get("self") or ""))


def _figshare(reach: Reach, number: str, url: str, subject: str) -> Finding:
    """Figshare's pages are shown to browsers only. A record may be embargoed, confidential, a mere description, or have
    its downloads switched off."""
    answer, told = reach.json(f"https://api.figshare.com/v2/articles/{number}")
    verdict = refused(answer, reach.recorder)
    if verdict is None and not (isinstance(told, dict) and told.get("id")):
        verdict = undetermined("answer is not a record")
    if verdict is not None:
        return closed(subject, verdict)
    files = [
        _File(str(f.get("name")), f.get("size"), str(f.get("download_url") or ""))
        for f in told.get("files") or ()
        if isinstance(f, dict)
    ]
    title = str(told.get("title") or "")
    said = {"is_embargoed": "embargo", "is_confidential": "confidential", "download_disabled": "download_disabled"}
    kind = next((word for key, word in said.items() if told.get(key)), None)
    licence = told.get("license")
    return _record(
        reach,
        subject,
        title,
        f"{title}\n{told.get('description') or ''}",
        licence.get("name") if isinstance(licence, dict) else None,
        files,
        (Outcome.GATED, kind) if kind else None,
    )


def _osf(reach: Reach, guid: str, url: str, subject: str) -> Finding:
    """osf.io is a page of scripts that answers 200 for everything; its API answers 401 for a private project, 410 for
    a deleted one. A link with a key (`view_only`) opens a private one to whoever holds the link."""
    guid = guid.lower()
    key = parse_qs(urlsplit(url).query).get("view_only", [""])[0]
    shared = f"?view_only={quote(key)}" if key else ""
    answer, told = reach.json(f"https://api.osf.io/v2/guids/{guid}/{shared}")
    verdict = refused(answer, reach.recorder)
    about = told.get("data") if isinstance(told, dict) else None
    if verdict is not None or not isinstance(about, dict):
        return closed(subject, verdict or undetermined("answer is not a record"))
    kind, attributes = about.get("type"), about.get("attributes") or {}
    title = str(attributes.get("title") or attributes.get("name") or "")
    unseen: list[str] = []
    if kind == "files":
        files = [_osf_file(about)]
    elif kind in ("nodes", "registrations"):
        files = _osf_files(reach, f"https://api.osf.io/v2/{kind}/{guid}/files/osfstorage/{shared}", unseen)
    else:
        return closed(subject, undetermined(f"a record of kind {str(kind)[:40]}"), title=title)
    described = f"{title}\n{attributes.get('description') or ''}"
    return _record(reach, subject, title, described, None, files, None, unseen)


def _osf_files(reach: Reach, listing: str, unseen: list[str]) -> list[_File]:
    """Files of a project, folder by folder and page by page, so far as a stranger's budget goes."""
    waiting, files = [listing], list[_File]()
    for _ in range(_LISTINGS):
        if not waiting:
            break
        answer, told = reach.json(waiting.pop(0))
        if answer.status != 200 or not isinstance(told, dict):
            missed(unseen, "tree")
            continue
        for entry in (e for e in told.get("data") or () if isinstance(e, dict)):
            if (entry.get("attributes") or {}).get("kind") == "folder":
                below = (((entry.get("relationships") or {}).get("files") or {}).get("links") or {}).get(
                    "related"
                ) or {}
                waiting.append(str(below.get("href") or ""))
            else:
                files.append(_osf_file(entry))
        waiting += [following] if (following := (told.get("links") or {}).get("next")) else []
        waiting = [place for place in waiting if place.startswith("https://api.osf.io/")]
    if waiting:
        missed(unseen, "tree")
    return files


def _osf_file(told: dict[str, Any]) -> _File:
    attributes = told.get("attributes") or {}
    name = str(attributes.get("materialized_path") or attributes.get("name") or "").lstrip("/")
    return _File(name, attributes.get("size"), str((told.get("links") or {}).get("download") or ""))


def _record(
    reach: Reach,
    subject: str,
    title: str,
    described: str,
    licence: str | None,
    files: Sequence[_File],
    shut: Verdict | None,
    unseen: Sequence[str] = (),
) -> Finding:
    """What a record holds, and what of it a stranger gets. `shut`: its interface says that nobody does."""
    facts: dict[str, Json] = {
        "title": title,
        "names_paper": names_paper(described, reach.paper),
        "license": licence,
        **about_files([Entry(f.name, f.size) for f in files]),
    }
    facts["data_files"] = sum(not is_weights(f.name) for f in files)
    if shut is not None:
        return closed(subject, shut, {**facts, "wall": shut[1]}, title=title)
    places = [f for f in files if f.place.startswith("https://")]
    missing = list(unseen)
    heavy = [(f.name, f.place) for f in places if is_weights(f.name) and (f.size or 0) >= MEGABYTE]
    facts["weights_open"] = reach.opened("weights", heavy, missing)
    small = [f for f in places if f.name.endswith((".zip", ".tar.gz")) and (f.size or 0) <= 20 << 20]
    facts |= _code_in_archive(reach, [(f.name, f.place) for f in small], missing)
    # An archive that was not listed may be code as well as data.
    unclear = facts["code_files"] or ("tree" in missing and "tree" not in unseen)
    others = [(f.name, f.place) for f in places if not is_weights(f.name)]
    facts["data_open"] = [] if unclear else reach.opened("data", others, missing)
    facts |= {"unseen": missing} if missing else {}
    content = {"title": title, "files": [{"path": f.name, "size": f.size} for f in files[:100]]}
    return Finding(
        outcome=Outcome.AVAILABLE, reason=f"{len(files)} open files", subject=subject, facts=facts, content=content
    )


def _code_in_archive(reach: Reach, files: list[tuple[str, str]], unseen: list[str]) -> dict[str, Json]:
    """What the first small archive holds."""
    for _, place in files[:1]:
        answer = reach.get(place, limit=reach.recorder.limits.archive_bytes)
        if bytes_seen(answer) is None:
            missed(unseen, "tree")
        elif gives_bytes(answer) and TRUNCATED not in answer.headers:
            listed = [Entry(member.path, member.size) for member in archives.listing(answer.body)]
            if any(listed):
                facts = about_files(listed)
                return {key: facts[key] for key in ("code_files", "code_sample", "train_entries", "eval_entries")}
    return {}


_RECORDS: tuple[tuple[re.Pattern[str], Callable[[Reach, str, str, str], Finding]], ...] = (
    (re.compile(r"(?i)//(?:www\.)?zenodo\.org/(?:api/)?(?:records?|deposit)/(\d+)|[./]zenodo\.(\d+)"), _zenodo),
    (
        re.compile(r"(?i)figshare\.com/articles/(?:[^/?#]*[^/?#\d][^/?#]*/){0,2}(\d+)|10\.6084/m9\.figshare\.(\d+)"),
        _figshare,
    ),
    (
        re.compile(
            r"(?i)//(?:www\.)?osf\.io/(?!about|login|search)([a-z0-9]{5,6})(?:[/?#]|$)|10\.17605/osf\.io/([a-z0-9]{5,6})"
        ),
        _osf,
    ),
)
