"""Hosts whose pages say less than their interfaces: the double-blind mirror of GitHub, and PhysioNet."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote, urlsplit

from pipeline.artifacts import subject as subject_of
from pipeline.evidence import Json, Outcome
from pipeline.sources import on_github
from pipeline.sources.landing import closed, page_or_file
from pipeline.sources.outcomes import Finding, json_of, refused, undetermined
from pipeline.sources.reach import Reach
from pipeline.sources.reading import Entry, about_files
from pipeline.sources.recorder import Answer


def physionet(reach: Reach, url: str, subject: str) -> Finding:
    """PhysioNet's files answer 403 without a word; the page of their project says who may have them."""
    finding = page_or_file(reach, url, subject)
    match = re.match(r"/files/([\w-]+/[\w.-]+)", urlsplit(url).path)
    if finding.reason != "forbidden: 403" or match is None:
        return finding
    project = page_or_file(reach, f"https://physionet.org/content/{match[1]}/", subject)
    return project if project.outcome is Outcome.GATED else finding


_MIRROR_ERRORS = {
    "repository_expired": "expired",
    "repo_not_found": "repo_not_found",
    "repo_not_accessible": "repo_not_accessible",
    "repository_not_ready": "not_ready",
}
_PATH_CHARS = 1_000
_MIRRORED = 20_000
"""Files of one mirror that are read."""
_FOLDERS = 40
"""Folders of one mirror that are listed one by one."""
_MIRROR_GONE = ("expired", "repo_not_found")


def anonymous_mirror(reach: Reach, url: str, subject: str) -> Finding | None:
    """anonymous.4open.science is a page of scripts that answers 200 for everything; its options API knows."""
    match = re.search(r"/(?:r|api/repo|repository)/([\w.-]+)", urlsplit(url).path)
    if match is None:
        return None
    api = f"https://anonymous.4open.science/api/repo/{match[1]}"
    answer = reach.recorder.ask("GET", f"{api}/options", says_gone=_mirror_gone)
    error = _mirror_error(answer)
    if error in _MIRROR_GONE:
        if reach.recorder.said_gone_twice(answer.exchange, _mirror_gone):
            return closed(subject, (Outcome.UNAVAILABLE, f"gone: {error}"))
        return closed(subject, undetermined(f"gone_once: {error}"))
    if error is not None:
        return closed(subject, undetermined(error))
    verdict = refused(answer, reach.recorder)
    if verdict is not None:
        return closed(subject, verdict)
    opened = _unveiled(reach, answer, subject)
    if opened is not None:
        return opened
    listing, told = reach.json(f"{api}/files/")
    if listing.status != 200 or not isinstance(told, dict | list):
        return closed(subject, refused(listing, reach.recorder) or undetermined("no file list"))
    entries, whole = _mirror_files(told)
    whole = _mirror_folders(reach, f"{api}/files/", told, entries) and whole
    facts = about_files(entries) | ({} if whole else {"unseen": ["tree"]})
    content = {"files": [e.path for e in entries[:200]]}
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason=f"{facts['code_files']} code files",
        subject=subject,
        facts={**facts, "names_paper": []},
        content=content,
    )


def _unveiled(reach: Reach, answer: Answer, subject: str) -> Finding | None:
    """A mirror whose time is over may lead on to the repository that it hid: the same files, by their right name."""
    told = json_of(answer)
    target = subject_of(str(told.get("url") or "")) if isinstance(told, dict) else ""
    if not target.startswith("github:"):
        return None
    found = on_github.overview(reach, target.removeprefix("github:"))
    return replace(found, subject=subject, facts={**found.facts, "leads_to": found.subject})


def _mirror_error(answer: Answer) -> str | None:
    told = json_of(answer)
    error = str(told.get("error") or "") if isinstance(told, dict) else ""
    return _MIRROR_ERRORS.get(error, error or None)


def _mirror_gone(answer: Answer) -> bool | None:
    error = _mirror_error(answer)
    return error in _MIRROR_GONE if error in (None, *_MIRROR_GONE) else None


def _mirror_files(told: Json) -> tuple[list[Entry], bool]:
    """Files, and whether they are all: a tree of names, folders as objects and files with a size; or a flat list of
    objects with path and name."""
    entries: list[Entry] = []
    whole = True
    if isinstance(told, list):
        for one in told:
            if not isinstance(one, dict) or not _named(one):
                whole = False
            elif one.get("size") is not None:
                entries.append(_mirror_file("/".join(p for p in (one.get("path"), one.get("name")) if p), one))
        return entries, whole
    folders = [("", told)]
    while folders:
        prefix, folder = folders.pop()
        for name, node in sorted(folder.items()):
            if not isinstance(node, dict) or len(prefix) + len(name) > _PATH_CHARS or len(entries) >= _MIRRORED:
                whole = False
            elif (isinstance(node.get("size"), int) and "sha" in node) or not node:
                entries.append(_mirror_file(f"{prefix}{name}", node))
            else:
                folders.append((f"{prefix}{name}/", node))
    return sorted(entries, key=lambda e: e.path), whole


def _mirror_folders(reach: Reach, listing: str, told: Json, entries: list[Entry]) -> bool:
    """Add what lies below, where a mirror lists one folder at a time. Whether all was seen."""
    waiting = _folders_in(told)
    asked, whole = set(waiting), True
    for _ in range(_FOLDERS):
        if not waiting:
            break
        answer, below = reach.json(f"{listing}?path={quote(waiting.pop(0), safe='')}")
        if answer.status != 200 or not isinstance(below, list):
            whole = False
            continue
        found, clear = _mirror_files(below)
        known = {e.path for e in entries}
        entries += [e for e in found if e.path not in known]
        more = [path for path in _folders_in(below) if path not in asked]
        waiting, asked, whole = waiting + more, asked | set(more), whole and clear
    return whole and not waiting


def _folders_in(told: Json) -> list[str]:
    """Folders of a flat list: what has a name and no size."""
    folders = (
        [one for one in told if isinstance(one, dict) and one.get("size") is None] if isinstance(told, list) else []
    )
    return ["/".join(p for p in (one.get("path"), one.get("name")) if p) for one in folders if _named(one)]


def _named(one: dict[str, Json]) -> bool:
    return all(isinstance(one.get(key) or "", str) for key in ("path", "name"))


def _mirror_file(path: str, told: dict[str, Json]) -> Entry:
    size = told.get("size")
    return Entry(path, size if isinstance(size, int) else None)
