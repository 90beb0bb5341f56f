"""A language model behind an endpoint: whatever the endpoint and the model do, the episode or the run ends by name, and
nothing is paid twice.
"""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from classifiers.budget import Stopped
from classifiers.endpoints import ATTEMPTS
from classifiers.toolbox import Limits
from pipeline.answers import Episode
from pipeline.defects import defects
from pipeline.evidence import NotRecorded
from tests.classifiers.fake_openai import Fail, Say, last, results, serving, tools, turns
from tests.classifiers.readers import SOURCE, Reader, answering, good, rest_slow, searching
from tests.classifiers.toys import paper_input


def test_the_answer_of_an_endpoint_is_an_episode_that_names_its_model_prompt_and_turns() -> None:
    with serving(searching(2)) as fake:
        episode = Reader(fake).read()
    assert episode.exit_reason == "natural"
    assert episode.classifier.startswith("openai:MiniMax-M2.7+prompt-")
    account = episode.account
    assert account["model"] == "openai:MiniMax-M2.7"
    assert len(account["turns"]) == len(set(account["turns"])) == 3 == account["requests"] == fake.asked
    assert (account["tool_calls"], account["input_tokens"], account["output_tokens"]) == (2, 3000, 300)
    assert account["micro_usd"] == 3 * (300 + 120)
    assert fake.url not in json.dumps(episode.to_json())
    assert Episode.from_json(episode.to_json()) == episode


def test_refusals_for_now_and_faults_of_the_server_are_waited_out_on_the_injected_clock() -> None:
    faults = [
        Fail(429, headers={"retry-after": "90"}),
        Fail(500),
        Fail(503, "<html>busy</html>"),
        Fail(200, '{"id": "chatcmpl-1", "choices": [{"ind'),
    ]

    def script(told: dict[str, Any]) -> Say | Fail:
        return faults.pop(0) if faults else answering(told)

    with serving(script) as fake:
        reader = Reader(fake)
        began = reader.clock.now()
        episode = reader.read()
    assert episode.exit_reason == "natural"
    assert fake.asked == 5
    assert (reader.clock.now() - began).total_seconds() == 90 + 4 + 8 + 16


def test_a_dead_endpoint_pauses_the_run_and_no_other_model_takes_its_place() -> None:
    with serving(lambda told: Fail(500)) as fake:
        reader = Reader(fake)
        classifier = reader.classifier()
        with pytest.raises(Stopped, match="the run pauses") as stopped:
            reader.read(classifier)
        assert stopped.value.reason == "endpoint_down"
        assert fake.asked == ATTEMPTS
        with pytest.raises(Stopped):
            reader.read(classifier)
        assert fake.asked == ATTEMPTS


def test_an_address_where_nobody_listens_pauses_the_run() -> None:
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    with serving(answering) as fake:
        reader = Reader(fake)
        nobody = reader.classifier(url=f"http://127.0.0.1:{free.getsockname()[1]}/v1")
        with pytest.raises(Stopped) as stopped:
            reader.read(nobody)
    free.close()
    assert stopped.value.reason == "endpoint_down"
    assert fake.asked == 0


@pytest.mark.parametrize("status", rest_slow(401, 403, 404))
def test_an_endpoint_that_refuses_us_is_asked_once_and_its_words_hold_no_key(status: int) -> None:
    body = '{"error": {"message": "Incorrect API key provided: sk-secret-77", "type": "invalid_request_error"}}'
    with serving(lambda told: Fail(status, body)) as fake:
        reader = Reader(fake, environ={"RECLAIM_MODEL_KEY": "sk-secret-77"})
        with pytest.raises(Stopped) as stopped:
            reader.read()
    assert stopped.value.reason == "endpoint_refused"
    assert fake.asked == 1
    assert "sk-secret-77" in fake.keys[0]
    assert "sk-secret-77" not in str(stopped.value)


