"""What a build asked of whom is said at its end and shown with its assets."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.report import requests_of, requests_text
from assets.workplace import Workplace
from pipeline import editions
from pipeline.evidence import Exchange
from pipeline.record import Sent
from pipeline.store import Store


@pytest.fixture
def work(tmp_path: Path) -> Workplace:
    made = Workplace(edition=editions.load("sample-2025"), store=Store(tmp_path), run="this")
    for run, paper, sent in (
        ("this", "2505.00001", [Sent(host="api.github.com", outcome="answered", size=2_000_000)] * 3),
        ("this", "2505.00002", [Sent(host="zenodo.org", outcome="failed")]),
        ("this", "", [Sent(host="export.arxiv.org", outcome="answered", size=500_000)]),
        ("another", "2505.00001", [Sent(host="zenodo.org", outcome="answered")] * 9),
    ):
        exchange = Exchange(method="GET", url=f"https://{sent[0].host}/", status=200)
        at = datetime(2026, 12, 1, tzinfo=UTC)
        made.record.put_exchange(exchange, seen_at=at, attempt=1, run=run, epoch="live:e", paper=paper, sent=sent)
    return made


def test_the_end_of_a_build_says_how_much_it_asked_of_whom(work: Workplace) -> None:
    said = requests_text(work)
    assert "5 requests, 6.5 MB (4 answered, 1 failed), 1 to 3 for each of 2 papers" in said
    assert "3 hosts: api.github.com 3, export.arxiv.org 1, zenodo.org 1" in said


def test_a_build_that_asked_nothing_says_nothing_of_it(work: Workplace) -> None:
    work.run = "a third"
    assert requests_text(work) == ""


def test_assets_show_requests_by_host_and_by_paper(work: Workplace) -> None:
    shown = requests_of(work)
    assert shown["requests_of_this_run"] == 5
    assert shown["requests_by_host"][0] == {"host": "api.github.com", "requests": 3, "bytes": 6_000_000}
    assert [row["paper"] for row in shown["requests_by_paper"]] == ["2505.00001", "-", "2505.00002"]
