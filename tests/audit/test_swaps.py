"""A split is what was selected and every swap since; a choice against the rule needs a reason and is shown."""

from __future__ import annotations

import csv
import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.events import Event, chained
from pipeline.release.compose import compose, funnel
from pipeline.release.freeze import freeze
from pipeline.release.verify import verify
from pipeline.selection import Candidate, Selection, SelectionSettings, select
from pipeline.swaps import Folded, swapped
from pipeline.tiers import Tier

PAID = (
    *("2502.00757", "2502.13681", "2503.17195", "2504.09474", "2504.15785", "2505.10819", "2505.15101", "2505.18943"),
    *("2505.20738", "2505.21577", "2506.21924", "2511.09833", "2602.20296", "2509.24629", "2512.00762"),
)
SWAPS = (
    ("2505.17315", "2506.10943"), ("2512.13837", "2510.19784"), ("2510.20261", "2602.03066"),
    ("2506.04536", "2505.19154"),
    ("2503.17482", "2510.24940"), ("2505.17685", "2511.00119"), ("2505.20425", "2505.24089"),
    ("2110.03155", "2410.19933"),
)  # fmt: skip
"""The published swaps whose two papers are in the published pool and of one tier, in their order."""


def event(kind: str, paper: str, value: Any = None, n: int = 0) -> Event:
    at = f"2026-07-{1 + n // 24:02}T{n % 24:02}:00:00Z"
    return Event(kind=kind, paper=paper, who="ada", at=at, why="it cannot be run", value=value)  # type: ignore[arg-type]


def ranked(*ids: str, tier: Tier = Tier.RUN, total: int = 2) -> Selection:
    """Candidates by rank, the first `total` taken."""
    rows = [Candidate(i, tier, float(n + 1)) for n, i in enumerate(ids)]
    return select(rows, SelectionSettings(total, (100.0,), (1,), tiers=(tier,)))


def fold(rule: Selection, *events: Event, dev: tuple[str, ...] = (), given: tuple[str, ...] = ()) -> Folded:
    return swapped({"eval": given or rule.ids, "dev": dev}, {"eval": rule, "dev": rule}, events)


def test_a_replacement_is_next_on_the_reserve_list_and_nothing_more_is_said_of_it() -> None:
    found = fold(ranked("a", "b", "c", "d"), event("replace", "a"), event("replace", "b", "d", 1))
    assert found.members["eval"] == ("c", "d")
    assert [(c.left, c.entered, c.due, c.chosen) for c in found.changes] == [
        ("a", "c", "c", False),
        ("b", "d", "d", False),
    ]
    assert found.problems == ()


def test_another_than_the_next_comes_in_with_a_reason_alone_and_is_told_as_chosen() -> None:
    rule = ranked("a", "b", "c", "d")
    chosen = fold(rule, event("replace", "a", {"paper": "d", "because": "c is the same paper again"}))
    assert chosen.members["eval"] == ("d", "b")
    assert chosen.problems == ()
    (change,) = chosen.changes
    assert (change.entered, change.due, change.because) == ("d", "c", "c is the same paper again")
    for value in ({"paper": "d"}, {"paper": "d", "because": " "}, {"because": "so"}, "d"):
        refused = fold(rule, event("replace", "a", value))
        assert refused.members["eval"] == ("c", "b")
        assert len(refused.problems) == 1
        assert not refused.changes[0].chosen


def test_to_choose_who_is_next_anyway_is_no_choice_against_the_rule() -> None:
    found = fold(ranked("a", "b", "c"), event("replace", "a", {"paper": "c", "because": "it is next"}))
    assert (found.members["eval"], found.changes[0].chosen, found.problems) == (("c", "b"), False, ())


@pytest.mark.parametrize(
    ("paper", "why"),
    [("b", "in a split already"), ("a", "dropped or replaced"), ("x", "no candidate"), ("e", "no candidate")],
)
def test_who_may_not_be_chosen_is_not(paper: str, why: str) -> None:
    rows = [Candidate(i, Tier.RUN, float(n)) for n, i in enumerate("abcd")]
    excluded = Candidate("e", Tier.RUN, 1.0, excluded="a person found it not eligible")
    rule = select([*rows, excluded], SelectionSettings(2, (100.0,), (1,), tiers=(Tier.RUN,)))
    found = fold(rule, event("replace", "a", {"paper": paper, "because": "I like it"}))
    assert found.members["eval"] == ("c", "b")
    assert why in found.problems[0]


def test_a_paper_of_dev_may_be_chosen_for_eval_and_leaves_a_gap_there() -> None:
    rule = ranked("a", "b", "c", "d")
    found = fold(rule, event("replace", "a", {"paper": "d", "because": "it fits"}), dev=("d",))
    assert found.members == {"eval": ("d", "b"), "dev": ()}
    assert [(c.split, c.left, c.entered) for c in found.changes] == [("dev", "d", None), ("eval", "a", "d")]


