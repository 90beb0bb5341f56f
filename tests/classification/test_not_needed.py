"""An artifact is waived by a sentence of the paper that says so, and by nothing a classifier says."""

from __future__ import annotations

import pytest

from pipeline.evidence import Signal
from pipeline.not_needed import not_needed
from pipeline.paper import Paper, read
from tests.classification.said import answer


def paper(*sentences: str) -> Paper:
    body = " ".join(sentences)
    text = rf"\documentclass{{article}}\title{{Foxtrot}}\begin{{document}}\section{{Method}} {body}\end{{document}}"
    return read({"main.tex": text.encode()})


@pytest.mark.parametrize(
    ("sentence", "waived"),
    [
        ("Foxtrot is training-free and uses no gradients.", True),
        ("Our method does not require fine-tuning.", True),
        ("A zero-shot baseline is shown.", False),
        ("The room is quiet.", False),
    ],
)
def test_weights_are_waived_where_the_paper_says_that_nothing_is_trained(sentence, waived):
    said = answer(training="none", training_quote=sentence)
    assert bool(not_needed(Signal.WEIGHTS, said, paper(sentence))) is waived


def test_one_sentence_waives_nothing_that_another_one_does():
    free = "Foxtrot is training-free."
    said = answer(training="none", training_quote=free)
    assert not_needed(Signal.WEIGHTS, said, paper(free, "We fine-tune the encoder for three epochs.")) == ""


def test_a_sentence_that_the_paper_does_not_print_waives_nothing():
    said = answer(training="none", training_quote="Foxtrot is training-free.")
    assert not_needed(Signal.WEIGHTS, said, paper("Foxtrot dances.")) == ""


@pytest.mark.parametrize(
    ("sentence", "waived"),
    [
        ("We compare our optimizer with others by convergence.", True),
        ("We use a learning rate of 0.1.", False),
    ],
)
def test_training_is_the_experiment_only_where_the_sentence_is_about_training(sentence, waived):
    said = answer(training="is_the_experiment", training_quote=sentence)
    assert bool(not_needed(Signal.WEIGHTS, said, paper(sentence))) is waived


@pytest.mark.parametrize(
    ("sentence", "waived"),
    [
        ("All experiments use synthetic data drawn from two Gaussians.", True),
        ("We generate random graphs with fifty nodes.", True),
        ("We sample 32 images a batch.", False),
    ],
)
def test_data_is_waived_where_the_paper_makes_it(sentence, waived):
    said = answer(needed=False, evidence=sentence)
    assert bool(not_needed(Signal.DATA, said, paper(sentence))) is waived


def test_data_is_never_waived_for_a_target_that_is_measured_on_a_benchmark():
    sentence = "All experiments use synthetic data too."
    said = answer(needed=False, evidence=sentence, dataset="CIFAR-10")
    assert not_needed(Signal.DATA, said, paper(sentence, "We report accuracy on CIFAR-10.")) == ""
