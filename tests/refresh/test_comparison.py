"""Two editions side by side, and what a model may have read of one."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets import refresh
from pipeline.comparison import compare, page
from pipeline.dates import contamination, posted, window
from pipeline.editions import EditionError
from pipeline.evidence import Outcome
from pipeline.release.compose import Material, compose
from pipeline.release.folder import Sealed, facts, render
from pipeline.store import Store


def load_made() -> ModuleType:
    if "reclaim_made" not in sys.modules:
        place = Path(__file__).parent.parent / "release" / "made.py"
        spec = importlib.util.spec_from_file_location("reclaim_made", place)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules["reclaim_made"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["reclaim_made"]


def sealed(material: Material) -> Sealed:
    made = compose(material)
    return Sealed(manifest=facts(material, made, "code"), files=render(material, made))


@pytest.fixture(scope="module")
def last() -> Material:
    held: Material = load_made().material()
    return held


@pytest.fixture(scope="module")
def report(last: Material) -> dict[str, Any]:
    """The next edition has the same papers, and a page that is gone by then."""
    pages = [r for r in last.receipts.values() if r.tool == "fetch_url" and r.outcome is Outcome.AVAILABLE]
    gone = min(pages, key=lambda r: r.paper)  # the first look at a place is the one that is compared
    moved = replace(gone, outcome=Outcome.UNAVAILABLE, reason="gone: 404", facts={}, exchanges=("e" * 64,))

    def again(held: Material) -> Material:
        edition = held.edition.model_copy(update={"name": "made-2027", "as_of": date(2027, 2, 28), "eval_size": 6})
        sample = tuple(
            i.model_copy(update={"receipts": [moved.id if r == gone.id else r for r in i.receipts]})
            for i in held.sample
        )
        return replace(held, edition=edition, sample=sample, receipts={**held.receipts, moved.id: moved})

    return compare(sealed(last), sealed(again(last)), ["2026-01", "2025-12"], asked=7)


def test_what_both_editions_have_is_told_and_not_taken_for_new(report: dict[str, Any], last: Material) -> None:
    both = {one["custom_id"] for one in report["papers"]["in_both_splits"]}
    assert both
    assert report["papers"]["in_both_indexes"] == 27
    assert not both & set(report["papers"]["in_last_splits_and_listed_again"])
    assert len(report["carried"]["decisions"]) == len(last.entries)
    assert report["carried"]["receipts"] == len({r for i in last.sample for r in i.receipts}) - 1


def test_an_artifact_that_went_is_told_with_both_receipts(report: dict[str, Any]) -> None:
    (one,) = report["artifacts"]
    assert one["subject"] == "url:https://cifar.example/"
    assert [f["way"] for f in one["found"]] == ["gone"]
    assert one["before"] != one["after"]


def test_tiers_hours_and_requests_are_those_of_the_two_releases(report: dict[str, Any], last: Material) -> None:
    made = compose(last)
    tiers = report["tiers"]["eval"]
    assert sum(tiers[t]["before"]["rows"] for t in tiers) == len(made.splits.eval)
    hours = sum(row.audited_h100_hours for row in made.rows["eval"])
    assert sum(tiers[t]["before"]["hours"] for t in tiers) == pytest.approx(hours)
    assert sum(tiers[t]["after"]["rows"] for t in tiers) < len(made.splits.eval)
    assert report["requests"]["asked"] == 7
    assert report["requests"]["before"] == len({e for r in last.receipts.values() for e in r.exchanges})


def test_rows_are_counted_by_a_models_cutoff(report: dict[str, Any]) -> None:
    known, fresh = report["contamination"]["2026-01"], report["contamination"]["2025-12"]
    rows = sum(report["tiers"]["eval"][t]["after"]["rows"] for t in report["tiers"]["eval"])
    assert known["eval"] == {"before": rows, "after": 0}
    assert fresh["eval"] == {"before": 0, "after": rows}
    assert sum(n["before"] for group, n in known.items() if group.startswith("eval, ")) == rows


def test_the_page_is_one_file_without_scripts_and_the_same_each_time(report: dict[str, Any]) -> None:
    html = page(report)
    assert html == page(report)
    assert "made-2027 beside made-2026" in html
    assert "For a model trained up to 2025-12" in html
    assert "<script" not in html
    assert 'src="http' not in html


def test_dates_are_a_table_beside_the_rows(last: Material) -> None:
    lines = sealed(last).lines("dates")
    assert {line["custom_id"] for line in lines} == {i.arxiv_id for i in last.sample}
    assert {line["posted"] for line in lines} == {"2026-01"}


@pytest.mark.parametrize(
    ("arxiv_id", "month"),
    [
        ("2505.90011", "2025-05"), ("0704.0001", "2007-04"), ("1412.6980v9", "2014-12"), ("hep-th/9901001", "1999-01"),
        ("math.GT/0309136", "2003-09"),
    ],
)  # fmt: skip
def test_an_arxiv_id_names_the_month_of_its_first_version(arxiv_id: str, month: str) -> None:
    assert posted(arxiv_id) == month


@pytest.mark.parametrize("text", ["", "2513.00001", "2500.00001", "25.1", "cs/99", "2505.1"])
def test_what_is_no_arxiv_id_has_no_month(text: str) -> None:
    with pytest.raises(ValueError, match="is no arXiv id"):
        posted(text)


months = st.builds(lambda y, m: f"20{y:02}-{m:02}", st.integers(8, 40), st.integers(1, 12))


@given(st.lists(months, max_size=20), months)
def test_every_row_is_before_or_after_and_windows_agree_with_the_counts(posted_in: list[str], cutoff: str) -> None:
    rows = [(f"{m[2:4]}{m[5:]}.{n:05}", "eval") for n, m in enumerate(posted_in)]
    counts = contamination(rows, cutoff).get("eval", {"before": 0, "after": 0})
    assert sum(counts.values()) == len(rows)
    lines = [{"custom_id": i} for i, _ in rows]
    assert len(window(lines, after=cutoff)) == counts["after"]
    assert len(window(lines, until=cutoff)) == counts["before"]


@pytest.mark.parametrize("cutoff", ["2025", "2025-13", "June 2025", "2025-6"])
def test_a_cutoff_is_a_month(cutoff: str) -> None:
    with pytest.raises(ValueError, match="is no month"):
        contamination([], cutoff)


def frozen(store: Store, folder: str, **edition: Any) -> Path:

    place = store.releases / folder
    place.mkdir(parents=True)
    (place / "manifest.json").write_text("{}")
    (place / "edition.json").write_text(json.dumps(edition))
    return place


def test_the_last_release_of_an_edition_is_found_by_folder_name_or_edition(tmp_path: Path) -> None:
    store = Store(tmp_path)
    places = [frozen(store, f"neurips-2025-v{n}", name="neurips-2025", as_of="2025-12-01") for n in (1, 2, 10)]
    assert refresh.release_of(store, "neurips-2025") == places[-1]
    assert refresh.release_of(store, "neurips-2025-v2") == places[1]
    assert refresh.release_of(store, str(places[0])) == places[0]
    with pytest.raises(EditionError, match="is no release"):
        refresh.release_of(store, "neurips-2024")


def test_an_edition_is_no_successor_of_itself_nor_of_a_later_day(tmp_path: Path) -> None:
    place = frozen(Store(tmp_path), "neurips-2025-v1", name="neurips-2025", as_of="2025-12-01")

    def work(name: str, day: date) -> Any:
        return SimpleNamespace(edition=SimpleNamespace(name=name, as_of=day))

    with pytest.raises(EditionError, match="--refresh"):
        refresh.check(work("neurips-2025", date(2026, 12, 1)), place)
    with pytest.raises(EditionError, match="set a later `as_of`"):
        refresh.check(work("neurips-2026", date(2025, 12, 1)), place)
    refresh.check(work("neurips-2026", date(2026, 12, 1)), place)
