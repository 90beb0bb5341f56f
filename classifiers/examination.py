"""One paper from its source to its derivation, outside any edition's tables: what inspection and evaluation share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from classifiers.agent import run_episode
from classifiers.budget import Stopped
from classifiers.models import Classifier, limits_of
from classifiers.prompt import latex_of
from classifiers.toolbox import PaperInput, Probes, Seen, subject_asked
from pipeline.answers import Episode
from pipeline.bundles import Fetched, bundle, files_of, sha256
from pipeline.classification import derivation
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.database import INFRASTRUCTURE
from pipeline.derivation import Derivation
from pipeline.editions import Edition
from pipeline.evidence import Json, Outcome, Receipt, digest
from pipeline.paper import NoPaper, Paper, read
from pipeline.sources.reading import PaperFacts

Source = bytes | Mapping[str, bytes]
"""An archive as sent, or files by their path below the source's folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Examined:
    """What the chain made of one paper. `end` is an exclusion where the episode gave no answer that can be derived."""

    record: PaperRecord
    paper: Paper
    warnings: tuple[str, ...]
    episode: Episode
    end: Derivation | Exclusion


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """A source that holds a paper; `digest` names its files, `latex` is all of them for a prompt that shows it."""

    paper: Paper
    digest: str
    warnings: tuple[str, ...]
    latex: str


def open_source(record: PaperRecord, source: Source) -> Opened | Exclusion:
    """The paper in a source, or why there is none: not LaTeX, nothing readable, no main file, only a template."""
    if isinstance(source, bytes):
        kept: dict[str, bytes] = {}

        def keep(data: bytes) -> str:
            name = sha256(data)
            kept[name] = data
            return name

        found = bundle(record, Fetched(state="here", data=source), keep=keep)
        if isinstance(found, Exclusion):
            return found
        files = files_of(found.source_files, kept.__getitem__)
        return Opened(paper=read(files), digest=found.digest, warnings=found.warnings, latex=latex_of(files))
    try:
        paper = read(source)
    except NoPaper as no_paper:
        return Exclusion(
            key=record.arxiv_id, title=record.title, stage="bundles", reason="no_main_file", detail=no_paper.reason
        )
    named = digest([[path, sha256(source[path])] for path in sorted(source)])
    return Opened(paper=paper, digest=named, warnings=(), latex=latex_of(source))


async def examine(
    record: PaperRecord,
    source: Source,
    probes_for: Callable[[PaperFacts], Probes],
    classifier: Classifier,
    edition: Edition,
) -> Examined | Exclusion:
    """Read, classify and derive one paper. A rule that fails costs this paper, with its reason."""
    try:
        opened = open_source(record, source)
        if isinstance(opened, Exclusion):
            return opened
        paper = opened.paper
        facts = PaperFacts(
            title=paper.title or record.title, arxiv_id=record.arxiv_id, authors=record.authors or paper.authors
        )
        limits = limits_of(edition.classifier)
        latex = opened.latex if classifier.style == "published" else ""
        given = PaperInput(record=record.arxiv_id, bundle=opened.digest, paper=paper, latex=latex)
        episode = await run_episode(given, probes_for(facts), classifier, limits)
        end = derivation(record, paper, episode, edition, has_supplement=False)
    except (Stopped, *INFRASTRUCTURE):
        raise
    except Exception as fault:
        detail = f"{type(fault).__name__}: {fault}"[:500]
        return Exclusion(
            key=record.arxiv_id, title=record.title, stage="classification", reason="crashed", detail=detail
        )
    return Examined(record=record, paper=paper, warnings=opened.warnings, episode=episode, end=end)


class NotAsked:
    """The ten tools where there is nobody to ask: each call is undetermined, since nothing was looked at."""

    REASON = "not asked: no network"

    def __init__(self, paper: str) -> None:
        self._paper = paper

    def __getattr__(self, tool: str) -> Callable[..., Seen]:
        def ask(**arguments: Json) -> Seen:
            receipt = Receipt(
                paper=self._paper,
                tool=tool,
                arguments=arguments,
                exchanges=(),
                outcome=Outcome.UNDETERMINED,
                reason=self.REASON,
                subject=subject_asked(tool, arguments),
            )
            return receipt, {"error": self.REASON}

        return ask
