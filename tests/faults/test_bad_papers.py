"""A bad paper costs one paper, with a recorded reason, and never the run. One edition holds them all."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.sources.probes import Probes
from tests.e2e import tiny
from tests.e2e.tiny import Tiny

pytestmark = pytest.mark.slow  # one whole build, for every kind of bad paper at once

GOOD = ("2505.90011", "2505.90038", "2505.90057")
FETCH, EPISODE, PROBES, RULE, SECOND_LOOK = "2505.90046", "2505.90177", "2506.90160", "2509.90052", "2506.90126"
START, END = r"\documentclass{article}\begin{document}", r"\end{document}"
HOSTILE = {
    "2505.90074": START + r"\def\a{\a\a}\a \input{main}\input{../../../etc/passwd}" + END,
    "2505.90105": START + "{" * 20_000 + END,
    "2505.90116": START + r"\begin{tabular}{" + "c" * 20_000 + r"}a&b\end{tabular}" + END,
    "2505.90128": START + END,
    "2506.90118": START + "\x00\ufffd\u202e\U000e0041 50\\% \\cite{" + END,
}
ALL = (*GOOD, FETCH, EPISODE, PROBES, RULE, SECOND_LOOK, *HOSTILE)


def failing(
    whole: Callable[..., Any], which: Callable[..., bool], error: Exception, patched: pytest.MonkeyPatch, owner: Any
) -> None:
    def wrapped(*given: Any, **named: Any) -> Any:
        if which(*given, **named):
            raise error
        return whole(*given, **named)

    patched.setattr(owner, whole.__name__, wrapped)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    from assets import episodes
    from classifiers import agent
    from pipeline.sources import packages

    bad = tiny.make(
        tmp_path_factory.mktemp("bad") / "tiny", ALL, sample=len(ALL), pool_size=3, eval_size=3, dev_per_tier=0
    )
    for paper, source in HOSTILE.items():
        shutil.rmtree(bad.paper(paper).parent)
        bad.paper(paper).parent.mkdir()
        bad.paper(paper).write_text(source, encoding="utf-8")

    def episode_fails(given: Any, probes: Any, classifier: Any, limits: Any, passes: int = 1) -> bool:
        return given.record == EPISODE or (given.record == SECOND_LOOK and passes > 1)

    with pytest.MonkeyPatch.context() as patched:
        told = RuntimeError("the model fell over")
        failing(agent.run_episode, episode_fails, told, patched, agent)
        bad_disk = OSError("a bad disk")
        failing(packages.fetch_source, lambda _, record, *__: record.arxiv_id == FETCH, bad_disk, patched, packages)
        rule = ZeroDivisionError("hours per nothing")
        failing(
            episodes.extract,
            lambda record, *_, **__: record.arxiv_id == RULE,
            rule,
            patched,
            episodes,
        )
        for name in ("github_repo", "github_tree", "github_file", "fetch_url", "hub_repo", "hub_tree"):
            fallen = RuntimeError("the probe fell over")
            failing(getattr(Probes, name), lambda self, *_, **__: self.paper == PROBES, fallen, patched, Probes)
        assert bad.build() == tiny.EXIT_WAITING
    return bad


@pytest.fixture(scope="module")
def lost(built: Tiny) -> Mapping[str, Mapping[str, Any]]:
    stages = ("corpus", "bundle", "classification")
    return {row["key"]: row for stage in stages for row in built.rows(f"{stage}_exclusions")}


@pytest.fixture(scope="module")
def rows(built: Tiny) -> Mapping[str, Mapping[str, Any]]:
    return {row["arxiv_id"]: row for row in built.rows("rows")}


def test_good_papers_beside_bad_ones_are_rows_and_none_is_lost(
    rows: Mapping[str, Any], lost: Mapping[str, Any]
) -> None:
    assert set(GOOD) <= set(rows)
    assert all(rows[paper]["eligible"] for paper in GOOD)
    assert sorted([*rows, *lost]) == sorted(ALL)


@pytest.mark.parametrize(
    ("paper", "stage", "cause"),
    [
        (FETCH, "bundles", "OSError: a bad disk"),
        (EPISODE, "classification", "RuntimeError: the model fell over"),
        (RULE, "classification", "ZeroDivisionError: hours per nothing"),
    ],
)
def test_what_fails_on_one_paper_is_recorded_with_stage_and_cause(
    paper: str, stage: str, cause: str, lost: Mapping[str, Any]
) -> None:
    assert lost[paper]["stage"] == stage
    assert cause in lost[paper]["detail"]


def test_a_second_look_that_fails_leaves_the_first_look_standing(rows: Mapping[str, Any]) -> None:
    assert not rows[SECOND_LOOK]["eligible"]
    assert any("unverified" in reason for reason in rows[SECOND_LOOK]["ineligible"])


def test_probes_that_fail_confirm_nothing(rows: Mapping[str, Any], lost: Mapping[str, Any]) -> None:
    assert PROBES in lost or not rows[PROBES]["eligible"]


@pytest.mark.parametrize("paper", HOSTILE)
def test_a_hostile_source_is_never_eligible_and_says_why(
    paper: str, rows: Mapping[str, Any], lost: Mapping[str, Any]
) -> None:
    if paper in rows:
        assert not rows[paper]["eligible"]
        assert rows[paper]["ineligible"]
    else:
        assert lost[paper]["reason"]
        assert lost[paper]["detail"]


def test_no_file_outside_a_bundle_is_read(built: Tiny) -> None:
    held = b"".join(path.read_bytes() for path in (built.root / "blobs").rglob("*") if path.is_file())
    assert re.search(rb"root:[^:]*:0:0", Path("/etc/passwd").read_bytes())
    assert not re.search(rb"root:[^:]*:0:0", held)
    assert "root:x:0:0" not in "".join(str(row) for row in built.rows("rows"))
