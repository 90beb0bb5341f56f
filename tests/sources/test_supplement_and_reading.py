"""The supplement by content, and what file lists and texts say."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.evidence import Outcome
from pipeline.sources import reading
from pipeline.sources.pages import read_page
from pipeline.sources.reading import Entry, PaperFacts, about_files, coming_soon, links_in, names_paper


def zipped(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/"), text)
    return buffer.getvalue()


SUPPLEMENT = {
    "readme.txt": b"Lantern Attention for Foggy Graphs",
    "code/train.py": b"import torch\n" * 5,
    "code/inner.zip": zipped(lib="x") or b"",
    "weights.pt": b"PK\x03\x04" + bytes(range(256)) * 8_000,
}


def test_the_manifest_counts_code_and_lists_archives(town: Any) -> None:
    supplement = {**SUPPLEMENT, "code/inner.zip": zipped(**{"pkg__model.py": "x = 1\n" * 20})}
    receipt, content = town.probes(supplement).supplement_file()
    assert (receipt.outcome, receipt.subject, receipt.exchanges) == (Outcome.AVAILABLE, "supplement:", ())
    assert receipt.facts["code_sample"] == ["code/inner.zip/pkg/model.py", "code/train.py"]
    assert receipt.facts["weights_open"] == ["weights.pt"]
    assert not receipt.facts["pdf_only"]
    assert {"path": "code/train.py", "size": 65} in content["files"]


def test_an_appendix_is_no_code(town: Any) -> None:
    facts = town.probes({"appendix.pdf": b"%PDF-1.4"}).supplement_file().receipt.facts
    assert (facts["pdf_only"], facts["code_files"]) == (True, 0)


def test_files_are_read_by_content(town: Any) -> None:
    probes = town.probes(SUPPLEMENT)
    assert probes.supplement_file("code/train.py").content["text"] == "import torch\n" * 5
    assert probes.supplement_file("readme.txt").receipt.facts["names_paper"] == ["title"]
    assert "text" not in probes.supplement_file("weights.pt").content


def test_a_wrong_path_names_its_neighbours_and_proves_nothing(town: Any) -> None:
    receipt, content = town.probes(SUPPLEMENT).supplement_file("code/trian.py")
    assert receipt.outcome is Outcome.UNDETERMINED
    assert "code/train.py" in content["similar"]


def test_no_supplement_is_a_fact_of_the_bundle(town: Any) -> None:
    assert town.probes().supplement_file().receipt.outcome is Outcome.UNAVAILABLE


@pytest.mark.parametrize(
    ("paths", "train", "evaluate"),
    [
        (["main.py"], ["main.py"], []),
        (["src/lib/__init__.py", "src/lib/evaluating.py", "src/lib/core.py"], [], []),
        (["tools/train.py", "tools/test.py"], ["tools/train.py"], ["tools/test.py"]),
        (["tests/test_model.py", "lib.py"], [], []),
        (["eval.sh", "train_utils.py"], [], ["eval.sh"]),
        (["scripts/finetune_lora.sh"], ["scripts/finetune_lora.sh"], []),
    ],
)
def test_entry_points_are_programs_and_not_parts(paths: list[str], train: list[str], evaluate: list[str]) -> None:
    facts = about_files([Entry(path, 100) for path in paths])
    assert (facts["train_entries"], facts["eval_entries"]) == (train, evaluate)


@pytest.mark.parametrize(
    ("path", "is_data"),
    [
        ("package.json", False),
        ("results.csv", True),
        ("data/train.json", True),
        ("requirements.txt", False),
        ("dataset/images.zip", True),
        ("checkpoints/model.zip", False),
        ("config/data.json", False),
    ],
)
def test_data_files_are_told_by_ending_and_place(path: str, is_data: bool) -> None:
    assert (about_files([Entry(path, 5000)])["data_files"] == 1) is (is_data and path != "results.csv")


def test_a_shared_surname_names_nobody() -> None:
    paper = PaperFacts(title="On Many Things In Fog", authors=("Wei Wang", "Jun Li", "Yu Zhang"))
    assert names_paper("Based on code by Tao Wang, Xin Li and Hao Zhang.", paper) == []
    assert names_paper("author = {Wang, Wei and Li, Jun}", paper) == ["authors"]
    assert names_paper("ON MANY THINGS in fog", paper) == ["title"]


def test_an_arxiv_id_is_whole() -> None:
    paper = PaperFacts(title="x", arxiv_id="2505.00001")
    assert names_paper("arxiv.org/abs/2505.00001v3", paper) == ["arxiv"]
    assert names_paper("2505.000012 and 12505.00001", paper) == []


def test_plain_words_are_no_promise() -> None:
    assert coming_soon("The code is in src. Results come soon after training.") == []


def test_links_lose_the_punctuation_of_their_sentence() -> None:
    text = "See (https://a.org/x), [b](https://b.org/y). <https://c.org/z>; https://d.org/q?r=1."
    assert links_in(text) == ["https://a.org/x", "https://b.org/y", "https://c.org/z", "https://d.org/q?r=1"]


@given(st.binary(max_size=400))
def test_any_bytes_read_as_a_page(body: bytes) -> None:
    page = read_page(b"<html>" + body, "text/html; charset=nonsense", "https://example.org/")
    assert all(link.startswith(("http://", "https://")) for link in page.links)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=30), st.integers(0, 10**9)), max_size=20))
def test_facts_of_a_file_list_do_not_depend_on_its_order(files: list[tuple[str, int]]) -> None:
    entries = [Entry(path, size) for path, size in dict(files).items()]
    assert about_files(entries) == about_files(entries[::-1])


@given(st.text("ab./.G", max_size=10), st.sampled_from(["", ".tar.gz", ".py", "/", "."]))
def test_names_and_endings_are_those_of_a_posix_path(start: str, end: str) -> None:
    path = start + end
    assert (reading._name(path), reading._stem(path)) == (PurePosixPath(path).name, PurePosixPath(path).stem)
    if not path.endswith(".tar.gz"):
        assert reading._suffix(path) == PurePosixPath(PurePosixPath(path).name.lower()).suffix
