"""`reclaim evaluate` as people run it, over an invented gold folder and over the real one."""

from __future__ import annotations

import json
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from assets import evaluate as command
from assets.cli import main
from classifiers.examination import examine
from classifiers.scorecard import Scorecard


@pytest.fixture
def card(gold_folder: Path, tmp_path: Path) -> Scorecard:
    return command.evaluate(gold_folder, "embedded", tmp_path / "store", lambda line: None)


def cell(card: Scorecard, measure: str, against: str) -> tuple[int, int]:
    (row,) = [t for t in card.tallies if (t.measure.name, t.against) == (measure, against)]
    return row.agree.k, row.agree.n


def test_a_gold_folder_is_evaluated_from_end_to_end(card: Scorecard) -> None:
    assert card.papers == ("lantern", "shade", "stub")
    assert cell(card, "code", "record") == (1, 1)
    assert cell(card, "own-code links", "both") == (2, 2)
    assert cell(card, "links: unrendered", "first") == (1, 1)
    assert cell(card, "links: commented", "first") == (1, 1)
    assert cell(card, "links: foreign", "first") == (1, 1)
    assert cell(card, "compute statements", "first") == (1, 1)
    assert cell(card, "compute statements", "second") == (1, 1)
    assert cell(card, "target: first", "either") == (1, 1)
    assert cell(card, "paper kind", "second") == (2, 2)
    assert [paper for paper, _ in card.trouble] == ["stub"]


def test_labels_never_reach_the_classifier(gold_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    async def watched(record, source, probes_for, classifier, edition):  # type: ignore[no-untyped-def]
        given.append(f"{record} {sorted(source)} {b' '.join(source.values())!r}")
        return await examine(record, source, probes_for, classifier, edition)

    monkeypatch.setattr(command, "examine", watched)
    command.evaluate(gold_folder, "embedded", tmp_path / "store", lambda line: None)
    assert len(given) == 3
    for text in given:
        assert "tier_from_source_alone" not in text
        assert "second_reader" not in text
        assert "code_claimed" not in text


def test_the_same_folder_gives_the_same_bytes(gold_folder: Path, tmp_path: Path) -> None:
    cards = [command.evaluate(gold_folder, "embedded", tmp_path / name, lambda line: None) for name in ("a", "b")]
    assert json.dumps(cards[0].to_json()) == json.dumps(cards[1].to_json())


class _Watch(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.asks: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.asks += [str(value) for name, value in attrs if name in ("src", "href", "action")]


def test_report_and_json_are_written_and_the_page_asks_for_nothing(
    gold_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meta = gold_folder / "papers/lantern/meta.json"
    meta.write_text(meta.read_text().replace("first draft", "<script>alert(1)</script>"))
    page, data = tmp_path / "out/report.html", tmp_path / "out/report.json"
    assert main(["evaluate", "--gold", str(gold_folder), "--html", str(page), "--json", str(data)]) == 0
    printed = capsys.readouterr().out
    assert "own-code links" in printed
    assert "[0.21, 1.00]" in printed  # one of one, with its interval
    told = json.loads(data.read_text())
    assert told["papers"] == ["lantern", "shade", "stub"]
    assert {"measure", "agree", "precision", "recall", "confusion", "readers_agree"} <= told["measures"][0].keys()
    watch = _Watch()
    watch.feed(page.read_text())
    assert watch.asks == []
    assert "script" not in watch.tags
    assert "stub" in page.read_text()


def test_what_cannot_be_evaluated_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--gold", str(tmp_path)]) == 1
    assert "holds no gold papers" in capsys.readouterr().err
    (tmp_path / "papers/a/src").mkdir(parents=True)
    (tmp_path / "papers/a/meta.json").write_text('{"title": "A"}')
    assert main(["evaluate", "--gold", str(tmp_path), "--classifier", "nobody"]) == 1
    assert "no classifier 'nobody'" in capsys.readouterr().err


@pytest.mark.slow
def test_real_papers_are_evaluated_in_under_a_minute(realworld: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    card = command.evaluate(realworld, "embedded", tmp_path / "store", lambda line: None)
    assert time.monotonic() - began < 60
    assert len(card.papers) == len(list(realworld.glob("papers/*/meta.json")))
    assert not [reason for _, reason in card.trouble if reason.startswith("crashed")]
    rows = {(t.measure.name, t.against): t for t in card.tallies}
    code, statements = rows["code", "record"], rows["compute statements", "second"]
    assert code.agree.n - code.agree.k <= 1
    assert statements.recall is not None
    assert statements.recall.k / statements.recall.n >= 0.85