papers = st.sampled_from("abcdefgh")
swaps = st.lists(
    st.tuples(st.sampled_from(["drop", "replace"]), papers, st.none() | papers, st.booleans()), max_size=12
)


@given(swaps)
def test_whatever_is_swapped_nobody_comes_back_or_is_in_two_splits(
    told: list[tuple[str, str, str | None, bool]],
) -> None:
    rule = ranked(*"abcdefgh", total=3)
    events = [
        event(kind, paper, {"paper": other, "because": "so"} if other and reasoned else None, n)
        for n, (kind, paper, other, reasoned) in enumerate(told)
    ]
    found = swapped({"eval": rule.ids, "dev": ["d"]}, {"eval": rule, "dev": rule}, events)
    both = [*found.members["eval"], *found.members["dev"]]
    assert len(both) == len(set(both))
    assert not set(both) & {e.paper for e in events}
    assert len(found.members["eval"]) <= 3


def read(place: Path) -> list[dict[str, str]]:
    with place.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_published_split_is_the_fold_of_its_first_release_and_its_swaps(published: Path) -> None:
    pool = read(published / "pool_v5.csv")
    candidates = [
        Candidate(
            row["arxiv_id"], Tier.parse(row["tier_original"]), float(row["audited"]),
            excluded="needs a paid or closed API" if row["arxiv_id"] in PAID else None,
        )
        for row in pool
    ]  # fmt: skip
    rule = select(candidates, SelectionSettings(100, (8.0, 32.0, 96.0, 192.0), (5, 7, 8, 5)))
    first = [row["arxiv_id"] for row in read(published / "eval100_first_release.csv")]
    dev = [row["arxiv_id"] for row in read(published / "dev14.csv")] + ["2506.10943"]

    def replayed(reason: bool) -> Folded:
        told = {"because": "the next in line needs what the cluster lacks"} if reason else {}
        events = [event("replace", out, {"paper": in_, **told}, n) for n, (out, in_) in enumerate(SWAPS)]
        return swapped({"eval": first, "dev": dev}, {"eval": rule, "dev": rule}, events)

    found = replayed(reason=True)
    assert found.problems == ()
    assert set(found.members["eval"]) == set(first) - {out for out, _ in SWAPS} | {in_ for _, in_ in SWAPS}
    assert len(found.members["eval"]) == 100
    assert set(found.members["dev"]) == set(dev) - {"2506.10943"}
    shown = [(c.left, c.entered) for c in found.changes if c.chosen]
    by_rule = [(c.left, c.entered) for c in found.changes if c.split == "eval" and not c.chosen]
    assert len(shown) + len(by_rule) == len(SWAPS)
    assert shown, "the published swaps did not follow the reserve list"
    bare = replayed(reason=False)
    assert len(bare.problems) == len([c for c in bare.changes if c.split == "eval" and c.due != dict(SWAPS)[c.left]])
    assert bare.problems


def load_made() -> ModuleType:
    if "reclaim_made" not in sys.modules:
        place = Path(__file__).parent.parent / "release" / "made.py"
        spec = importlib.util.spec_from_file_location("reclaim_made", place)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules["reclaim_made"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["reclaim_made"]


@pytest.mark.slow
def test_a_choice_against_the_rule_stands_in_the_manifest_and_both_verifiers_derive_it(tmp_path: Path) -> None:
    made = load_made()
    held = made.material()
    before = compose(held)
    out = before.splits.eval[0]
    used = {*before.splits.eval, *before.splits.dev}
    tier = next(a.tier for a in before.audited if a.arxiv_id == out)
    due = before.splits.by_rule.replacement(out, used)
    other = next(a.arxiv_id for a in before.audited if a.tier is tier and a.arxiv_id not in {*used, due})
    last = held.entries[-1]

    def with_choice(value: Any) -> Any:
        one = event("replace", out, value)
        return replace(held, entries=(*held.entries, *chained([one], last.site, last.seq, last.hash)))

    refused = with_choice({"paper": other})
    report = freeze(refused, made.given(refused), tmp_path / "made-2026-v1", "code").report
    assert any("without a reason" in str(failure) for failure in report.failures)

    second = with_choice({"paper": other, "because": "the next is the same model"})
    assert funnel(held, before).get("chosen") is None
    frozen = freeze(second, made.given(second), tmp_path / "made-2026-v1", "code")
    assert frozen.place is not None, frozen.report.lines()
    (told,) = json.loads((frozen.place / "manifest.json").read_text())["chosen"]
    assert told["left"] == out
    assert (told["entered"], told["due"], told["because"]) == (other, due, "the next is the same model")
    assert verify(frozen.place).ok
    alone = [sys.executable, "-S", str(frozen.place / "verify.py"), str(frozen.place)]
    proof = subprocess.run(alone, capture_output=True, text=True, check=False)
    assert proof.returncode == 0, proof.stdout
