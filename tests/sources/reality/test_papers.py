"""What a paper says of its artifacts is not access either: promises, requests, others' code, a thin supplement."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from pipeline import reference
from pipeline.artifacts import linked, own
from pipeline.evidence import Outcome, Receipt, Signal, Status
from pipeline.labels import Claim, Context, label, meets_rule
from pipeline.paper import read

HEAD = r"\documentclass{article}\usepackage{hyperref}\title{Lantern: Foggy Graphs}\author{Ada Quill}\begin{document}"
MINE, THEIRS = "github:fog/lantern", "github:big/base"


def places(sentence: str) -> tuple[str, ...]:
    """What a paper that says this has as its own, by the paper alone."""
    text = HEAD + r"\maketitle\section{Method} We study fog. " + sentence + r"\end{document}"
    return own(read({"main.tex": text.encode()}), (), False)


OURS = r"ur code is at \url{https://github.com/fog/lantern}."


@pytest.mark.parametrize(
    ("code", "sentence", "near"),
    [
        ("no_link", "Code will be released upon acceptance.", f"O{OURS}"),
        ("on_request", "Our data is available upon reasonable request.", f"Data is available upon request. O{OURS}"),
        ("wrong_repo", r"We compare with Base (\url{https://github.com/big/base}).", f"We compare with Base; o{OURS}"),
        ("no_link_in_comment", f"% O{OURS}\n", f"O{OURS} % soon"),
    ],
)
def test_a_promise_or_somebody_elses_place_is_no_place_of_the_papers(code: str, sentence: str, near: str) -> None:
    assert MINE not in places(sentence)
    assert THEIRS not in places(sentence)
    assert places(near) == (MINE,)


def receipt(subject: str, **facts: Any) -> Receipt:
    return Receipt(
        paper="2505.00001",
        tool="github_repo",
        arguments={"repo": subject},
        exchanges=(),
        outcome=Outcome.AVAILABLE,
        reason="",
        subject=subject,
        facts=facts,
    )


def test_code_of_another_place_proves_nothing_whoever_claims_it() -> None:
    context = Context(groups=(frozenset({MINE}),), absence_searches={"github": 2})
    claim = Claim(signal=Signal.CODE, value=True, cited=())
    elsewhere, here = receipt(THEIRS, code_files=9), receipt(MINE, code_files=9)
    assert label(claim, [elsewhere], context).status is Status.UNVERIFIED
    assert label(claim, [elsewhere, here], context).value is True


def zipped(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("supplement", "code", "pdf_only"),
    [
        ({"appendix.pdf": b"%PDF-1.4 proofs"}, False, True),
        ({"s.zip": zipped(**{"train.py": "import torch\nprint('trains a lantern')\n" * 3})}, True, False),
        ({"appendix.pdf": b"%PDF-1.4 proofs", "demo.mp4": b"\0\0\0 ftyp"}, False, True),
        ({"appendix.pdf": b"%PDF-1.4 proofs", "run.py": b"import torch\nprint('trains a lantern')\n" * 3}, True, False),
        ({"s.zip": zipped(**{"README.md": "Code will follow.", "run.py": "# soon\n"})}, False, False),
    ],
)
def test_a_supplement_is_code_where_it_holds_some(
    town: Any, supplement: dict[str, bytes], code: bool, pdf_only: bool
) -> None:
    found = town.probes(supplement).supplement_file().receipt
    assert meets_rule(Signal.CODE, found, Context()) is code
    assert found.facts["pdf_only"] is pdf_only or not pdf_only
    assert found.outcome is Outcome.AVAILABLE


def test_no_supplement_is_unavailable_and_one_file_of_it_that_is_missing_says_nothing(town: Any) -> None:
    assert town.probes({}).supplement_file().receipt.outcome is Outcome.UNAVAILABLE
    missing = town.probes({"run.py": b"print(1)"}).supplement_file("train.py").receipt
    assert missing.outcome is Outcome.UNDETERMINED


@pytest.mark.parametrize(
    ("name", "gate"), [("CIFAR-10", "open"), ("ImageNet", "registration"), ("MIMIC-IV", "credentialed")]
)
def test_a_standard_benchmark_has_a_gate_of_its_own(name: str, gate: str) -> None:
    known = reference.benchmark(name)
    assert known is not None
    assert known.gate == gate
    assert reference.benchmark(f"{name} with our own labels") is None


def test_a_gated_home_is_gated_however_well_it_answers_and_an_open_one_needs_no_file() -> None:
    home = receipt("url:https://www.image-net.org/download.php")
    assert not meets_rule(Signal.DATA, home, Context(gated_homes=frozenset({home.subject})))
    assert meets_rule(Signal.DATA, home, Context(open_homes=frozenset({home.subject})))


def test_every_link_of_a_paper_is_a_place_to_look_at_though_not_every_one_is_its_own() -> None:
    text = HEAD + r"\maketitle We compare with Base (\url{https://github.com/big/base}).\end{document}"
    assert THEIRS in linked(read({"main.tex": text.encode()}))


@pytest.mark.parametrize(
    ("facts", "value", "status"),
    [
        ({"base_open": True}, True, Status.CONFIRMED),
        ({"base_open": None, "unseen": ["weights"]}, None, Status.UNVERIFIED),
        ({"base_open": False, "base_said": "big/base: gated, manual"}, False, Status.CONTRADICTED),
    ],
)
def test_an_adapter_counts_as_its_base_does(facts: dict[str, Any], value: bool | None, status: Status) -> None:
    place = "hf:model:fog/lora"
    adapter = Receipt(
        paper="2505.00001",
        tool="hub_repo",
        arguments={"repo": "fog/lora", "kind": "model"},
        exchanges=(),
        outcome=Outcome.AVAILABLE,
        reason="",
        subject=place,
        facts={"adapter_only": True, "weights_open": ["a.safetensors"], "base_model": "big/base", **facts},
    )
    search = Receipt(
        paper="2505.00001",
        tool="hub_search",
        arguments={"query": "lora"},
        exchanges=(),
        outcome=Outcome.AVAILABLE,
        reason="complete search",
        subject="search:hub",
        facts={"complete": True, "query": "lora"},
    )
    context = Context(groups=(frozenset({place}),), absence_searches={"hub": 1})
    found = label(Claim(signal=Signal.WEIGHTS, value=True, cited=()), [adapter, search], context)
    assert (found.value, found.status) == (value, status)
