"""What the walk notes down while it writes: links, headings, labels, citations, and where each token went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.paper.tokens import Source


@dataclass(slots=True)
class RawLink:
    url: str
    raw: str
    source: Source | None
    index: int
    start: int
    end: int
    place: str = ""  # "" = decided by the marks around it
    visible: bool = True
    level: int = 0  # buffer the offsets count in
    text: str = ""
    sentence: str = ""
    key: str = ""  # bibliography entry


@dataclass(slots=True)
class Heading:
    title: str
    start: int
    level: int
    appendix: bool
    number: str


@dataclass(slots=True)
class Env:
    name: str
    groups: int
    math: bool
    end: Callable[[], None] | None = None


@dataclass(slots=True)
class Notes:
    """What the walk found, offsets still those of the unresolved text."""

    links: list[RawLink] = field(default_factory=list)
    marks: list[tuple[int, int, str]] = field(default_factory=list)  # start, end, place
    headings: list[Heading] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    cited: dict[str, None] = field(default_factory=dict)
    bib_files: list[str] = field(default_factory=list)
    bib_labels: dict[str, str] = field(default_factory=dict)
    map_offsets: list[int] = field(default_factory=list)
    map_tokens: list[int] = field(default_factory=list)
    appendix_at: int = -1
    bibliography_at: int = -1
