"""Anthropic's own protocol through the same loop, patience, purse and gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from classifiers.budget import Budget, Stopped
from classifiers.endpoints import OWN_KEY
from classifiers.models import Classifier, Way, model_for
from classifiers.toolbox import Limits
from pipeline.editions import LanguageModel
from tests.classifiers.fake_anthropic import FakeAnthropic, serving
from tests.classifiers.fake_openai import Fail, FakeOpenAI, Say, results, tools, turns
from tests.classifiers.readers import Reader, answering, good, searching

pytestmark = pytest.mark.slow  # the client alone takes seconds to import
MODEL = "claude-sonnet-5"
OVERLOADED = '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'


def readers(fake: FakeAnthropic, budget: Budget | None = None) -> tuple[Reader, Classifier]:
    reader = Reader(FakeOpenAI(lambda told: Say()), environ={OWN_KEY: "sk-own", "ANTHROPIC_API_KEY": "sk-real"})
    way = Way(budget=budget or Budget(), turns=lambda paper: reader.turns, clock=reader.clock, environ=reader.environ)
    return reader, model_for(f"anthropic:{MODEL}@{fake.url}", LanguageModel(), way)


def test_tools_are_called_their_results_read_and_the_answer_taken() -> None:
    heard: list[dict[str, Any]] = []

    def script(told: dict[str, Any]) -> Say:
        heard.extend(results(told))
        return searching(2)(told)

    with serving(script) as fake:
        reader, classifier = readers(fake)
        episode = reader.read(classifier)
        again = reader.read(classifier)
    assert episode.exit_reason == "natural", episode.problem
    assert episode.answer is not None
    assert episode.classifier.startswith(f"anthropic:{MODEL}+")
    searched = [r.id for r in episode.receipts if r.tool == "github_search_repositories"]
    assert [one["receipt"] for one in heard if one["subject"] == "search:github"][:2] == [searched[0], searched[0]]
    assert episode.account["requests"] == fake.asked == 3
    assert (episode.account["input_tokens"], episode.account["output_tokens"]) == (3000, 300)
    assert episode.account["micro_usd"] > 0
    assert again == episode, "remembered turns are not asked again"
    assert set(fake.keys) == {"sk-own"}, "a provider's key goes to no address that somebody typed"
    assert "cache_control" in str(fake.seen[0]["system"]), "the stable part is cached"


def test_a_limit_and_an_overload_are_waited_out_on_the_injected_clock() -> None:
    faults = [Fail(429, headers={"retry-after": "7"}), Fail(529, OVERLOADED), Fail(529, OVERLOADED)]

    def script(told: dict[str, Any]) -> Say | Fail:
        return faults.pop(0) if faults else answering(told)

    with serving(script) as fake:
        reader, classifier = readers(fake)
        began = reader.clock.now()
        episode = reader.read(classifier)
    assert episode.exit_reason == "natural", episode.problem
    assert fake.asked == 4
    assert (reader.clock.now() - began).total_seconds() == 7 + 4 + 8


def test_an_endless_overload_pauses_the_run() -> None:
    with serving(lambda told: Fail(529, OVERLOADED)) as fake:
        reader, classifier = readers(fake)
        with pytest.raises(Stopped, match="gave no answer after 6 attempts") as stopped:
            reader.read(classifier)
    assert stopped.value.reason == "endpoint_down"
    assert "sk-own" not in str(stopped.value)


def test_a_backend_in_its_form_that_tells_no_usage_is_asked_once() -> None:
    with serving(lambda told: replace(searching(3)(told), usage=None)) as fake:
        reader, classifier = readers(fake)
        with pytest.raises(Stopped, match="tells no token usage"):
            reader.read(classifier)
        assert fake.asked == 1


def test_once_its_budget_is_near_only_the_answer_is_left_to_call() -> None:
    def script(told: dict[str, Any]) -> Say:
        calls = [("answer", good())] if tools(told) == ["answer"] else [("hub_search", {"query": f"g {turns(told)}"})]
        return Say(calls=calls, usage=(6_000, 400))

    with serving(script) as fake:
        reader, classifier = readers(fake)
        episode = reader.read(classifier, Limits(rounds=30, budget=Budget(tokens=60_000)))
    assert episode.exit_reason == "token_limit"
    assert [tool["name"] for tool in fake.seen[-1]["tools"]] == ["answer"]
