"""Classifiers side by side: fake models whose disagreements are known give exactly the known tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from assets import evaluate as command
from assets.cli import main
from classifiers.comparison import Comparison, compare
from classifiers.comparison_page import comparison_page
from classifiers.embedded import embedded_model
from classifiers.judged import Judged
from classifiers.models import Classifier, model_for
from classifiers.said import Cost
from classifiers.scorecard import Share, scorecard
from classifiers.toolbox import Briefing
from tests.bench.agent import ANSWER
from tests.classifiers.fake_openai import Say, serving
from tests.evaluation.conftest import make_gold

Edit = Callable[[dict[str, Any]], dict[str, Any]]


class Edited(WrapperModel):
    """The embedded rules, whose last word is changed."""

    def __init__(self, wrapped: Model, edit: Edit) -> None:
        super().__init__(wrapped)
        self.edit = edit

    async def request(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        response = await self.wrapped.request(messages, settings, parameters)
        parts = [
            replace(p, args=self.edit(p.args_as_dict()))
            if isinstance(p, ToolCallPart) and p.tool_name == "answer"
            else p
            for p in response.parts
        ]
        return replace(response, parts=parts)


def fake(name: str, edits: Mapping[str, Edit]) -> Callable[[], Classifier]:
    """A model that answers as the rules do, but for the papers of these titles."""

    def model(briefing: Briefing) -> Model:
        return Edited(embedded_model(briefing), edits.get(briefing.given.paper.title, lambda answer: answer))

    return lambda: Classifier(id=name, model=model)


def survey(answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "paper_kind": "survey"}


def baseline_row(answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "target": {**answer["target"], "row": 1, "value": "91.2", "config": "OldTree"}}


TREES = "Lantern: Brighter Trees"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    root = tmp_path_factory.mktemp("comparison")
    readers = [fake("model-a", {}), fake("model-b", {TREES: baseline_row, "Shade": survey})]
    return command.compare_on(make_gold(root / "gold"), readers, root / "store", lambda line: None)


def test_two_fake_models_give_exactly_the_confusion_that_was_put_into_them(both: Comparison) -> None:
    tables = {one.question: one for one in both.between}
    kinds = tables["paper kind"]
    assert kinds.confusion == (("empirical", "empirical", 1), ("empirical", "survey", 1), ("no paper", "no paper", 1))
    assert kinds.agree == Share(2, 3)
    assert kinds.differ == (("shade", "empirical", "survey"),)
    assert tables["code_available"].confusion == (
        ("left open", "left open", 1),
        ("left open", "not needed", 1),
        ("yes", "yes", 1),
    )
    assert tables["target"].agree == Share(2, 3)
    assert [where for where, _, _ in tables["target"].differ] == ["lantern"]
    assert tables["compute"].agree.n == 3


def test_each_stands_against_the_labels(both: Comparison) -> None:
    first, second = both.first_runs
    assert first.card.tallies != second.card.tallies
    rows = {(measure, against): shares for measure, against, shares in both.by_measure()}
    assert rows["target: first", "either"] == [Share(1, 1), Share(0, 1)]
    assert rows["code", "record"] == [Share(1, 1), Share(1, 1)]
    assert second.card.classifier == "model-b"


@pytest.mark.slow
def test_a_model_that_answers_by_turns_is_held_against_itself(gold_folder: Path, tmp_path: Path) -> None:
    made: list[int] = []

    def wavering() -> Classifier:
        made.append(1)
        return fake("wavering", {TREES: survey} if len(made) == 2 else {})()

    found = command.compare_on(gold_folder, [wavering], tmp_path / "store", lambda line: None, repeat=2)
    kinds = next(one for one in found.within if one.question == "paper kind")
    assert (kinds.agree, kinds.differ) == (Share(2, 3), (("lantern", "empirical", "survey"),))
    assert found.between == ()


@pytest.mark.slow
def test_rules_agree_with_themselves_on_everything(gold_folder: Path, tmp_path: Path) -> None:
    rules = [lambda: model_for("embedded")]
    same = command.compare_on(gold_folder, rules, tmp_path / "store", lambda line: None, repeat=2)
    assert same.within
    assert all(one.agree.k == one.agree.n for one in same.within)


def test_costs_and_tokens_are_told_a_paper(both: Comparison) -> None:
    first, second = both.readings
    paid = {name: replace(one, cost=Cost(4, 9000, 600, 1500)) for name, one in second.said.items()}
    told = compare("gold", [first, replace(second, said=paid)])
    assert told.readings[1].cost == Cost(12, 27000, 1800, 4500)
    assert told.readings[1].cost.of_one(3) == Cost(4, 9000, 600, 1500)
    page = comparison_page(told)
    assert "9,000 tokens read" in page
    assert "$0.0015" in page
    assert "no model asked" in page


def test_the_page_holds_every_table_escaped_and_asks_for_nothing(both: Comparison) -> None:
    first, second = both.readings
    evil = Judged(measure="code", against="record", paper="<b>x</b>", theirs="yes", ours="no", agrees=False)
    card = scorecard("<script>", "gold", ["x"], [evil])
    page = comparison_page(compare("gold", [first, replace(second, classifier="<script>", card=card)]))
    assert "<script" not in page
    assert "src=" not in page
    assert "own-code links" in page
    assert page.endswith("</body></html>\n")


def test_the_command_takes_several_classifiers(
    gold_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, page = tmp_path / "c.json", tmp_path / "c.html"
    asked = ["--classifier", "embedded", "--classifier", "embedded", "--json", str(data), "--html", str(page)]
    assert main(["evaluate", "--gold", str(gold_folder), *asked]) == 0
    assert "2 classifiers on 3 gold papers" in capsys.readouterr().out
    told = json.loads(data.read_text())
    assert len(told["classifiers"]) == 2
    assert {one["question"] for one in told["between"]} >= {"tier", "target", "compute", "code_available"}
    assert "Between classifiers" in page.read_text()


def test_readings_of_other_papers_are_not_compared(both: Comparison) -> None:
    first, second = both.readings
    with pytest.raises(ValueError, match="same papers"):
        compare("gold", [first, replace(second, said={})])


@pytest.mark.slow
def test_a_models_readings_are_paid_for_once_in_a_store_and_once_more_for_each_repetition(
    gold_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECLAIM_ACCEPT", "unpriced")
    answer = json.dumps(ANSWER)
    with serving(lambda told: Say(calls=[("answer", answer)])) as fake:
        name, store = f"openai:small@{fake.url}", str(tmp_path / "store")
        told = ["--store", store, "evaluate", "--gold", str(gold_folder), "--classifier", name]
        assert main(told) == 0
        assert fake.asked == 2, "two of the three folders hold a paper"
        first = capsys.readouterr().out
        assert main(told) == 0
        assert (fake.asked, capsys.readouterr().out) == (2, first)
        for _ in range(2):
            assert main([*told, "--repeat", "2"]) == 0
            assert fake.asked == 4
        source = str(gold_folder / "papers/lantern/src")
        for _ in range(2):
            assert main(["--store", store, "inspect", source, "--classifier", name]) == 0
            assert fake.asked == 5
