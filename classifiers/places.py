"""Which probe looks at which place."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pipeline.artifacts import subject
from pipeline.evidence import Json, canonical


@dataclass(frozen=True, slots=True)
class Call:
    """One probe to run: its name and its arguments."""

    tool: str
    arguments: tuple[tuple[str, Json], ...]

    @classmethod
    def of(cls, tool: str, **arguments: Json) -> Call:
        return cls(tool, tuple(sorted(arguments.items())))

    @property
    def key(self) -> str:
        """Equal for calls that ask the same: repositories do not differ by case."""
        return canonical([self.tool, dict(self.arguments)]).lower()


def call_for(url: str) -> Call:
    """The probe that looks at a URL: a repository's overview, a Hub entry's, else the page. Keeps the URL's
    spelling.
    """
    kind = subject(url)
    path = [unquote(p) for p in urlsplit(url if "://" in url else f"https://{url}").path.split("/") if p]
    if kind.startswith("github:"):
        return Call.of("github_repo", repo=f"{path[0]}/{path[1].removesuffix('.git')}")
    if kind.startswith("hf:"):
        _, entry, repo = kind.split(":", 2)
        return Call.of("hub_repo", kind=entry, repo=repo)
    return Call.of("fetch_url", url=url)


def call_about(subject_: str) -> Call:
    """The probe that looks at a subject as receipts name it."""
    if subject_.startswith("github:"):
        return Call.of("github_repo", repo=subject_.removeprefix("github:"))
    if subject_.startswith("hf:"):
        _, kind, repo = subject_.split(":", 2)
        return Call.of("hub_repo", kind=kind, repo=repo)
    if subject_.startswith("supplement:"):
        return Call.of("supplement_file", path=subject_.removeprefix("supplement:"))
    return Call.of("fetch_url", url=subject_.removeprefix("url:"))