def test_a_providers_key_is_never_sent_to_an_address_of_ones_own() -> None:
    with serving(answering) as fake:
        Reader(fake, environ={"OPENAI_API_KEY": "sk-provider"}).read()
    assert "sk-provider" not in "".join(fake.keys)


def test_a_question_that_the_endpoint_rejects_costs_its_paper_only() -> None:
    body = '{"error": {"message": "maximum context length exceeded", "code": "context_length_exceeded"}}'
    with serving(lambda told: Fail(400, body)) as fake:
        episode = Reader(fake).read()
    assert episode.exit_reason == "model_error"
    assert episode.answer is None
    assert "context" in episode.problem
    assert fake.asked == 1


@pytest.mark.parametrize(
    "bad",
    rest_slow(
        Say(calls=[("answer", '{"central_claim": "cut off he')]),
        Say(calls=[("no_such_tool", {"a": 1})]),
        Say(calls=[("github_repo", {"repos": 3})]),
        Say(calls=[("answer", {"everything": "fine"})]),
        Say(text="I would rather talk."),
        Say(text=""),
    ),
    ids=["cut JSON", "unknown tool", "wrong arguments", "another answer", "talk", "silence"],
)
def test_what_is_no_call_is_sent_back_and_a_model_that_never_learns_ends_with_a_reason(bad: Say) -> None:
    first = [bad]
    with serving(lambda told: first.pop() if first else answering(told)) as fake:
        assert Reader(fake).read().exit_reason == "natural"
        assert fake.asked == 2
    with serving(lambda told: bad) as fake:
        episode = Reader(fake).read(limits=Limits(rounds=6))
        assert episode.exit_reason in ("output_invalid", "request_limit")
        assert episode.answer is None
        assert episode.problem
        assert fake.asked <= Limits(rounds=6).requests


@pytest.mark.slow
def test_thoughts_in_tags_or_in_a_field_come_back_as_the_backend_wants_them() -> None:
    tagged = Say(text="<think>look first</think>", calls=[("github_repo", {"repo": "quill-lab/gizmo"})])
    apart = Say(reasoning="look first", calls=tagged.calls)

    def sent(first: Say, **told: Any) -> dict[str, Any]:
        with serving(lambda asked: answering(asked) if turns(asked) else first) as fake:
            reader = Reader(fake)
            assert reader.read(reader.classifier(**told)).exit_reason == "natural"
            return next(m for m in fake.seen[1]["messages"] if m["role"] == "assistant")

    assert sent(tagged)["content"] == "<think>\nlook first\n</think>"
    assert sent(apart)["reasoning_content"] == "look first"
    assert sent(apart, reasoning="tags")["content"] == "<think>\nlook first\n</think>"
    assert sent(apart, reasoning="field", reasoning_field="reasoning")["reasoning"] == "look first"
    for first in (tagged, apart):
        bare = sent(first, reasoning="none")
        assert "look first" not in json.dumps(bare)


@pytest.mark.slow
def test_a_call_is_forced_only_where_the_backend_can_bear_it() -> None:
    with serving(answering) as fake:
        reader = Reader(fake)
        reader.read()
        reader.turns.kept.clear()
        reader.read(reader.classifier(tool_choice="free"))
    assert [told.get("tool_choice") for told in fake.seen] == ["required", "auto"]


@pytest.mark.slow
def test_a_slow_first_byte_is_waited_for() -> None:
    with serving(lambda told: Say(calls=[("answer", good())], after=0.3)) as fake:
        assert Reader(fake).read().exit_reason == "natural"
        assert fake.asked == 1


def test_an_endless_loop_of_calls_ends_with_an_answer_once_the_tools_are_gone() -> None:
    with serving(searching(10_000)) as fake:
        episode = Reader(fake).read(limits=Limits(rounds=50, tool_calls=5))
    assert episode.exit_reason == "tool_limit"
    assert episode.answer is not None
    assert tools(fake.seen[-1]) == ["answer"]
    assert episode.account["tool_calls"] == 5


