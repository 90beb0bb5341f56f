"""A bundle holds every file by hash, or says why there is none; a sample goes by rank and forgets nobody."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.bundles import (
    Bundle,
    Fetched,
    bundle,
    files_of,
    manifest,
    open_file,
    sha256,
    take_sample,
)
from pipeline.corpus import Exclusion, PaperRecord
from pipeline.store import FolderBlobs
from pipeline.textfiles import notebook_cells, sniff_text

_spec = importlib.util.spec_from_file_location("hostile_archives", Path(__file__).with_name("hostile.py"))
assert _spec
assert _spec.loader
h = importlib.util.module_from_spec(_spec)
sys.modules["hostile_archives"] = h
_spec.loader.exec_module(h)

PAPER: bytes = h.PAPER
RECORD = PaperRecord(
    arxiv_id="2505.00001",
    version=2,
    title="A Title",
    authors=("Ada Stone",),
    abstract="",
    forum_id="F1",
    published="2025-05-01T00:00:00Z",
    categories=("cs.LG",),
    supplement_path="/attachment/1.zip",
    index_key="t#0",
)


def here(data: bytes) -> Fetched:
    return Fetched(state="here", data=data)


SOURCE = here(h.gz(h.tar({"main.tex": PAPER, "fig.png": b"\x89PNG"})))


NO_SUPPLEMENT = Fetched(state="none")


def made(source: Fetched = SOURCE, supplement: Fetched = NO_SUPPLEMENT) -> Bundle:
    end = bundle(RECORD, source, supplement)
    assert isinstance(end, Bundle), end
    return end


def excluded(source: Fetched) -> Exclusion:
    end = bundle(RECORD, source)
    assert isinstance(end, Exclusion), end
    assert (end.key, end.stage) == ("2505.00001", "bundles")
    assert end.detail
    return end


def test_every_file_of_source_and_supplement_is_hashed_and_kept(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    inner: bytes = h.zipped({"train.py": b"import torch\n"})
    supplement = here(h.zipped({"code.zip": inner, "README": b"run it"}))
    end = bundle(RECORD, SOURCE, supplement, blobs.put)
    assert isinstance(end, Bundle)
    assert end.source_kind == "tar"
    assert files_of(end.source_files, blobs.get) == {"main.tex": PAPER, "fig.png": b"\x89PNG"}
    assert files_of(end.supplement_files, blobs.get)["code.zip!/train.py"] == b"import torch\n"
    assert blobs.get(end.source_sha256) == SOURCE.data
    assert [(m.path, m.size) for m in manifest(end.supplement_files)][1:] == [
        ("code.zip", len(inner)),
        ("code.zip!/train.py", 13),
    ]


def test_the_digest_follows_contents_and_not_packing() -> None:
    repacked = here(h.zipped({"fig.png": b"\x89PNG", "main.tex": PAPER}))
    changed = here(h.gz(h.tar({"main.tex": PAPER + b"%", "fig.png": b"\x89PNG"})))
    assert made().digest == made(repacked).digest
    assert made().digest != made(changed).digest
    assert made().digest != made(supplement=here(b"%PDF-1.4")).digest
    assert made().digest != made(supplement=Fetched(state="undetermined", reason="timeout")).digest


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (Fetched(state="absent", reason="status 404"), "no_source"),
        (here(b"%PDF-1.5 ..."), "not_latex"),
        (here(h.gz(b"%!PS-Adobe")), "not_latex"),
        (here(b"<html>Source of 2505.00001 is HTML.</html>"), "not_latex"),
        (here(b""), "refused_archive"),
        (here(h.tar_of(h.tar_entry(b"../main.tex", PAPER))), "refused_archive"),
        (here(h.tar({"notes.md": b"hello"})), "no_main_file"),
        (here(b"%auto-ignore\nThis paper has been withdrawn.\n"), "no_main_file"),
    ],
)
def test_a_paper_without_latex_is_excluded_with_its_reason(source: Fetched, reason: str) -> None:
    end = excluded(source)
    assert end.reason == reason
    assert not end.retry


@pytest.mark.parametrize(
    "source",
    [
        Fetched(state="undetermined", reason="timeout"),
        here(b"<!DOCTYPE html><html>Rate exceeded. Slow down.</html>"),
        here(h.gz(b"<html>Just a moment...</html>")),
    ],
)
def test_a_services_trouble_is_never_a_paper_without_source(source: Fetched) -> None:
    end = excluded(source)
    assert end.reason == "undetermined"
    assert end.retry


@pytest.mark.parametrize(
    ("supplement", "status"),
    [
        (Fetched(state="none"), "none"),
        (Fetched(state="absent", reason="status 404"), "missing"),
        (Fetched(state="undetermined", reason="rate limited"), "failed"),
        (here(b"<html>quota</html>"), "failed"),
        (here(b"Rar!\x1a\x07\x00"), "refused"),
        (here(h.zipped({"../a.py": b"x"})), "refused"),
        (here(h.zipped({"a.py": b"x"})), "downloaded"),
    ],
)
def test_a_supplement_never_costs_the_paper(supplement: Fetched, status: str) -> None:
    end = made(supplement=supplement)
    assert end.supplement_status == status
    assert bool(end.supplement_files) == (status == "downloaded")
    assert status in ("none", "downloaded") or any(w.startswith("supplement: ") for w in end.warnings)


def test_a_supplement_that_is_one_pdf_is_called_a_supplement() -> None:
    assert [f.path for f in made(supplement=here(b"%PDF-1.4")).supplement_files] == ["supplement.pdf"]


# ---------------------------------------------------------------------------------------------------------- text files


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"import torch\n", "import torch\n"),
        ("naïve".encode(), "naïve"),
        ("naïve".encode("latin-1"), "naïve"),
        ("\ufeffx".encode(), "x"),
        ("héllo".encode("utf-16"), "héllo"),
        ("日本語".encode(), "日本語"),
    ],
)
def test_text_is_known_by_content_in_any_usual_encoding(data: bytes, text: str) -> None:
    assert sniff_text(data) == text


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n", b"a\0b", b"%PDF-1.4\nplain so far", bytes(range(128, 256)), b"\x7fELF\x01", b"\x01\x02\x03"],
)
def test_binary_content_is_no_text_whatever_its_name(data: bytes) -> None:
    assert sniff_text(data) is None
    assert open_file("train.py", data).text is None


def test_code_without_an_ending_is_readable() -> None:
    assert open_file("run", b"#!/bin/sh\npython train.py\n").text == "#!/bin/sh\npython train.py\n"


def test_a_notebook_is_its_cells_with_text_outputs_and_without_images() -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Train\n", "it"]},
            {
                "cell_type": "code",
                "source": "fit()",
                "outputs": [
                    {"output_type": "stream", "text": ["acc 0.9\n"]},
                    {"output_type": "display_data", "data": {"image/png": "AAAA" * 1000, "text/plain": "<Figure>"}},
                ],
            },
        ],
        "nbformat": 4,
    }
    text = open_file("x.ipynb", json.dumps(notebook).encode()).text
    assert text is not None
    assert text.startswith("[1 markdown]\n# Train\nit\n\n[2 code]\nfit()\n[output]\nacc 0.9\n")
    assert "AAAA" not in text


@pytest.mark.parametrize(
    "text", ["{}", "[]", "{", '{"cells": 3}', '{"cells": [1]}', '{"worksheets": []}', "[" * 100_000]
)
def test_what_is_no_notebook_stays_the_text_it_is(text: str) -> None:
    assert notebook_cells(text) is None
    assert open_file("x.ipynb", text.encode()).text == text


def test_an_archive_in_a_supplement_is_listed_with_sizes() -> None:
    opened = open_file("code.tar.gz", h.gz(h.tar({"a.py": b"x" * 7})))
    assert opened.text is None
    assert [(e.path, e.size) for e in opened.entries] == [("a.py", 7)]


# ------------------------------------------------------------------------------------------------------------ sampling


def outcome_of(kinds: dict[str, str]) -> Callable[[str], Bundle | Exclusion]:
    base = made()

    def outcome(arxiv_id: str) -> Bundle | Exclusion:
        kind = kinds[arxiv_id]
        if kind == "latex":
            return replace(base, arxiv_id=arxiv_id)
        reason = "undetermined" if kind == "pending" else "not_latex"
        return Exclusion(key=arxiv_id, title="", stage="bundles", reason=reason, detail="x")

    return outcome


kinds = st.lists(st.sampled_from(["latex", "latex", "pdf", "pending"]), max_size=12)


@given(kinds, st.integers(1, 8))
def test_a_sample_is_the_first_n_with_latex_and_fetches_no_further(drawn: list[str], size: int) -> None:
    told = {f"p{n:02}": kind for n, kind in enumerate(drawn)}
    asked: list[str] = []
    outcome = outcome_of(told)

    def counted(arxiv_id: str) -> Bundle | Exclusion:
        asked.append(arxiv_id)
        return outcome(arxiv_id)

    sample = take_sample(list(told), size, counted)
    assert asked == list(told)[: len(asked)]
    ends = [b.arxiv_id for b in sample.bundles] + [e.key for e in (*sample.excluded, *sample.pending)]
    assert sorted(ends) == asked
    taken = len(sample.bundles) + len(sample.pending)
    assert taken == size or (taken < size and len(asked) == len(told))
    # Settling what was pending changes nothing before it, and needs nothing but the missing ranks.
    settled = {k: "latex" if v == "pending" else v for k, v in told.items()}
    after = take_sample(list(told), size, outcome_of(settled))
    assert sample.prefix == after.bundles[: len(sample.prefix)]
    assert after.complete
    assert [b.arxiv_id for b in after.bundles] == [k for k, v in settled.items() if v == "latex"][:size]


def test_a_sample_taken_up_again_asks_only_what_is_not_settled() -> None:
    told = {"a": "latex", "b": "pdf", "c": "pending", "d": "latex"}
    outcome = outcome_of(told)
    known = {k: outcome(k) for k in ("a", "b", "c")}
    asked: list[str] = []

    def settled(arxiv_id: str) -> Bundle | Exclusion:
        asked.append(arxiv_id)
        return outcome_of({**told, "c": "pdf"})(arxiv_id)

    sample = take_sample(list(told), 2, settled, known)
    assert asked == ["c", "d"]
    assert [b.arxiv_id for b in sample.bundles] == ["a", "d"]
    assert sample.complete


def test_hashes_are_sha256() -> None:
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
