"""Receipts that a clever model cites without having earned them: they prove nothing, and are named."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from classifiers.agent import whole_ids
from pipeline.answers import DatasetWord, Episode
from pipeline.derivation import Derivation
from pipeline.evidence import Outcome, Receipt, Signal, Status
from tests.classifiers.toys import (
    CODE,
    OWN_CODE,
    REAL_CODE,
    WEIGHTS,
    FakeProbes,
    classify,
    derived,
    method_paper,
    places,
)

SOURCE = method_paper(links="Our code will be released upon acceptance.")


@cache
def honest() -> Episode:
    return classify(SOURCE, FakeProbes(places()))


def claiming(signal: Signal, *cited: str, **more: Any) -> Episode:
    """The honest episode whose answer says yes to a signal and cites this for it."""
    answer = honest().answer
    assert answer is not None
    word = answer.signals.word(signal).model_copy(update={"value": True, "receipts": list(cited)})
    signals = answer.signals.model_copy(update={str(signal): word})
    return replace(honest(), answer=answer.model_copy(update={"signals": signals, **more}))


def receipt(subject: str, tool: str, facts: dict[str, Any], paper: str = "2501.00001") -> Receipt:
    return Receipt(
        paper=paper,
        tool=tool,
        arguments={"repo": subject},
        exchanges=("e",),
        outcome=Outcome.AVAILABLE,
        reason="there",
        subject=subject,
        facts=facts,
    )


def moved(row: Derivation, signal: Signal) -> bool:
    return row.label(signal).value is True or row.label(signal).status is Status.CONFIRMED


def test_a_receipt_of_another_paper_is_unknown_here_and_whole_ids_do_not_find_it() -> None:
    other = classify(method_paper(links=OWN_CODE), FakeProbes(places(code=CODE), paper="2501.00002"))
    proof = next(r.id for r in other.receipts if r.subject == "github:quill-lab/gizmo")
    episode = claiming(Signal.CODE, proof)
    row = derived(SOURCE, episode)
    assert not moved(row, Signal.CODE)
    assert any("unknown receipt" in problem for problem in row.inputs.problems)
    assert not row.eligible
    assert episode.answer is not None
    shown = whole_ids(claiming(Signal.CODE, proof[:12]).answer, [r.id for r in episode.receipts])  # type: ignore[arg-type]
    assert shown.signals.code_available.receipts == [proof[:12]]


def test_what_a_search_listed_proves_nothing_is_there() -> None:
    listed = {"complete": True, "query": "gizmo", "results": ["quill-lab/gizmo"], **REAL_CODE, **WEIGHTS[2]}
    found = receipt("search:github", "github_search_repositories", listed)
    hub = receipt("search:hub", "hub_search", listed)
    for signal, proof in ((Signal.CODE, found), (Signal.WEIGHTS, hub)):
        row = derived(SOURCE, replace(claiming(signal, proof.id), receipts=(*honest().receipts, found, hub)))
        assert row.label(signal).value is not True
        assert proof.id not in row.label(signal).receipts or row.label(signal).value is False


def test_a_short_beginning_of_an_id_or_one_of_two_receipts_is_not_completed() -> None:
    answer = claiming(Signal.CODE, "a" * 11, "b" * 12).answer
    assert answer is not None
    known = ["a" * 64, "b" * 12 + "0" * 52, "b" * 12 + "1" * 52]
    assert whole_ids(answer, known).signals.code_available.receipts == ["a" * 11, "b" * 12]


def test_data_by_a_name_that_the_paper_never_prints_is_nowhere() -> None:
    upload = receipt("hf:dataset:stranger/open-cifar", "hub_repo", {"data_open": ["data.zip"]})
    made_up = [DatasetWord(name="open-cifar")]
    episode = claiming(Signal.DATA, upload.id, datasets=made_up)
    row = derived(SOURCE, replace(episode, receipts=(*episode.receipts, upload)))
    assert row.label(Signal.DATA).value is not True
    assert not row.eligible
