"""What the page is given: it opens no edition and asks no service by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline.derivation import Derivation
from pipeline.disagreements import Disagreement
from pipeline.editions import Edition
from pipeline.evidence import Receipt
from pipeline.paper import Paper
from pipeline.second_readings import LEAST_SHARE
from pipeline.store import Store


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The rows to audit as one build left them. `print` changes with them; `sample` holds every classified row, `rows`
    those of the pool."""

    print: str
    rows: tuple[Derivation, ...]
    sample: tuple[Derivation, ...]
    receipts: Mapping[str, Receipt]
    paper: Callable[[str], Paper]
    """Read a paper's source by arXiv id. May take a second."""
    disagreements: tuple[Disagreement, ...] = ()
    """Where second looks and double reads say other than a row, what to look at first in front."""

    def row(self, paper: str) -> Derivation | None:
        return next((row for row in self.rows if row.arxiv_id == paper), None)


@dataclass(frozen=True, slots=True)
class Guide:
    """The labelling guide that decisions name."""

    version: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Given:
    """`pool` is asked at every request and answers from memory while nothing was built. `recheck` makes a receipt's
    call again, now. `secret` signs cookies. `share` of the rows is read twice. `hosts`: names under which the page may
    be asked for. `secure`: the browser reaches it over TLS."""

    store: Store
    edition: Edition
    pool: Callable[[], Pool]
    recheck: Callable[[Receipt], Receipt]
    guide: Guide
    secret: str = field(repr=False)
    site: str = "main"
    share: float = LEAST_SHARE
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    secure: bool = False
    dagster: str = ""
    calibrate: bool = True
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
        if not LEAST_SHARE <= self.share <= 1:
            raise ValueError(f"a share of {self.share:g} is read twice; give one from {LEAST_SHARE} to 1")
        if len(self.secret) < 32:
            raise ValueError("the secret that signs cookies needs at least 32 characters")
