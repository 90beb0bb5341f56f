"""Repositories that papers name are looked up before the agents start, and their commits at the posting date kept."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assets import repositories
from pipeline.corpus import PaperRecord
from pipeline.editions import data
from pipeline.offline.server import OfflineWorld
from pipeline.offline.transports import WorldTransport
from pipeline.paper import read
from pipeline.sources.clocks import SimulatedClock
from pipeline.sources.github_tokens import Tokens
from pipeline.sources.probes import PaperFacts, Probes
from pipeline.sources.recorder import Recorder
from pipeline.store import Store

TOKEN = "ghp_" + "x" * 36
PAPER = "2509.90057"
REPOSITORY = "trantor-velo/pennyfarthing"


@pytest.fixture(scope="module")
def record() -> PaperRecord:
    """A paper of the sample world, whose only repository was last changed a week after the paper was posted."""
    told: dict[str, Any] = dict.fromkeys((field.name for field in dataclasses.fields(PaperRecord)), "")
    return PaperRecord(**told | {"arxiv_id": PAPER, "version": 1, "published": "2025-09-13T06:00:00Z"})


def paper() -> Any:
    source = data("offline/sample-2025") / "papers" / PAPER / "src"
    return read(
        {path.relative_to(source).as_posix(): path.read_bytes() for path in source.rglob("*") if path.is_file()}
    )


def test_what_a_paper_links_to_is_asked_once_and_its_commit_at_the_posting_date_is_kept(
    record: PaperRecord, tmp_path: Path
) -> None:
    said: list[str] = []
    with OfflineWorld(data("offline/sample-2025")) as world:
        clock = SimulatedClock(datetime(2026, 12, 1, tzinfo=UTC))
        recorder = Recorder(Store(tmp_path), clock, run="r", epoch="e", transport=WorldTransport(world))
        work: Any = SimpleNamespace(say=said.append)
        repositories.look_up(work, recorder, Tokens(), [(record, paper())])
        assert said == []
        for _ in range(2):
            repositories.look_up(work, recorder, Tokens.of(TOKEN), [(record, paper())])
        assert said == [
            "GitHub: 2 answers in 1 calls, 0 known before, 0 say there is no such repository, 0 left to the probes"
        ]
        facts = PaperFacts(title="Pennyfarthing", arxiv_id=PAPER, authors=())
        receipt = Probes(PAPER, recorder, {}, facts, {}, TOKEN).github_repo(REPOSITORY).receipt
        (row,) = repositories.commits(recorder, [record], [receipt])
    assert (row["arxiv_id"], row["repository"], row["posted"]) == (PAPER, REPOSITORY, "2025-09-13T06:00:00Z")
    assert row["commit"] == receipt.facts["commit"]
    assert len(row["commit_at_posting"]) == 40
    assert row["commit_at_posting"] != row["commit"]


@pytest.mark.slow
def test_a_source_that_names_a_thousand_repositories_costs_no_more_calls_than_its_links_are_followed(
    record: PaperRecord,
) -> None:
    words = " ".join(f"https://github.com/someone/tool{n}" for n in range(1000))
    source = "\\documentclass{article}\\begin{document}Our code: https://github.com/own/code. " + words
    read_ = read({"main.tex": (source + "\\end{document}").encode()})
    asked = [question.repo for question in repositories._questions(record, read_)]
    assert len(asked) == 2 * 60
    assert "own/code" in asked


def test_a_token_that_lies_in_the_environment_changes_nothing_in_an_offline_world(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RECLAIM_GITHUB_TOKEN", raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    offline: Any = SimpleNamespace(offline=True)
    live: Any = SimpleNamespace(offline=False)
    assert (bool(repositories.tokens(offline)), bool(repositories.tokens(live))) == (False, True)
    monkeypatch.setenv("RECLAIM_GITHUB_TOKEN", TOKEN)
    assert repositories.tokens(offline)
