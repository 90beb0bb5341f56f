"""The loop against models that lie, loop, die or never answer: it ends, it says why, and nothing is confirmed by a
word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from classifiers.agent import run_episode
from classifiers.models import Classifier, NoSuchModel, Way, model_for
from classifiers.toolbox import Limits, bounded
from pipeline.answers import Answer
from pipeline.defects import defects
from pipeline.evidence import Outcome, Signal, Status
from tests.classifiers.toys import (
    CODE,
    OWN_CODE,
    WEIGHTS,
    FakeProbes,
    classify,
    derived,
    method_paper,
    paper_input,
    places,
)

SOURCE = method_paper(links="Our code will be released upon acceptance.")
Turn = Callable[[list[ModelMessage], AgentInfo], list[Any]]


def scripted(turn: Turn) -> Classifier:
    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=turn(messages, info), usage=RequestUsage(unmeasured_requests=1))

    return Classifier(id="scripted", model=lambda briefing: FunctionModel(respond))


def honest(**changes: Any) -> dict[str, Any]:
    """An answer the embedded classifier would give on SOURCE, with changes."""
    episode = classify(SOURCE, FakeProbes(places()))
    assert episode.answer is not None
    return {**episode.answer.model_dump(mode="json"), **changes}


def saying(signals: dict[str, dict[str, Any]]) -> dict[str, Any]:
    base = honest()
    return {**base, "signals": {**base["signals"], **signals}}


def answer(value: dict[str, Any]) -> list[Any]:
    return [ToolCallPart("answer", value, "c99")]


def receipts_seen(messages: list[ModelMessage]) -> list[str]:
    parts = [p for m in messages if isinstance(m, ModelRequest) for p in m.parts if isinstance(p, ToolReturnPart)]
    return [p.content["receipt"] for p in parts if isinstance(p.content, dict) and "receipt" in p.content]


def test_receipts_that_do_not_exist_are_sent_back_once_and_then_stand_as_a_defect_that_confirms_nothing() -> None:
    lie = saying({"code_available": {"value": True, "artifacts": ["github:quill-lab/gizmo"], "receipts": ["f" * 64]}})
    asked: list[int] = []

    def turn(messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        asked.append(1)
        return answer(lie)

    episode = classify(SOURCE, FakeProbes(places()), scripted(turn))
    assert episode.exit_reason == "natural"
    assert len(asked) == 2
    assert episode.answer is not None
    named = {d.name for d in defects(episode.answer, paper_input(SOURCE).paper, episode.receipts)}
    assert named == {"unknown receipt"}
    assert derived(SOURCE, episode).label(Signal.CODE).status is not Status.CONFIRMED


def test_a_lie_that_is_corrected_when_sent_back_is_accepted() -> None:
    clean = _without_receipts()
    lie = {**clean, "signals": {**clean["signals"], "code_available": {"value": False, "receipts": ["f" * 64]}}}

    def corrected(messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        return answer(lie if len(messages) == 1 else clean)

    episode = classify(SOURCE, FakeProbes(places()), scripted(corrected))
    assert episode.exit_reason == "natural"


def cited(tool: str, arguments: dict[str, Any], word: str, artifacts: list[str]) -> Classifier:
    """Calls one tool, then claims that its receipt shows the artifact."""

    def turn(messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        found = receipts_seen(messages)
        if not found:
            return [ToolCallPart(tool, arguments, "c00")]
        signals = honest()["signals"]
        for other in signals.values():
            other["receipts"] = []
        signals[word] = {"value": True, "artifacts": artifacts, "receipts": found}
        return answer(honest(signals=signals))

    return scripted(turn)


def test_a_receipt_of_another_repository_confirms_nothing() -> None:
    world = {
        **places(),
        "github:torch/vision": (Outcome.AVAILABLE, "900 files", {"code_files": 900, "train_entries": ["a"]}),
    }
    liar = cited("github_repo", {"repo": "torch/vision"}, "code_available", ["github:torch/vision"])
    episode = classify(SOURCE, FakeProbes(world), liar)
    assert episode.answer is not None
    label = derived(SOURCE, episode).label(Signal.CODE)
    assert label.value is not True
    assert label.status is not Status.CONFIRMED


def test_a_receipt_that_failed_confirms_nothing() -> None:
    source = method_paper(links=OWN_CODE)
    liar = cited("github_repo", {"repo": "quill-lab/gizmo"}, "code_available", ["github:quill-lab/gizmo"])
    episode = classify(source, FakeProbes(places()), liar)
    assert episode.answer is not None
    assert derived(source, episode).label(Signal.CODE).status is Status.UNVERIFIED


def test_weights_of_a_stranger_confirm_nothing() -> None:
    world = {**places(), "hf:model:big/base": (Outcome.AVAILABLE, "files", {**WEIGHTS[2], "names_paper": []})}
    liar = cited("hub_repo", {"repo": "big/base", "kind": "model"}, "weights_available", ["hf:model:big/base"])
    label = derived(SOURCE, classify(SOURCE, FakeProbes(world), liar)).label(Signal.WEIGHTS)
    assert label.value is not True
    assert label.status is not Status.CONFIRMED


def test_two_signals_of_four_are_no_answer() -> None:
    half = honest()
    half["signals"] = {k: half["signals"][k] for k in ("code_available", "dataset_available")}
    episode = classify(SOURCE, FakeProbes(places()), scripted(lambda messages, info: answer(half)))
    assert episode.exit_reason == "output_invalid"
    assert episode.answer is None


@pytest.mark.parametrize(
    "change",
    [
        {"claim_quote": "Gizmo reaches 99.99% test accuracy."},
        {"claim_quote": ""},
        {"training": "none", "training_quote": "Nothing at all is trained here, trust me."},
        {"agent_task": "Get 95.41."},
    ],
)
def test_what_the_paper_does_not_say_is_sent_back_with_its_reason(change: dict[str, Any]) -> None:
    told = sent_back(honest(**change))
    assert any(word in told for word in ("not in paper", "missing quote", "given away"))


def test_a_target_that_its_cell_does_not_print_is_sent_back() -> None:
    base = honest()
    base["target"] = {**base["target"], "value": "97.00"}
    assert "table 1 does not print 97.00" in sent_back(base)


def sent_back(value: dict[str, Any]) -> str:
    """What a model that insists on one answer is told, once; the answer then stands."""
    told: list[str] = []

    def turn(messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        last = messages[-1].parts[-1]
        told.append(str(getattr(last, "content", "")))
        return answer(value)

    episode = classify(SOURCE, FakeProbes(places()), scripted(turn))
    assert episode.answer == Answer.model_validate(value)
    assert len(told) == 2
    assert "your next answer stands" in told[1]
    return told[1]


def test_a_tool_that_dies_leaves_an_undetermined_receipt() -> None:
    source = method_paper(links=OWN_CODE)
    episode = classify(source, FakeProbes(places(code=CODE), broken=("github_repo",)))
    dead = [r for r in episode.receipts if r.tool == "github_repo"]
    assert dead
    assert all(r.outcome is Outcome.UNDETERMINED and r.reason.startswith("tool_crashed: RuntimeError") for r in dead)
    assert derived(source, episode).label(Signal.CODE).status is Status.UNVERIFIED


def test_a_model_that_calls_one_tool_forever_is_made_to_answer() -> None:
    limits = Limits(rounds=40, per_tool=3, tool_calls=8)

    def turn(messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        names = [t.name for t in info.function_tools]
        if names:
            arguments = {"query": f"q{len(messages)}"} if "search" in names[0] else {"repo": f"a/b{len(messages)}"}
            return [ToolCallPart(names[0], arguments, f"c{len(messages)}")]
        return answer(_without_receipts())

    probes = FakeProbes(places())
    episode = classify(SOURCE, probes, scripted(turn), limits)
    assert episode.exit_reason == "tool_limit"
    assert episode.answer is not None
    by_tool: dict[str, int] = {}
    for tool, _ in probes.calls:
        by_tool[tool] = by_tool.get(tool, 0) + 1
    assert max(by_tool.values()) <= 3
    assert len(probes.calls) <= 8 + len(episode.linked)


def test_a_hundred_calls_in_one_round_meet_the_same_limit() -> None:
    def turn(messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        if len(messages) == 1:
            return [ToolCallPart("github_repo", {"repo": f"a/r{i}"}, f"c{i}") for i in range(100)]
        return answer(_without_receipts())

    probes = FakeProbes(places())
    episode = classify(SOURCE, probes, scripted(turn), Limits(per_tool=5))
    assert sum(tool == "github_repo" for tool, _ in probes.calls) == 5
    assert episode.exit_reason == "natural"


def test_rounds_are_bounded_and_the_last_one_offers_no_tool() -> None:
    offered: list[int] = []

    def turn(messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        offered.append(len(info.function_tools))
        if info.function_tools:
            return [ToolCallPart("fetch_url", {"url": f"https://example.org/{len(messages)}"}, f"c{len(messages)}")]
        return answer(_without_receipts())

    episode = classify(SOURCE, FakeProbes(places()), scripted(turn), Limits(rounds=3, per_tool=50))
    assert episode.exit_reason == "request_limit"
    assert episode.answer is not None
    assert [n > 0 for n in offered] == [True, True, True, False]


@pytest.mark.parametrize(
    "parts",
    [
        [TextPart("I would rather talk.")],
        [ToolCallPart("no_such_tool", {}, "c00")],
        [ToolCallPart("github_repo", {"repos": 3}, "c00")],
        [ToolCallPart("answer", {"everything": "fine"}, "c00")],
        [ToolCallPart("answer", "{not json", "c00")],
    ],
)
def test_a_model_that_never_answers_properly_ends_with_a_reason(parts: list[Any]) -> None:
    episode = classify(SOURCE, FakeProbes(places()), scripted(lambda messages, info: parts), Limits(rounds=4))
    assert episode.answer is None
    assert episode.exit_reason in ("output_invalid", "request_limit")
    assert episode.problem


def test_a_model_that_raises_costs_its_paper_only() -> None:
    def turn(messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        raise KeyError("a bug in the policy")

    episode = classify(SOURCE, FakeProbes(places()), scripted(turn))
    assert episode.exit_reason == "crashed"
    assert "a bug in the policy" in episode.problem


def test_receipts_stand_in_call_order_the_link_checks_first() -> None:
    source = method_paper(links=OWN_CODE)
    probes = FakeProbes(places(code=CODE))
    episode = classify(source, probes)
    assert [r.tool for r in episode.receipts] == [tool for tool, _ in probes.calls]
    assert episode.linked == tuple(r.id for r in episode.receipts[: len(episode.linked)])
    assert episode.receipts[0].subject == "github:quill-lab/gizmo"


def test_many_episodes_share_one_agent() -> None:
    async def all_of_them() -> list[str]:
        given = paper_input(method_paper(links=OWN_CODE))
        made = [run_episode(given, FakeProbes(places(code=CODE)), model_for("embedded"), Limits()) for _ in range(8)]
        return [e.exit_reason for e in await asyncio.gather(*made)]

    assert asyncio.run(all_of_them()) == ["natural"] * 8


def test_what_is_not_there_is_named_with_what_it_would_take() -> None:
    with pytest.raises(NoSuchModel, match="OPENAI_API_KEY"):
        model_for("openai:some-model", way=Way(environ={})).check()
    with pytest.raises(NoSuchModel, match="holds a password"):
        model_for("openai:m@https://user:secret@host/v1")
    with pytest.raises(NoSuchModel, match="known: embedded"):
        model_for("embeded")


def test_results_are_cut_to_their_bound_and_say_so() -> None:
    big = {"text": "x" * 100_000, "files": [{"path": f"f{i}"} for i in range(5000)]}
    cut = bounded(big, 4000)
    assert len(str(cut)) < 5000
    assert "more" in cut["text"]


def _without_receipts() -> dict[str, Any]:
    signals = honest()["signals"]
    for word in signals.values():
        word["receipts"] = []
    return honest(signals=signals)
