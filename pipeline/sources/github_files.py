"""One file of a GitHub repository, by the API or as strangers get it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote

from pipeline.evidence import Json, Outcome
from pipeline.sources import github_lookup
from pipeline.sources.github_bytes import raw_url
from pipeline.sources.github_lookup import Known
from pipeline.sources.github_trees import Listing
from pipeline.sources.on_github import SHOWN, invalid, listing_of, split_name, subject_of, text_of
from pipeline.sources.outcomes import Finding, json_of, refused
from pipeline.sources.reach import Reach, lfs_size
from pipeline.sources.reading import MEGABYTE, links_in, names_paper
from pipeline.textfiles import readable

_FILE_CHARS = 40_000
_NO_FILE = "no such file, branch or repository"


def file(reach: Reach, repo: str, path: str, ref: str | None) -> Finding:
    """One file: its text, or what it is where it is no text."""
    name = split_name(repo)
    clean = path.strip().strip("/")
    if name is None or not clean or any(part in ("", ".", "..") for part in clean.split("/")):
        return invalid(f"github:{repo.strip().lower()[:100]}", "a file is owner/name and a path inside it")
    asked = "/".join(name)
    known = github_lookup.known(reach, name)
    if isinstance(known, tuple):
        return _no_file(asked, clean, _NO_FILE if known[1].endswith(": 404") else known[1])
    if isinstance(known, Known) and known.at_head(ref) and (found := _file_at_head(reach, asked, known, clean)):
        return found
    at = f"?ref={quote(ref, safe='')}" if ref else ""
    answer = reach.github(f"/repos/{asked}/contents/{quote(clean)}{at}")
    told, verdict = json_of(answer), refused(answer, reach.recorder)
    if verdict is not None:
        return _no_file(asked, clean, _NO_FILE if answer.status == 404 else verdict[1])
    if isinstance(told, list):
        names = [{"path": i.get("path"), "size": i.get("size"), "type": i.get("type")} for i in told]
        return _folder(asked, clean, names)
    if not isinstance(told, dict):
        return _no_file(asked, clean, "answer is not a file")
    text = text_of(answer)
    if text is None and told.get("encoding") == "none" and told.get("download_url"):
        # Above 1 MB the API names the file and leaves its content out.
        text = readable(clean, reach.get(str(told["download_url"]), limit=MEGABYTE).body)
    return _read(reach, asked, clean, told.get("size"), text)


def _file_at_head(reach: Reach, asked: str, known: Known, path: str) -> Finding | None:
    """A file of the head as strangers get it, which costs none of the API's budget; None where the tree does not tell.

    The tree is the one that the overview reads.
    """
    full_name = str(known.told["full_name"])
    listing = listing_of(reach, full_name, known.branch, known)
    if not isinstance(listing, Listing) or listing.truncated or any(m["path"] == path for m in listing.submodules):
        return None
    sizes = {entry.path: entry.size for entry in listing.entries}
    if path in sizes:
        answer = reach.get(raw_url((full_name, str(known.commit), path)), limit=MEGABYTE)
        if answer.status != 200:
            return _no_file(asked, path, f"not given to strangers: {answer.status or answer.exchange.fault}")
        return _read(reach, asked, path, sizes[path], readable(path, answer.body), {"authenticated": False})
    below = {entry.path[len(path) + 1 :] for entry in listing.entries if entry.path.startswith(f"{path}/")}
    if not below:
        return _no_file(asked, path, _NO_FILE)
    files = {name: sizes[f"{path}/{name}"] for name in below if "/" not in name}
    names = sorted({name.partition("/")[0] for name in below})
    types = {name: "file" if name in files else "dir" for name in names}
    return _folder(asked, path, [{"path": f"{path}/{n}", "size": files.get(n, 0), "type": types[n]} for n in names])


def _no_file(asked: str, path: str, reason: str) -> Finding:
    """A missing or withheld file says nothing about the repository, which is the subject."""
    return Finding(
        outcome=Outcome.UNDETERMINED,
        reason=reason,
        subject=subject_of(asked),
        facts={"path": path, "file": True},
        content={"repo": asked, "path": path, "error": reason},
    )


def _folder(asked: str, path: str, names: list[dict[str, Json]]) -> Finding:
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason="folder",
        subject=subject_of(asked),
        facts={"path": path, "folder": True},
        content={"repo": asked, "path": path, "entries": names[:SHOWN], "more": max(0, len(names) - SHOWN)},
    )


def _read(
    reach: Reach, asked: str, path: str, size: Json, text: str | None, also: Mapping[str, Json] = MappingProxyType({})
) -> Finding:
    facts: dict[str, Json] = {"path": path, "file": True, "size": size, "text": text is not None, **also}
    facts["lfs_pointer"] = bool(text and lfs_size(text.encode()))
    if text is not None:
        facts |= {"names_paper": names_paper(text, reach.paper), "links": links_in(text)[:50]}
    return Finding(
        outcome=Outcome.AVAILABLE,
        reason="file read" if text is not None else "file is not text",
        subject=subject_of(asked),
        facts=facts,
        content={
            "repo": asked,
            "path": path,
            "size": size,
            "text": None if text is None else text[:_FILE_CHARS],
            "cut": bool(text and len(text) > _FILE_CHARS),
        },
    )
