"""What a world is: the facts a folder tells, and frozen values over them. Free of any service and any format."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.offline.content import Content, Stored, stable_hex

FaultKind = Literal["nxdomain", "refused", "timeout", "tls", "reset", "unreachable"]


class WorldError(ValueError):
    """A world folder that cannot be served; the message names the file and what to change."""


class Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FailFirst(Told):
    """The first `times` requests fail with `status`, or with `fault`; the same request then succeeds."""

    status: int = 429
    fault: FaultKind | None = None
    times: int = 1
    retry_after: int | None = None


class PaperFacts(Told):
    arxiv_id: str
    title: str
    version: int = 1
    authors: tuple[str, ...] = ()
    abstract: str = ""
    published: datetime = datetime(2025, 5, 1, tzinfo=UTC)
    updated: datetime | None = None
    categories: tuple[str, ...] = ("cs.LG",)
    comment: str | None = None
    forum_id: str | None = None
    pack: Literal["tar.gz", "gzip", "pdf", "html", "missing"] = "tar.gz"
    supplement: Literal["zip", "pdf", "none"] = "none"
    openreview_title: str | None = None
    openreview_authors: tuple[str, ...] | None = None
    in_index: bool = True
    stand_in_id: bool = False


class FileFacts(Told):
    path: str
    size: int | None = None
    lfs: bool = False
    media_status: int = 200
    """What the LFS media host answers, e.g. 403 when the owner is over quota."""


class SubmoduleFacts(Told):
    """`commit`: the state of the other repository that is meant; where nobody says, one that it has no record of."""

    path: str
    url: str | None = None
    commit: str | None = None

    @property
    def sha(self) -> str:
        return self.commit or stable_hex("module", self.path)


class CommitFacts(Told):
    """A commit before the last one."""

    sha: str
    at: datetime


class AssetFacts(Told):
    name: str
    size: int
    state: Literal["uploaded", "open", "starter"] = "uploaded"


class ReleaseFacts(Told):
    tag: str
    name: str = ""
    body: str = ""
    draft: bool = False
    prerelease: bool = False
    published_at: datetime | None = None
    assets: tuple[AssetFacts, ...] = ()


class GithubFacts(Told):
    description: str | None = None
    license: str | None = None
    homepage: str | None = None
    language: str | None = None
    topics: tuple[str, ...] = ()
    stars: int | None = 0
    created_at: datetime = datetime(2024, 9, 1, tzinfo=UTC)
    pushed_at: datetime = datetime(2025, 5, 1, tzinfo=UTC)
    archived: bool = False
    disabled: bool = False
    fork_of: str | None = None
    renamed_to: str | None = None
    blocked: bool = False
    empty: bool = False
    missing: bool = False
    private: bool = False
    truncated: bool = False
    default_branch: str = "main"
    head_commit: str | None = None
    commits: tuple[CommitFacts, ...] = ()
    submodules: tuple[SubmoduleFacts, ...] = ()
    releases: tuple[ReleaseFacts, ...] = ()
    files: tuple[FileFacts, ...] = ()
    fail_first: FailFirst | None = None


class HubFacts(Told):
    sha: str | None = None
    gated: Literal[False, "auto", "manual"] = False
    private: bool = False
    disabled: bool = False
    missing: bool = False
    tags: tuple[str, ...] = ()
    license: str | None = None
    base_model: str | None = None
    library_name: str | None = None
    pipeline_tag: str | None = None
    downloads: int = 0
    likes: int = 0
    parameters: int | None = None
    created_at: datetime = datetime(2025, 1, 1, tzinfo=UTC)
    last_modified: datetime = datetime(2025, 5, 1, tzinfo=UTC)
    files: tuple[FileFacts, ...] = ()
    fail_first: FailFirst | None = None


class RouteFacts(Told):
    """What one path answers; `path` may carry a query (`/uc?id=1`), which then has to match exactly."""

    path: str = "/"
    method: str | None = None
    status: int | None = None
    content_type: str | None = None
    body: str | None = None
    file: str | None = None
    size: int | None = None
    location: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    fault: FaultKind | None = None
    fail_first: FailFirst | None = None


class DefaultFacts(RouteFacts):
    soft404: bool = False


class SiteFacts(Told):
    route: tuple[RouteFacts, ...] = ()
    default: DefaultFacts = DefaultFacts()


class WorldFacts(Told):
    name: str
    as_of: date | datetime
    venue: str
    description: str = ""
    fictional: bool = True
    openreview_challenge: bool = False


@dataclass(frozen=True)
class File:
    content: Content
    lfs: bool = False
    media_status: int = 200


@dataclass(frozen=True)
class Paper:
    facts: PaperFacts
    folder: Path
    source: Mapping[str, Content]
    supplement: Mapping[str, Content]

    @property
    def arxiv_id(self) -> str:
        return self.facts.arxiv_id


@dataclass(frozen=True)
class Repository:
    owner: str
    name: str
    facts: GithubFacts
    files: Mapping[str, File] = field(default_factory=dict)
    recorded: bool = True

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def head(self) -> str:
        return self.facts.head_commit or stable_hex("commit", self.full_name)

    @property
    def listed(self) -> bool:
        """A stranger's search can find it."""
        told = self.facts
        return self.recorded and not (told.missing or told.private or told.blocked or told.renamed_to)


