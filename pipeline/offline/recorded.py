"""The second world format: real papers and what their repositories were seen to hold, without file contents.

Gold labels lie in the same files (`gold`, `judgement`, a second reader's answers). They are answers to the benchmark's
questions, so nothing here reads them: only the fields named below pass.
"""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.offline.content import Stored, Unrecorded
from pipeline.offline.values import (
    File,
    GithubFacts,
    Paper,
    PaperFacts,
    Repository,
    SubmoduleFacts,
    World,
    WorldError,
    WorldFacts,
    contents_below,
)

AS_OF = datetime(2026, 12, 1, tzinfo=UTC)
VENUE = "Recorded.world/2025/Conference"


def is_recorded(folder: Path) -> bool:
    return any(folder.glob("papers/*/meta.json")) or any(folder.glob("repos/*.json"))


def stand_in_id(name: str) -> str:
    """An id for a paper that has none: well formed, in the impossible month 00, so no real paper can own it."""
    return f"0000.{int(hashlib.sha256(name.encode()).hexdigest(), 16) % 100_000:05d}"


def load_recorded(folder: Path) -> World:
    papers: dict[str, Paper] = {}
    for path in sorted(folder.glob("papers/*/meta.json")):
        paper = _paper(path)
        if paper.arxiv_id in papers:
            raise WorldError(
                f"{path}: {paper.arxiv_id} is also {papers[paper.arxiv_id].folder.name}; rename the folder"
            )
        papers[paper.arxiv_id] = paper
    records = sorted(folder.glob("repos/*.json"))
    repositories = {repo.full_name.lower(): repo for repo in map(_repository, records)}
    readmes = sorted(folder.glob("repos/*.README.md"))
    facts = WorldFacts(name=folder.name, as_of=AS_OF, venue=VENUE, description="recorded material", fictional=False)
    return World(folder, facts, papers, repositories, {}, {}, (*records, *readmes))


def _paper(path: Path) -> Paper:
    meta = _object(path)
    told_id = meta.get("arxiv_id")
    arxiv_id = str(told_id or stand_in_id(path.parent.name))
    facts = PaperFacts(
        arxiv_id=arxiv_id,
        title=str(meta["title"]),
        forum_id=meta.get("openreview_forum"),
        comment=meta.get("venue"),
        published=_month(arxiv_id) if told_id else AS_OF,
        stand_in_id=not told_id,
    )
    return Paper(facts, path.parent, contents_below(path.parent / "src"), {})


def _repository(path: Path) -> Repository:
    record = _object(path)
    owner, _, name = str(record["repo"]).partition("/")
    if not record.get("fetched"):
        return Repository(owner, name, GithubFacts(), recorded=False)
    entries: list[dict[str, Any]] = record.get("files", [])
    links = {entry["path"] for entry in entries if entry["type"] == "commit"} | set(record.get("submodules", []))
    facts = GithubFacts(
        license=record.get("license_spdx_by_text"),
        stars=None,
        created_at=record["first_commit_date"],
        pushed_at=record["head_date"],
        default_branch=record["default_branch"],
        head_commit=record["head_commit"],
        submodules=tuple(SubmoduleFacts(path=link) for link in sorted(links)),
    )
    files = {e["path"]: File(Unrecorded(e.get("size") or 0)) for e in entries if e["type"] == "blob"}
    readme, seen = record.get("readme_path"), path.with_suffix(".README.md")
    if readme and seen.is_file():
        files[readme] = File(Stored.at(seen))
    return Repository(owner, name, facts, dict(sorted(files.items())))


def _month(arxiv_id: str) -> datetime:
    """The month that a new-style arXiv id names; `AS_OF` for the older style."""
    if not arxiv_id[:4].isdecimal():
        return AS_OF
    return datetime(2000 + int(arxiv_id[:2]), int(arxiv_id[2:4]), 1, tzinfo=UTC)


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise WorldError(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise WorldError(f"{path}: not a JSON object")
    return value
