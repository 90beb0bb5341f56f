"""What a stranger gets of a GitHub repository: bytes of its weights and data, and its submodules. No token is sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import quote, urljoin

from pipeline.evidence import Json
from pipeline.sources.pages import doubtful, is_html, read_page, says_gone, wall
from pipeline.sources.reach import Reach, bytes_seen, lfs_size, missed
from pipeline.sources.reading import MEGABYTE, Entry, is_weights
from pipeline.sources.recorder import is_gone

Place = tuple[str, str, str]
_ASSET_WORD = re.compile(r"(?i)(weight|checkpoint|ckpt|pretrained|model)")
_SETTING = re.compile(r"\s*(path|url)\s*=\s*(\S+)\s*")
_SSH = re.compile(r"(?:ssh://)?git@([\w.-]+)[:/](\S+)")
_LOCATED = 5
"""Submodules of one repository whose homes are asked for."""
_MODULES_BYTES = 64 << 10


def homes(text: str) -> dict[str, str]:
    """Where submodules live, by path, as the text of a `.gitmodules` says."""
    found: dict[str, str] = {}
    section: dict[str, str] = {}
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            section = {}
        elif told := _SETTING.fullmatch(line):
            section[told[1]] = told[2]
            if len(section) == 2:
                found[section["path"]] = section["url"]
    return found


def locate(reach: Reach, full_name: str, ref: str, submodules: list[dict[str, Json]], unseen: list[str]) -> None:
    """Say of each submodule where it lives and whether a stranger reaches that place: code may lie nowhere else.

    `reached` is None where that was not found out; then `unseen` gains "submodules".
    """
    if not submodules:
        return
    told = reach.get(f"https://raw.githubusercontent.com/{full_name}/{ref}/.gitmodules", limit=_MODULES_BYTES)
    known = homes(told.body.decode(errors="replace") if told.status == 200 else "")
    for number, module in enumerate(submodules):
        url = module["url"] = known.get(str(module["path"]))
        module["reached"] = _reached(reach, full_name, url) if url and number < _LOCATED else None
    if any(module["reached"] is None for module in submodules):
        missed(unseen, "submodules")


def _home(full_name: str, home: str) -> str:
    try:
        return urljoin(f"https://github.com/{full_name}/", _SSH.sub(r"https://\1/\2", home))
    except ValueError:
        return ""


def home_on_github(full_name: str, home: str) -> str | None:
    """The repository that a submodule's address names, as `owner/name`, where it is one of GitHub's."""
    named = re.fullmatch(r"https?://(?:www\.)?github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?", _home(full_name, home))
    return named[1] if named else None


def _reached(reach: Reach, full_name: str, home: str) -> bool | None:
    """Whether a stranger reaches a submodule's home. Its page is asked for, never an API: a token would open more."""
    url, named = _home(full_name, home), home_on_github(full_name, home)
    if named:
        answer = reach.recorder.ask("HEAD", f"https://github.com/{named}")
    elif url.startswith(("https://", "http://")):
        answer = reach.get(url)
    else:
        return None
    if answer.status == 200:
        told, final = answer.headers.get("content-type", ""), answer.exchange.final_url
        page = read_page(answer.body, told, final) if is_html(told, answer.body) and answer.body else None
        return True if page is None else None if doubtful(page) else not (wall(page, final) or says_gone(page))
    return False if answer.status in (404, 410, 451) else None


def raw_url(place: Place, host: str = "raw.githubusercontent.com") -> str:
    full_name, ref, path = place
    return f"https://{host}/{full_name}/{ref}/{quote(path)}"


def opened(
    reach: Reach, where: Callable[[str], Place], entries: Sequence[Entry], facts: dict[str, Json], unseen: list[str]
) -> dict[str, Json]:
    """What a stranger gets bytes of. Anonymous by construction: raw and media hosts are asked without credentials.

    `where`: repository, commit and path of a listed file (a submodule's files lie elsewhere).
    """
    sizes = {e.path: e.size or 0 for e in entries}
    pointers: list[str] = []
    weights: list[tuple[str, str]] = []
    data: list[tuple[str, str]] = []
    for entry in [*facts["weight_files"][:3], *facts["data_sample"][:3]]:
        path = str(entry["path"])
        url, size = raw_url(where(path)), sizes.get(path, 0)
        if size < 200:  # a pointer has about 130 bytes, and no weights file that few
            read = reach.get(url, first=2048)
            promised = lfs_size(read.body)
            if bytes_seen(read) is None:
                missed(unseen, "weights" if is_weights(path) else "data")
            if promised is None:
                continue
            pointers.append(path)
            url, size = raw_url(where(path), "media.githubusercontent.com/media"), promised
        if is_weights(path):
            if size >= MEGABYTE:
                weights.append((path, url))
        else:
            data.append((path, url))
    for asset in facts.get("release_assets", []):
        name, url, size = str(asset["name"]), str(asset["url"]), asset["size"] or 0
        if size >= MEGABYTE and (is_weights(name) or _ASSET_WORD.search(name)):
            weights.append((f"release {asset['tag']}: {name}", url))
    told: dict[str, Json] = {
        "lfs_pointers": pointers,
        "weights_open": reach.opened("weights", weights, unseen),
        "data_open": reach.opened("data", data, unseen),
    }
    # Listed and not handed over today (a quota, an outage) is neither there nor absent.
    for kind, listed in (("weights", weights), ("data", data)):
        if listed and not told[f"{kind}_open"]:
            missed(unseen, kind)
    if reach.tokens and entries:
        public = bool(told["weights_open"] or told["data_open"]) or _public(reach, where, entries, facts)
        told["authenticated"] = not public
        if public is None:
            missed(unseen, "raw")
    return told


def _public(
    reach: Reach, where: Callable[[str], Place], entries: Sequence[Entry], facts: dict[str, Json]
) -> bool | None:
    """Whether a stranger reads a file of what was listed with a token; None where that was not found out."""
    sizes = {e.path: e.size for e in entries}
    paths = [*facts["code_sample"], *sizes]
    path = str(next((p for p in paths if sizes[p] != 0), paths[0]))  # nobody gets bytes of an empty file
    answer = reach.get(raw_url(where(path)), first=2048)
    if answer.status in (200, 206):
        return True
    return False if is_gone(answer.exchange) and answer.status is not None else None
