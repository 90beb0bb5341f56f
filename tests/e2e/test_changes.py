"""What changes makes stale exactly what depends on it: one paper, one rule, a setting, or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assets.stages import prints, stale
from assets.workplace import workplace
from pipeline import fingerprints
from tests.e2e import tiny
from tests.e2e.tiny import ROOT, Tiny, edit

Edited = Callable[[str, str, str], None]
CODE = ("from __future__ import annotations\n", "from __future__ import annotations\n\n_MORE = 1\n")


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edited]:
    """Edit a module of a copied checkout, which fingerprints are then computed from."""
    tree = tmp_path / "tree"
    for package in fingerprints.FIRST_PARTY:
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__", "_data"))
    monkeypatch.setattr(fingerprints, "_ROOT", tree)
    forget()

    def change(module: str, old: str, new: str) -> None:
        edit(tree / module, lambda text: text.replace(old, new, 1))
        forget()

    yield change
    monkeypatch.undo()
    forget()


def forget() -> None:
    for one in vars(fingerprints).values():
        if hasattr(one, "cache_clear"):
            one.cache_clear()


@contextmanager
def nothing_is_asked(tiny: Tiny) -> Iterator[None]:
    before = tiny.count("sightings"), tiny.count("episodes")
    yield
    assert (tiny.count("sightings"), tiny.count("episodes")) == before


def stale_stages(tiny: Tiny) -> list[str]:
    with workplace(str(tiny.toml), tiny.root) as work:
        return [stage.name for stage in stale(work, prints(work))]


def test_changing_docstrings_of_rules_makes_nothing_stale(finished: Tiny, edited: Edited) -> None:
    for module in ("pipeline/corpus.py", "pipeline/selection.py", "pipeline/evidence.py", "classifiers/agent.py"):
        edited(module, '"""', '"""In other words: ')
    assert stale_stages(finished) == []


@pytest.mark.parametrize(
    ("module", "first"),
    [
        ("pipeline/corpus.py", "corpus"),
        ("classifiers/agent.py", "classification"),
        ("pipeline/release/gate.py", "release"),
    ],
)
def test_changing_a_rule_makes_its_stage_and_all_after_it_stale(
    finished: Tiny, edited: Edited, module: str, first: str
) -> None:
    edited(module, *CODE)
    found = stale_stages(finished)
    assert found[0] == first
    assert found == ["corpus", "bundles", "classification", "selection", "audit", "release"][-len(found) :]


@pytest.mark.slow
def test_changing_a_rule_behind_the_episodes_asks_nothing_and_reruns_no_episode(copy: Tiny, edited: Edited) -> None:
    edited("pipeline/classification.py", *CODE)
    assert stale_stages(copy)[0] == "classification"
    with nothing_is_asked(copy):
        assert copy.build() == tiny.EXIT_RELEASED
    assert stale_stages(copy) == []


@pytest.mark.slow
def test_changing_one_papers_source_reruns_one_episode_and_keeps_every_decision(
    copy: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {row["arxiv_id"]: row["row_hash"] for row in copy.rows("rows")}
    episodes = copy.count("episodes")
    edit(copy.paper("2505.90074"), lambda text: text + "% a remark that nobody sees\n")
    assert copy.build() == tiny.EXIT_RELEASED
    assert copy.count("episodes") == episodes + 1
    assert {row["arxiv_id"]: row["row_hash"] for row in copy.rows("rows")} == before
    assert "classification 1/1" in capsys.readouterr().err
    assert [path.name for path in copy.releases()] == ["tiny-v1", "tiny-v2"]


@pytest.mark.slow
def test_a_paper_whose_claim_changes_waits_for_people_alone(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    edit(copy.paper("2505.90011"), lambda text: text.replace("96.41", "96.51"))
    assert copy.build() == tiny.EXIT_WAITING
    assert "1 pool rows are not decided (1 stale)" in capsys.readouterr().out
    assert [path.name for path in copy.releases()] == ["tiny-v1"]


@pytest.mark.slow
def test_a_variant_with_another_cap_shares_every_episode_and_asks_nothing(copy: Tiny) -> None:
    variant = copy.folder / "tiny-cap24.toml"
    variant.write_text('extends = "tiny"\nsplit_cap_hours = 24\npool_cap_hours = 24\n', encoding="utf-8")
    with nothing_is_asked(copy):
        assert copy.run("build", str(variant)) == tiny.EXIT_WAITING
    hours = [row["hours"] for row in Tiny(copy.folder, "tiny-cap24").rows("audited")]
    assert hours
    assert max(hours) <= 24


def test_what_if_shows_another_pool_without_changing_anything(copy: Tiny, capsys: pytest.CaptureFixture[str]) -> None:
    pool = {row["arxiv_id"]: row["hours"] for row in copy.rows("audited")}
    with nothing_is_asked(copy):
        assert copy.run("what-if", str(copy.toml), "--cap", "8") == 0
    out = capsys.readouterr().out
    left = {paper for paper, hours in pool.items() if hours > 8}
    assert f"leave ({len(left)})" in out
    assert all(paper in out for paper in left)
    assert stale_stages(copy) == []
