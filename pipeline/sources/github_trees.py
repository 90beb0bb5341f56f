"""A repository's files at one commit: its tree, walked where GitHub cuts it, and the submodules that hold its code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from pipeline.evidence import Json
from pipeline.labels import WRAPPER_FILES
from pipeline.sources.github_bytes import home_on_github, locate
from pipeline.sources.outcomes import Verdict, json_of, refused, undetermined
from pipeline.sources.reach import Reach, missed
from pipeline.sources.reading import Entry, about_files

_WALKED = 60
"""Folders of a truncated tree that are listed one by one before the rest counts as unseen."""
_DEEP = 2
"""Levels of submodules that are followed."""
_SHA = re.compile(r"[0-9a-f]{40}")


class Listing:
    """A repository's files at one commit. `modules`: repository and commit of each submodule that was followed, by its
    path; its files are among the entries, below that path."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.submodules: list[dict[str, Json]] = []
        self.modules: dict[str, tuple[str, str]] = {}
        self.truncated = False
        self.empty = False
        self.commit: str | None = None

    def add(self, entries: Iterable[Mapping[str, Any]], prefix: str = "") -> None:
        """Entries as GitHub's tree gives them, below `prefix` (which ends in a slash, or is empty)."""
        for entry in entries:
            path = f"{prefix}{entry.get('path', '')}"
            if entry.get("type") == "blob":
                self.entries.append(Entry(path, entry.get("size")))
            elif entry.get("type") == "commit":
                self.submodules.append({"path": path, "sha": entry.get("sha")})


def tree_of(reach: Reach, full_name: str, ref: str, commit: str | None = None) -> Listing | Verdict:
    """The tree at a branch, tag or commit; `commit`: the one it stands for, where that is known."""
    listing = Listing()
    # The commit first, so that everything after it is about one state of the repository.
    listing.commit = commit or _commit_of(reach, full_name, ref)
    at = listing.commit or ref
    answer = reach.github(f"/repos/{full_name}/git/trees/{quote(at, safe='')}?recursive=1")
    if answer.status == 409:
        listing.empty = True
        return listing
    verdict = refused(answer, reach.recorder)
    told = json_of(answer)
    if verdict is None and not (isinstance(told, dict) and isinstance(told.get("tree"), list)):
        verdict = undetermined("answer is not a tree")
    if verdict is not None:
        return verdict
    if told.get("truncated"):
        _walk(reach, full_name, str(told.get("sha") or at), listing)
    else:
        listing.add(told["tree"])
    return listing


def _commit_of(reach: Reach, full_name: str, ref: str) -> str | None:
    answer = reach.github(f"/repos/{full_name}/commits/{quote(ref, safe='')}")
    told = json_of(answer)
    return str(told["sha"]) if answer.status == 200 and isinstance(told, dict) and told.get("sha") else None


def _walk(reach: Reach, full_name: str, sha: str, listing: Listing) -> None:
    """A tree that GitHub cuts is listed folder by folder, breadth first, before anything is said to be absent."""
    waiting = [("", sha)]
    for number in range(_WALKED):
        if not waiting:
            break
        prefix, here = waiting.pop(0)
        answer = reach.github(f"/repos/{full_name}/git/trees/{here}")
        told = json_of(answer)
        if refused(answer, reach.recorder) is not None or not isinstance(told, dict) or told.get("truncated"):
            listing.truncated = True
            continue
        listing.add(told.get("tree") or (), prefix)
        waiting += [(f"{prefix}{e['path']}/", str(e["sha"])) for e in told.get("tree") or [] if e.get("type") == "tree"]
        if number == _WALKED - 1 and waiting:
            listing.truncated = True
    listing.entries.sort(key=lambda e: e.path)


def follow(reach: Reach, full_name: str, ref: str, listing: Listing, unseen: list[str], depth: int = _DEEP) -> None:
    """Say of each submodule where it lives and whether a stranger reaches it; a wrapper's submodules are its content.

    Beside code of a repository's own, submodules are libraries. Where there is hardly any, those that a stranger
    reaches are listed at the commit that is pinned. Where there is none and one could not be listed, `unseen` gains
    "submodules".
    """
    locate(reach, full_name, ref, listing.submodules, unseen)
    code = about_files(listing.entries)["code_files"]
    if code > WRAPPER_FILES or not depth:
        return
    for module in listing.submodules:
        if module.get("reached") is not True:
            continue
        name, sha = home_on_github(full_name, str(module["url"])), str(module["sha"])
        inner = tree_of(reach, name, sha, sha) if name and _SHA.fullmatch(sha) else None
        if not isinstance(inner, Listing) or inner.truncated:
            if not code:
                missed(unseen, "submodules")
            continue
        follow(reach, str(name), sha, inner, [] if code else unseen, depth - 1)
        prefix = f"{module['path']}/"
        module["files"] = len(inner.entries)
        listing.entries += [Entry(f"{prefix}{e.path}", e.size) for e in inner.entries]
        listing.modules[str(module["path"])] = (str(name), sha)
        listing.modules |= {f"{prefix}{path}": place for path, place in inner.modules.items()}
    listing.entries.sort(key=lambda e: e.path)


def place_of(listing: Listing, full_name: str, ref: str, path: str) -> tuple[str, str, str]:
    """Repository, commit and path at which a stranger asks for a file of a listing."""
    for module in sorted(listing.modules, key=len, reverse=True):
        if path.startswith(f"{module}/"):
            return (*listing.modules[module], path[len(module) + 1 :])
    return full_name, ref, path