def test_calls_that_fail_before_any_tool_runs_count_too() -> None:
    def script(told: dict[str, Any]) -> Say:
        if "github_repo" in tools(told):
            return Say(calls=[("github_repo", {"repos": i}) for i in range(2)])
        return answering(told)

    with serving(script) as fake:
        episode = Reader(fake).read(limits=Limits(tool_calls=4))
    assert (episode.exit_reason, episode.account["tool_calls"]) == ("tool_limit", 4)
    assert fake.asked == 3
    assert not [r for r in episode.receipts if r.tool == "github_repo"]


def test_lies_go_back_once_with_the_reason_and_then_stand_by_name() -> None:
    lie = good() | {"claim_quote": "Gizmo cures everything."}
    with serving(lambda told: Say(calls=[("answer", lie)])) as fake:
        episode = Reader(fake).read()
    assert fake.asked == 2
    assert "quote not in paper (claim_quote)" in last(fake.seen[1])
    assert episode.exit_reason == "natural"
    assert episode.answer is not None
    assert [d.name for d in defects(episode.answer, paper_input(SOURCE).paper, episode.receipts)] == [
        "quote not in paper"
    ]


def test_receipts_are_cited_as_they_were_shown_and_stand_whole_in_the_answer() -> None:
    def script(told: dict[str, Any]) -> Say:
        if not turns(told):
            return Say(calls=[("github_search_repositories", {"query": "gizmo"})])
        signals = {**good()["signals"]}
        signals["code_available"] = signals["code_available"] | {"receipts": [results(told)[0]["receipt"][:12]]}
        return Say(calls=[("answer", good() | {"signals": signals})])

    with serving(script) as fake:
        episode = Reader(fake).read()
    assert episode.answer is not None
    searched = next(r for r in episode.receipts if r.arguments.get("query") == "gizmo")
    assert episode.answer.signals.code_available.receipts == [searched.id]
    assert fake.asked == 2


# --------------------------------------------------------------------------------------------- never paid twice


def test_turns_that_are_remembered_are_not_asked_again_and_give_the_same_bytes() -> None:
    with serving(searching(3)) as fake:
        reader = Reader(fake)
        first = reader.read()
        asked = fake.asked
        second = reader.read()
        assert fake.asked == asked == 4
    replayed = reader.read(reader.classifier(ask=False, url="http://127.0.0.1:9/v1"))
    assert first.to_json() == second.to_json() == replayed.to_json()


@pytest.mark.slow
def test_a_conversation_cut_half_way_goes_on_where_it_was() -> None:
    dead = [False]

    def script(told: dict[str, Any]) -> Say | Fail:
        if turns(told) >= 2 and not dead[0]:
            return Fail(500)
        return searching(4)(told)

    with serving(script) as fake:
        reader = Reader(fake)
        with pytest.raises(Stopped):
            reader.read()
        dead[0] = True
        whole = reader.read()
        assert len(fake.paid) == len(set(fake.paid)) == 5
    with serving(searching(4)) as fresh:
        assert Reader(fresh).read().to_json() == whole.to_json()


@pytest.mark.slow
def test_a_replay_that_lacks_a_turn_says_so_and_asks_nobody() -> None:
    with serving(searching(1)) as fake:
        reader = Reader(fake)
        reader.read()
        asked = fake.asked
        reader.turns.kept.popitem()
        with pytest.raises(NotRecorded, match=r"turn 2 of openai:MiniMax-M2\.7"):
            reader.read(reader.classifier(ask=False))
        assert fake.asked == asked


@pytest.mark.parametrize(
    "change", rest_slow({"seed": 2}, {"temperature": 0.5}, {"max_output_tokens": 100}, {"model": "claude-haiku-4-5"})
)
def test_another_seed_setting_or_model_is_another_turn(change: dict[str, Any]) -> None:
    with serving(answering) as fake:
        reader = Reader(fake)
        reader.read()
        reader.read(reader.classifier(**change))
        reader.read(reader.classifier(reasoning="auto"))
        assert fake.asked == 2
