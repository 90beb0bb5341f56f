"""Real papers and repositories through the same command: each is accounted for, and what could not be determined never
counts as absent."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pipeline.store import Store
from tests.e2e.tiny import Tiny

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("realworld")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    from tests.conftest import SHARED

    world = SHARED / "realworld"
    if not world.is_dir():
        pytest.skip("real papers are not on this machine (../shared/realworld)")
    real = Tiny(tmp_path_factory.mktemp("realworld"), "realworld")
    assert real.run("build", "--world", str(world)) in (0, 3, 5)
    return real


def test_every_real_paper_ends_in_exactly_one_place(built: Tiny, realworld: Path) -> None:
    told = [json.loads(path.read_text())["arxiv_id"] for path in realworld.glob("papers/*/meta.json")]
    ends = Counter(row["arxiv_id"] for row in built.rows("rows"))
    for stage in ("corpus", "bundle", "classification"):
        rows = built.rows(f"{stage}_exclusions")
        assert all(row["stage"] and row["reason"] for row in rows)
        ends.update(row["key"] for row in rows)
    assert len(ends) == len(told) == len(built.rows("index"))
    assert {arxiv_id for arxiv_id in told if arxiv_id} <= set(ends)
    assert set(ends.values()) == {1}


def test_nothing_undetermined_counts_as_absent(built: Tiny) -> None:
    from assets.classification import derivations
    from assets.workplace import workplace

    absent = 0
    with workplace("realworld", built.root) as work:
        receipts = {row["id"]: row for row in built.rows("receipts")}
        for row in derivations(work):
            for label in row.labels:
                if label.value is False and str(label.verification) in ("tool_verified", "tool_searched_not_found"):
                    absent += 1
                    outcomes = [receipts[id_]["outcome"] for id_ in label.receipts]
                    assert outcomes, f"{row.arxiv_id} {label.signal} stands without a receipt"
                    assert "undetermined" not in outcomes, f"{row.arxiv_id} {label.signal}: {label.reason}"
    assert Store.open(built.root).table_print("realworld", "rows") is not None
    print(f"{absent} labels say absent")


def test_a_second_build_of_real_papers_has_nothing_to_do(built: Tiny, realworld: Path) -> None:
    before = built.count("sightings"), built.count("episodes")
    built.run("build", "--world", str(realworld))
    assert (built.count("sightings"), built.count("episodes")) == before
