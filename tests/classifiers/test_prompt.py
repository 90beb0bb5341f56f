"""What a language model reads: the paper once, readable, its cells where answers point, and what is cut said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifiers import guide, prompt, prompts
from classifiers.prompt import _pieces, _shown
from classifiers.toolbox import Desk, Limits
from pipeline.editions import LanguageModel
from pipeline.evidence import Outcome, Receipt
from pipeline.paper import Paper, read
from tests.classifiers.toys import FakeProbes, method_paper, paper_input

APPENDED = (
    r"\begin{thebibliography}{9}\bibitem{a} Ada Quill. Old things. 2019. \bibitem{b} Ben Ostler. Older things. 2018."
    r"\end{thebibliography}"
    r"\appendix\section{Proof of Lemma}Let x be small. Then x is small, by the definition of small."
    r"\section{Training}All runs took 40 GPU hours on an NVIDIA A100 GPU."
    r"\begin{table}\caption{More results.}\begin{tabular}{lc}Method & Error \\ Gizmo & 0.125 \\ \end{tabular}"
    r"\end{table}"
    r"\section{Thanks}We thank nobody in particular, and for nothing in particular either."
)
LONG = method_paper(links="Our code will be released.").replace(r"\end{document}", APPENDED + r"\end{document}")


def desk(source: str = LONG, **given: object) -> Desk:
    return Desk(given=replace(paper_input(source), **given), probes=FakeProbes(), limits=Limits())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def long() -> Paper:
    return read({"main.tex": LONG.encode()})


def test_the_text_is_cut_into_pieces_that_hold_every_character_once_in_order(long: Paper) -> None:
    pieces = _pieces(long)
    assert "".join(long.text[p.start : p.end] for p in pieces) == long.text
    ranks = {p.name.split()[0] + (" " + p.name.split()[-1] if p.rank in (1, 2) else ""): p.rank for p in pieces}
    assert ranks["bibliography"] == 3
    assert ranks["appendix Training"] == 1
    assert ranks["appendix Lemma"] == 2
    assert "Older things" in next(long.text[p.start : p.end] for p in pieces if p.rank == 3)


def test_every_table_stands_once_as_the_grid_that_answers_point_into(long: Paper) -> None:
    shown = _shown(long, 0, len(long.text))
    for table in long.tables:
        assert "\n".join(prompt.grid(table)) in shown
        for cell in table.numeric_cells():
            row = next(line for line in prompt.grid(table) if line.startswith(f"{cell.row}: "))
            assert row.partition(": ")[2].split(" | ")[cell.column] == cell.text
    assert shown.count("95.41") == long.text.count("95.41")


def test_a_message_with_room_leaves_nothing_out_and_names_every_float() -> None:
    told = prompt.message(desk(), (), 100_000)
    assert told.cut == ()
    for words in ("Older things", "by the definition of small", "40 GPU hours", "[table 2: columns 0 to 1]"):
        assert words in told.text
    assert "- table 1 (results): Test accuracy" in told.text
    body = told.text.partition("## The paper\n")[2]
    assert body.index("Gizmo helps.") < body.index("40 GPU hours") < body.index("Older things")


def test_bibliography_goes_first_then_idle_appendices_then_telling_ones_and_the_model_is_told() -> None:
    whole = prompt.tokens(prompt.message(desk(), (), 100_000).text)
    cuts = [prompt.message(desk(), (), whole - less).cut for less in (5, 45, 70, 110)]
    names = [[line.rsplit(",", 1)[0] for line in cut] for cut in cuts]
    assert names[0] == ["bibliography"]
    assert names[-1][:4] == ["bibliography", "appendix C Thanks", "appendix A Proof of Lemma", "appendix B Training"]
    assert all(names[i] == names[i + 1][: len(names[i])] for i in range(3))
    last = prompt.message(desk(), (), whole - 110)
    assert all(line in last.text for line in last.cut)
    assert "40 GPU hours" in last.text  # what a cut appendix says of compute is still shown


@settings(max_examples=25, deadline=None)
@given(room=st.integers(0, 900))
def test_no_message_outgrows_its_room_but_by_its_head_and_what_it_says_of_its_cuts(room: int) -> None:
    told = prompt.message(desk(), (), room)
    head = prompt.tokens(told.text.partition("## The paper")[0])
    said = prompt.tokens("\n".join(told.cut)) + 40
    assert prompt.tokens(told.text) <= max(room, head) + said


def test_links_are_told_with_short_receipts_and_hidden_ones_as_hidden() -> None:
    source = method_paper(
        links=r"Code: \url{https://github.com/quill-lab/gizmo}. % https://github.com/quill-lab/hidden" "\n"
    )
    one = desk(source)
    for repo in ("quill-lab/gizmo", "quill-lab/hidden"):
        one.receipts.append(
            Receipt(
                paper="2501.00001",
                tool="github_repo",
                arguments={"repo": repo},
                exchanges=(repo,),
                outcome=Outcome.AVAILABLE,
                reason="5 code files",
                subject=f"github:{repo}",
                facts={"code_files": 5, "notes": "x" * 5000},
            )
        )
    text = prompt.message(one, [r.id for r in one.receipts], 100_000).text
    for receipt in one.receipts:
        assert f"[{receipt.id[: prompt.SHORT_ID]}]" in text
        assert receipt.id not in text
    listed = {line.split()[1]: line for line in text.splitlines() if line.startswith("- github:")}
    assert "the paper's own" in listed["github:quill-lab/gizmo"]
    assert "not shown to readers" in listed["github:quill-lab/hidden"]
    assert max(map(len, listed.values())) < 600


def test_the_supplement_is_a_manifest_and_its_readme() -> None:
    files = {"code/train.py": b"import torch", "README.md": b"Run train.py", "data/x.bin": b"\0" * 9}
    listed = tuple((path, len(data)) for path, data in files.items())
    text = prompt.message(desk(supplement=listed, texts=prompt.texts_of(files)), (), 100_000).text
    assert "- code/train.py (12 bytes)" in text
    assert "### README.md\nRun train.py" in text
    assert "import torch" not in text
    assert [path for path, _ in prompt.texts_of(files, code=True)] == ["README.md", "code/train.py"]


def test_the_published_prompt_shows_rendered_text_excerpts_and_all_latex() -> None:
    files = {"b.tex": b"\\section{B}", "main.tex": LONG.encode(), "refs.bib": b"@article{x}"}
    one = desk(latex=prompt.latex_of(files), supplement=(("run.py", 8),), texts=(("run.py", "print(1)"),))
    text = prompt.published(one).text
    assert one.given.paper.text in text
    assert text.index("%%% b.tex") < text.index("%%% main.tex") < text.index("\\documentclass")
    assert "### run.py\nprint(1)" in text
    assert "@article" not in text
    assert prompt.tokens(prompt.message(desk(), (), 14_000).text) < prompt.tokens(text)


def test_instructions_hold_the_whole_guide_and_are_the_same_for_every_paper() -> None:
    told = prompt.instructions()
    assert told.endswith(guide.load().text)
    assert prompts.task().text in told
    assert prompt.instructions() == told


def test_a_readings_identity_names_model_prompt_and_guide_and_no_address() -> None:
    plain = prompts.identity("openai:m")
    assert prompts.task().sha256[:12] in plain
    assert guide.load().sha256[:12] in plain
    assert prompts.identity("openai:m", LanguageModel(prompt="published")) != plain
    assert prompts.identity("openai:m", LanguageModel(seed=3)) == plain
    assert prompts.identity("embedded").startswith("embedded-")


@given(st.text(max_size=400), st.text(max_size=400))
def test_the_estimate_of_tokens_adds_up_and_is_never_more_than_the_characters(left: str, right: str) -> None:
    both = prompt.tokens(left + right)
    assert both <= prompt.tokens(left) + prompt.tokens(right) <= both + 1
    assert both <= len(left + right)
