"""Which places are a paper's own: its sentences, the places themselves and the pages between them say so."""

from __future__ import annotations

import pytest

from pipeline.artifacts import named_after, own, presented_as_own, subject
from pipeline.evidence import Outcome, Receipt
from pipeline.paper import Paper, read

OURS = "https://github.com/ours/mine"
PAGE = (
    r"\documentclass{article}\usepackage{hyperref}\title{Foxtrot: Dancing Networks}\author{Ann Bee}"
    r"\begin{document}\maketitle"
)


def paper(body: str) -> Paper:
    text = PAGE + r"\begin{abstract}Foxtrot gains 3 points.\end{abstract}\section{Method}" + body + r"\end{document}"
    return read({"main.tex": text.encode()})


def receipt(name: str, **facts) -> Receipt:
    return Receipt(
        paper="p", tool="t", arguments={}, exchanges=(), outcome=Outcome.AVAILABLE, reason="", subject=name, facts=facts
    )


@pytest.mark.parametrize(
    "sentence",
    [
        r"Our code is available at \url{https://github.com/ours/mine}.",
        r"Implementation: \url{https://github.com/ours/mine}.",
        r"Our implementation is a fork of a public code base and is available at \url{https://github.com/ours/mine}.",
        r"See the code on GitHub (\url{https://github.com/ours/mine}).",
        r"We release everything\footnote{\url{https://github.com/ours/mine}}.",
        r"We build on nanoGPT (\url{https://github.com/karpathy/nanoGPT}) and release our code at \url{https://github.com/ours/mine}.",
        r"Code at \url{https://github.com/ours/mine}; the backbone we start from is at \url{https://huggingface.co/big/base}.",
    ],
)
def test_what_the_authors_present_is_their_own_and_nothing_else_in_the_sentence_is(sentence):
    found = [link.url for link in paper(sentence).links if presented_as_own(link)]
    assert found == [OURS]


@pytest.mark.parametrize(
    "sentence",
    [
        r"We compare with the baseline at \url{https://github.com/ours/mine}.",
        r"Our work is based on \url{https://github.com/ours/mine}.",
        r"We use the official implementation of Waltz (\url{https://github.com/ours/mine}).",
        r"% our code: \url{https://github.com/ours/mine}",
        r"\newcommand{\code}{Our code is at \url{https://github.com/ours/mine}}",
    ],
)
def test_baselines_comments_and_unused_macros_present_nothing(sentence):
    assert [link.url for link in paper(sentence + "\nText.").links if presented_as_own(link)] == []


def test_a_live_demo_on_its_own_site_is_no_place_of_code_and_one_with_code_is():
    demo = r"A live demo of our model is available at \url{https://foxtrot.example.org}."
    assert [link.url for link in paper(demo).links if presented_as_own(link)] == []
    both = r"A live demo and our code are available at \url{https://foxtrot.example.org}."
    assert len([link for link in paper(both).links if presented_as_own(link)]) == 1


def test_a_repository_named_after_the_paper_is_its_own_and_a_common_word_inside_a_name_is_not():
    assert named_after("https://github.com/x/foxtrot", "Foxtrot: Dancing Networks")
    assert named_after("https://huggingface.co/x/foxtrot-7b", "Foxtrot: Dancing Networks")
    assert not named_after("https://github.com/x/foxtrotting", "Foxtrot: Dancing Networks")
    assert not named_after("https://github.com/hendrycks/math", "Mathematics for Networks")


def test_a_place_that_names_the_paper_is_its_own_wherever_it_was_found():
    found = own(paper("Nothing is linked."), [receipt("github:lab/unlinked", names_paper=["arxiv"])], False)
    assert found == ("github:lab/unlinked",)
    named = own(paper("Nothing is linked."), [receipt("github:lab/foxtrot", names_paper=["title"])], False)
    assert named == ("github:lab/foxtrot",)


def test_words_inside_a_url_say_nothing_about_it():
    links = paper(r"Our code is at \url{https://github.com/ours/rnn-baselines}.").links
    assert [presented_as_own(link) for link in links] == [True]


def test_a_strangers_readme_that_quotes_the_title_does_not_make_a_place_ours():
    homework = receipt("github:stranger/homework", names_paper=["title"])
    assert own(paper("Nothing is linked."), [homework], False) == ()


def test_text_that_is_no_url_names_nothing_and_breaks_nothing():
    assert subject("http://[::1").startswith("url:")
    assert subject("https://exa\u2100mple.com/x").startswith("url:")
    page = receipt("url:https://arxiv.org/abs/2505.90001", names_paper=["title"])
    assert own(paper("Nothing is linked."), [page], False) == ()


def test_an_own_page_leads_to_its_only_repository_and_an_own_readme_to_entries_of_its_owner():
    text = paper(r"Project page: \url{https://lab.example.org/foxtrot}.")
    page = receipt("url:https://lab.example.org/foxtrot", links=[OURS, "https://lab.example.org"])
    readme = receipt(
        "github:ours/mine", readme_links=["https://huggingface.co/ours/model", "https://huggingface.co/big/base"]
    )
    model, base = receipt("hf:model:ours/model"), receipt("hf:model:big/base")
    found = own(text, [page, readme, model, base], False)
    assert found == ("url:https://lab.example.org/foxtrot", "github:ours/mine", "hf:model:ours/model")


def test_a_base_model_that_the_paper_calls_somebody_elses_stays_so_even_under_the_same_owner():
    text = paper(r"Code at \url{https://github.com/ours/mine}; we start from \url{https://huggingface.co/ours/base}.")
    readme = receipt("github:ours/mine", readme_links=["https://huggingface.co/ours/base"])
    assert "hf:model:ours/base" not in own(text, [readme, receipt("hf:model:ours/base")], False)


def test_a_place_that_only_a_readme_names_and_nobody_probed_is_no_claim_of_the_papers():
    text = paper(r"Our code: \url{https://github.com/ours/mine}.")
    readme = receipt("github:ours/mine", readme_links=["https://huggingface.co/ours/model"])
    assert own(text, [readme], True) == ("github:ours/mine", "supplement:")


def test_every_page_of_a_repository_is_one_subject():
    same = {subject(u) for u in (OURS, OURS + ".git", OURS + "/tree/main/src", "https://www.github.com/Ours/Mine/")}
    assert same == {"github:ours/mine"}
    assert subject("https://huggingface.co/datasets/a/b/tree/main") == "hf:dataset:a/b"
    assert subject("https://huggingface.co/papers/2505.1") == "url:https://huggingface.co/papers/2505.1"
