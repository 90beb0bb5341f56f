"""`reclaim inspect` as an author runs it: on a folder, an archive, a single file, an id; with a world and without."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from assets.cli import main
from assets.inspect import InspectError, inspect
from assets.inspection_text import as_json, as_text
from classifiers.examination import Examined
from pipeline.corpus import Exclusion
from pipeline.editions import data

SOURCE = r"""\documentclass{article}
\newcommand{\oldcode}{\url{https://github.com/lamplight/draft}}
\title{Lantern: Brighter Trees}
\begin{document}
\maketitle
\begin{abstract}
Lantern raises accuracy on CIFAR-10 from 91.2\% to 94.5\%.
Our code is available at \url{https://github.com/lamplight/lantern}.
\end{abstract}
\section{Experiments}
\begin{table}
\caption{Test accuracy of Lantern on CIFAR-10.}
\begin{tabular}{lc}
Method & Accuracy \\
OldTree & 91.2 \\
Lantern (ours) & \textbf{94.5} \\
\end{tabular}
\end{table}
\begin{figure}\caption{A tree, lit.}\end{figure}
We train Lantern on 4 NVIDIA A100 GPUs for 6 hours.
\end{document}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "paper"
    place.mkdir()
    (place / "main.tex").write_text(SOURCE, encoding="utf-8")
    return place


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A world that knows the paper's repository: code, and no licence."""
    place = tmp_path / "world"
    files = place / "github/lamplight/lantern/files"
    files.mkdir(parents=True)
    (place / "world.toml").write_text(
        'name = "w"\nas_of = "2025-12-01"\nvenue = "W.cc/2025"\nfictional = true\n', encoding="utf-8"
    )
    (files.parent / "repo.toml").write_text('description = "Lantern: Brighter Trees"\n', encoding="utf-8")
    (files / "README.md").write_text("# Lantern: Brighter Trees\n", encoding="utf-8")
    (files / "train.py").write_text("def train():\n    return 1\n" * 20, encoding="utf-8")
    return place


def test_an_author_reads_claim_target_signals_hours_and_what_is_missing(folder: Path, world: Path) -> None:
    found, way = inspect(str(folder), world=world)
    report = as_text(found, way)
    assert max(map(len, report.splitlines())) <= 100
    text = " ".join(report.split())
    assert "“Lantern raises accuracy on CIFAR-10 from 91.2% to 94.5%.”" in text
    assert "main.tex:7; an empirical paper" in text
    assert "table 1, main.tex:16: Lantern (ours) | 94.5" in text
    assert "reproduced if a rerun's value is" in text
    assert "figure 1: not numeric" in text
    assert "yours: https://github.com/lamplight/lantern (abstract, main.tex:8)" in text
    assert "not in the PDF: https://github.com/lamplight/draft (unrendered, main.tex:2)" in text
    assert "Code: yes. A public place of yours holds code that runs the target" in text
    assert "trains: train.py; licence: none" in text
    assert "4 × 6 h" in text
    assert "counts 0.47 H100 (0.32 to 0.6)" in text
    assert "https://github.com/lamplight/lantern has no licence." in text


def test_without_network_and_world_links_are_undetermined_and_it_says_so(folder: Path) -> None:
    found, way = inspect(str(folder))
    assert isinstance(found, Examined)
    assert way == "not asked"
    assert all(not receipt.exchanges for receipt in found.episode.receipts)
    told = as_json(found, way)
    assert told["signals"]["code_available"]["answer"] == "undetermined"
    assert told["tier"] is None
    text = as_text(found, way)
    assert "Links were not asked, so code, data and weights stay undetermined." in text
    assert "What lies behind the links was not looked at" in text
    assert "has no licence" not in text
    assert "gave no answer" not in text


def packed(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def test_folder_archive_and_file_say_the_same(folder: Path, world: Path, tmp_path: Path) -> None:
    archive = tmp_path / "source.tar.gz"
    archive.write_bytes(packed({"main.tex": SOURCE.encode()}))
    told = [as_json(*inspect(str(place), world=world)) for place in (folder, archive, folder / "main.tex")]
    assert told[0] == told[1] == told[2]
    assert told[0]["target"]["value"] == "94.5"


@pytest.mark.parametrize(
    ("content", "reason", "advice"),
    [
        (b"%PDF-1.4\n%%EOF\n", "not_latex", "Give the folder or archive with the .tex files"),
        (packed({"notes.txt": b"no paper"}), "no_main_file", "Give the folder that holds the file with"),
    ],
)
def test_what_is_no_paper_is_one_message_with_reason_and_advice(
    content: bytes, reason: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "given"
    place.write_bytes(content)
    assert main(["inspect", str(place)]) == 2
    printed = capsys.readouterr().out
    assert printed.startswith("Not classified: ")
    assert reason in printed
    assert advice in printed
    assert main(["inspect", str(place), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["excluded"]["reason"] == reason


def test_a_name_that_is_nothing_is_an_error_with_what_to_give() -> None:
    with pytest.raises(InspectError, match="neither a folder, nor a file, nor an arXiv id"):
        inspect("no-such-paper")


def test_an_id_with_a_world_is_fetched_from_that_world() -> None:
    found, way = inspect("2506.90171", world=data("offline", "sample-2025"))
    assert isinstance(found, Examined)
    assert way == "world sample-2025"
    assert found.record.arxiv_id == "2506.90171"
    text = as_text(found, way)
    assert "The weights at https://huggingface.co/littoral-lab/sandpiper-160m are gated." in text
    assert "Retrain (score 1 of 6)" in text


def test_an_id_that_the_world_does_not_know_is_an_error() -> None:
    with pytest.raises(InspectError, match=r"2401\.00001"):
        inspect("2401.00001", world=data("offline", "sample-2025"))


def test_links_out_of_a_source_folder_and_version_control_are_not_read(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.tex"
    secret.write_text("never read\n")
    (folder / "leak.tex").symlink_to(secret)
    (folder / ".git").mkdir()
    (folder / ".git/main.tex").write_text(SOURCE.replace("94.5", "11.1"))
    (folder / "main.tex").write_text(SOURCE.replace(r"\section{Experiments}", r"\section{Experiments}\input{leak}"))
    found, _ = inspect(str(folder))
    assert isinstance(found, Examined)
    assert "never read" not in found.paper.text
    assert found.end.inputs.target.value == "94.5"  # type: ignore[union-attr]


def test_a_fault_of_ours_costs_the_paper_and_not_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a rule fell over")

    monkeypatch.setattr("classifiers.examination.derivation", broken)
    found, way = inspect(str(folder))
    assert isinstance(found, Exclusion)
    assert "a rule fell over" in as_text(found, way)
    assert "fault of ours" in as_text(found, way)


def test_the_same_paper_gives_the_same_words(folder: Path, world: Path) -> None:
    assert as_text(*inspect(str(folder), world=world)) == as_text(*inspect(str(folder), world=world))


def test_inspection_never_imports_dagster(folder: Path) -> None:
    code = (
        "import sys; from assets.cli import main; "
        f"code = main(['inspect', {str(folder)!r}]); sys.exit(code or 'dagster' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "TARGET" in done.stdout


def test_real_papers_are_inspected_offline_and_name_their_repository(realworld: Path) -> None:
    found, way = inspect(str(realworld / "papers/grid-cell-conformal-isometry/src"), world=realworld)
    assert isinstance(found, Examined)
    told = as_json(found, way)
    assert told["signals"]["code_available"]["value"] is True
    assert any("no licence" in one["what"] for one in told["missing"])
    assert told["target"]["anchor"]["file"] == "paper2code_paper.tex"
