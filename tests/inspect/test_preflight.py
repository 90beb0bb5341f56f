"""What keeps a paper from Run: each item from evidence, none without it, the most useful first."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.inspect import inspect
from classifiers.examination import Examined
from classifiers.preflight import Missing, missing
from pipeline.derivation import Derivation
from pipeline.editions import data

SAMPLE = data("offline", "sample-2025")


def lacking(paper: str, world: Path | None = SAMPLE) -> tuple[Missing, ...]:
    found, _ = inspect(paper, world=world)
    assert isinstance(found, Examined)
    assert isinstance(found.end, Derivation)
    return missing(found.paper, found.end, found.episode.receipts)


@pytest.mark.parametrize(
    ("paper", "what", "evidence"),
    [
        ("2505.90105", "https://github.com/hearth-institute/ember holds a README, no code that runs.", "coming soon"),
        ("2506.90110", "https://github.com/lower-tailors/thimble is empty.", "repository is empty"),
        ("2506.90126", "https://github.com/upper-silva/catkin is not there.", "404, once"),
        ("2506.90203", "The weights at https://huggingface.co/cuckoo-birds/rookery-vl-7b are gated.", "auto"),
        ("2505.90046", "The PDF shows no link to code of your own.", "0 links read"),
        ("2505.90089", "The target needs a paid or closed API.", "gpt-4o"),
    ],
)
def test_what_the_evidence_shows_is_named_with_it(paper: str, what: str, evidence: str) -> None:
    found = {one.what: one.evidence for one in lacking(paper)}
    assert what in found
    assert evidence in found[what]


def test_nothing_is_missing_where_everything_is_released() -> None:
    assert lacking("2505.90011") == ()


def test_a_paper_without_an_experiment_lacks_nothing() -> None:
    assert lacking("2505.90074") == ()


def test_what_moves_the_tier_most_comes_first() -> None:
    data_first, *rest = [one.what for one in lacking("2506.90109")]
    assert data_first.startswith("No open place was found for the target's data")
    assert [one for one in rest if "weights" in one]


def source(tmp_path: Path, body: str, abstract: str = "Lantern improves accuracy on CIFAR-10 to 94.5\\%.") -> Path:
    place = tmp_path / "main.tex"
    place.write_text(
        "\\documentclass{article}\\title{Lantern}\n\\begin{document}\n\\begin{abstract}\n"
        f"{abstract}\n\\end{{abstract}}\n{body}\n\\end{{document}}\n",
        encoding="utf-8",
    )
    return place


TABLE = r"""\begin{table}\caption{Accuracy of Lantern on CIFAR-10.}\begin{tabular}{lc}
Method & Accuracy \\ OldTree & 91.2 \\ Lantern (ours) & \textbf{94.5} \\ \end{tabular}\end{table}
"""


def test_without_hours_it_says_that_no_time_is_stated(tmp_path: Path) -> None:
    found = lacking(str(source(tmp_path, TABLE + "We train Lantern with SGD on 8 A100 GPUs.")), world=None)
    hours = [one.evidence for one in found if one.what == "The hours of one rerun cannot be derived."]
    assert hours == ["the paper states no time for a training run of the target"]


def test_a_link_that_only_a_comment_holds_is_shown_to_its_author(tmp_path: Path) -> None:
    found = lacking(str(source(tmp_path, "% code: \\url{https://github.com/lamplight/lantern}\nText.")), world=None)
    hidden = [one for one in found if "https://github.com/lamplight/lantern" in one.what]
    assert [one.evidence for one in hidden] == ["main.tex:6, a comment"]


def test_a_place_that_nobody_asked_is_not_said_to_lack_anything(tmp_path: Path) -> None:
    abstract = "Lantern reaches 94.5\\% on CIFAR-10. Code: \\url{https://github.com/lamplight/lantern}"
    found = lacking(str(source(tmp_path, "Text.", abstract)), world=None)
    assert not [one for one in found if "github.com" in one.what or "checkpoint" in one.what or "open" in one.what]
