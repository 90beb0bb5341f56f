"""The benchmarks' one command ends and leaves numbers, page and picture; goals are said and never asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import goals, page, telling

ROOT = Path(__file__).resolve().parents[2]
RUN: dict[str, Any] = {
    "commit": "abc", "cores": 2, "memory_gb": 8.0, "processor": "p", "python": "3", "system": "s", "load": 0.1,
    "date": "2026-01-01", "quick": False, "benches": {"growth": {"seconds": 60.0, "exit": 0, "of": ["growth"]}},
}  # fmt: skip


def growth(case: str, papers: int, seconds: float, peak: float) -> telling.Row:
    return {
        "bench": "growth",
        "case": case,
        "papers": papers,
        "seconds": seconds,
        "cpu_seconds": seconds,
        "peak_mb": peak,
        "disk_mb": 1.0,
    }


@pytest.mark.slow
def test_a_quick_run_of_some_benchmarks_ends_and_writes_numbers_page_and_picture(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.bench",
        "--quick",
        "--only",
        "selection",
        "recorder",
        "--out",
        str(tmp_path),
    ]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr
    said = json.loads((tmp_path / "performance.json").read_text(encoding="utf-8"))
    assert {row["bench"] for row in said["rows"]} == {"selection", "recorder"}
    assert said["cores"] >= 1
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "| 10,000 rows | polars, ours |" in text
    assert "not measured" in text
    assert (tmp_path / "performance.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_every_panel_of_the_picture_is_drawn_from_what_there_is(tmp_path: Path) -> None:
    from tests.bench import plot  # matplotlib takes a second, which the other tests need not wait for

    rows = [growth(case, n, n / 10, n / 5) for n in (60, 1_000) for case in ("cold", "no-op")]
    rows += [{"bench": "selection", "who": who, "rows": n, "ms": n / 9.0} for who in ("ours", "b") for n in (10, 100)]
    told = {"bench": "reader", "case": "c", "papers": 2, "failed": 1, "kept_share": None}
    rows += [{**told, "who": who, "median_ms": 5.0} for who in ("ours", "pandoc")]
    sizes = []
    for some in ([], rows):
        plot.draw({**RUN, "rows": some}, tmp_path / "p.png")
        sizes.append((tmp_path / "p.png").stat().st_size)
    assert 10_000 < sizes[0] < sizes[1]


def test_a_goal_is_met_missed_or_not_measured_and_the_page_says_which() -> None:
    rows = [
        growth("from evidence", 1_000, 95.0, 400),
        growth("cold", 1_000, 70.0, 500),
        growth("cold", 10_000, 900.0, 2_000),
        growth("no-op", 10_000, 4.0, 90),
    ]
    said = {goal.what: goal.met(rows) for goal in goals.GOALS}
    assert said["1,000 papers from recorded evidence"] is False
    assert said["10,000 papers, peak memory"] is True
    assert said["10,000 papers, nothing to do"] is True
    assert said["10,000 papers, time a paper beside that of 1,000"] is False
    assert said["reader beside pandoc, median paper"] is None
    text = page.render({**RUN, "rows": rows})
    assert "| 1,000 papers from recorded evidence | at most 90 s | 95.0 s | NOT met |" in text
    assert "| reader beside pandoc, median paper | at least 10 times faster | not measured |  |" in text


def test_numbers_are_told_in_their_units() -> None:
    told = {"kept_share": 0.5, "to_ours_times": 20.4, "ms": 0.1234, "rows": 10_000, "gone": None, "seconds": 1234.5}
    assert [telling.shown(name, value) for name, value in told.items()] == [
        "50.0%",
        "20x",
        "0.123",
        "10,000",
        "",
        "1,234",
    ]
    rows = [{"bench": "b", "case": "x", "ms": 1.5}, {"bench": "b", "case": "longer", "seconds": 2.0}]
    assert telling.table(rows).splitlines() == ["case      ms  seconds", "x       1.50", "longer           2.00"]
