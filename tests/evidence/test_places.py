"""What a place must hold before it counts: more than the frame of a package, and for an adapter its base."""

from __future__ import annotations

import pytest

from pipeline.evidence import Outcome, Receipt, Signal
from pipeline.labels import Claim, Context, base_reached, label, meets_rule


def receipt(subject: str, outcome: Outcome = Outcome.AVAILABLE, **facts) -> Receipt:
    return Receipt(
        paper="p", tool="t", arguments={}, exchanges=(), outcome=outcome, reason="", subject=subject, facts=facts
    )


ADAPTER = receipt("hf:model:ours/lora", weights_open=["adapter.safetensors"], adapter_only=True, base_model="Big/Base")
BASE = receipt("hf:model:big/base", weights_open=["model.safetensors"])


@pytest.mark.parametrize("files", [["pkg/__main__.py"], ["setup.py", "pkg/__init__.py"]])
def test_the_frame_of_a_package_is_no_code(files):
    assert not meets_rule(Signal.CODE, receipt("github:a/b", code_files=len(files), code_sample=files), Context())


def test_one_real_file_beside_the_frame_is_code_and_so_is_what_the_probe_could_not_list_in_full():
    assert meets_rule(Signal.CODE, receipt("github:a/b", code_files=2, code_sample=["setup.py", "run.py"]), Context())
    assert meets_rule(Signal.CODE, receipt("github:a/b", code_files=90, code_sample=["setup.py"]), Context())


def test_an_adapter_counts_with_its_base_whatever_the_spelling_and_not_without():
    context = Context(groups=(frozenset({ADAPTER.subject}),), absence_searches={"hub": 1})
    said = Claim(signal=Signal.WEIGHTS, value=True)
    assert label(said, [ADAPTER, BASE], context).value is True
    assert label(said, [ADAPTER], context).value is not True


@pytest.mark.parametrize(
    "base",
    [
        receipt("hf:model:big/base", Outcome.GATED, weights_open=["model.safetensors"]),
        receipt("hf:model:big/base", weights_open=[]),
        receipt("hf:model:big/base", weights_open=["model.safetensors"], authenticated=True),
        receipt("hf:model:big/other", weights_open=["model.safetensors"]),
    ],
)
def test_a_base_that_a_stranger_does_not_get_carries_no_adapter(base):
    assert not base_reached(ADAPTER, [ADAPTER, base])
