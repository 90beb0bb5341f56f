"""`reclaim audit export` and `adopt`: two people's stores become one ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.cli import main
from pipeline.events import Event, head
from pipeline.ledger import Ledger
from pipeline.store import Store


def test_two_stores_exchange_files_and_hold_one_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    books = {}
    for number, site in enumerate(("east", "west")):
        books[site] = Ledger(Store.open(tmp_path / site).engine, "sample-2025", site)
        drop = {"kind": "drop", "paper": "2505.90011", "who": site, "why": "withdrawn"}
        books[site].append([Event.model_validate({**drop, "at": f"2026-03-01T12:00:0{number}Z"})])

    def run(site: str, what: str, file: str) -> int:
        return main(["--store", str(tmp_path / site), "audit", what, str(tmp_path / file)])

    assert run("east", "export", "east.jsonl") == run("west", "export", "west.jsonl") == 0
    assert run("east", "adopt", "west.jsonl") == run("west", "adopt", "east.jsonl") == 0
    assert head(books["east"].entries()) == head(books["west"].entries())
    assert capsys.readouterr().out.count(head(books["east"].entries())) == 2
    assert [event.who for event in books["west"].events()] == ["east", "west"]
    text = (tmp_path / "east.jsonl").read_text()
    (tmp_path / "bad.jsonl").write_text(text.replace("withdrawn", "withdrawm"))
    assert run("west", "adopt", "bad.jsonl") == 1
    assert "bad.jsonl:1: entry east 1 about 2505.90011: its hash is not that of its content" in capsys.readouterr().err