@dataclass(frozen=True)
class HubRepository:
    kind: Literal["models", "datasets"]
    id: str
    facts: HubFacts
    files: Mapping[str, File]

    @property
    def sha(self) -> str:
        return self.facts.sha or stable_hex(self.kind, self.id)

    @property
    def listed(self) -> bool:
        return not (self.facts.missing or self.facts.private or self.facts.disabled)


@dataclass(frozen=True)
class Site:
    host: str
    facts: SiteFacts
    folder: Path


@dataclass(frozen=True, eq=False)
class World:
    """Everything a folder records. Keys: arXiv id; `owner/name` and host in lower case; `models/org/name`. Each is
    itself alone, so that what is made of one can be kept."""

    folder: Path
    facts: WorldFacts
    papers: Mapping[str, Paper]
    repositories: Mapping[str, Repository]
    hub: Mapping[str, HubRepository]
    sites: Mapping[str, Site]
    served: tuple[Path, ...]
    """Files that answers are made of, papers' sources and supplements aside: what `digest` covers."""

    @property
    def complete(self) -> bool:
        """Our own worlds tell all of a repository; a recorded one told a part, so its silence is no answer."""
        return self.facts.fictional

    @cached_property
    def forums(self) -> Mapping[str, tuple[str, ...]]:
        """The arXiv ids behind each OpenReview forum, in the order of forums. Kept: a generated world makes its papers
        whenever they are looked at."""
        found: dict[str, tuple[str, ...]] = {}
        for arxiv_id, paper in self.papers.items():
            if forum := paper.facts.forum_id:
                found[forum] = (*found.get(forum, ()), arxiv_id)
        return dict(sorted(found.items()))

    @property
    def digest(self) -> str:
        """Names everything the world says, sources and supplements of papers aside (they have `paper_digest`)."""
        told = "".join(paper.facts.model_dump_json() for _, paper in sorted(self.papers.items()))
        files = _digest_of(self.folder, self.served)
        return hashlib.sha256(f"{self.facts.model_dump_json()} {told} {files}".encode()).hexdigest()

    def paper_digest(self, arxiv_id: str) -> str:
        """Names one paper: its facts, source and supplement."""
        paper = self.papers[arxiv_id]
        folders = (paper.folder / "src", paper.folder / "supplement")
        files = [path for folder in folders for path in files_below(folder)]
        facts = hashlib.sha256(paper.facts.model_dump_json().encode()).hexdigest()
        return hashlib.sha256(f"{facts} {_digest_of(paper.folder, files)}".encode()).hexdigest()


def contents_below(folder: Path) -> dict[str, Content]:
    """Every file below `folder`, by its relative path."""
    return {p.relative_to(folder).as_posix(): Stored.at(p) for p in files_below(folder)}


def is_license(path: str) -> bool:
    return "/" not in path and path.upper().split(".")[0] in {"LICENSE", "LICENCE", "COPYING"}


def is_readme(path: str) -> bool:
    return "/" not in path and path.upper().split(".")[0] == "README"


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _digest_of(root: Path, files: tuple[Path, ...] | list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
