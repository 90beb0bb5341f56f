"""Compute statements as typed quantities."""

import pytest

from pipeline.paper import devices_in, read
from pipeline.paper.compute import Reading, read_sentence


def reading(sentence: str) -> Reading:
    found = read_sentence(sentence)
    assert found is not None, sentence
    return found


@pytest.mark.parametrize(
    ("sentence", "device", "count", "hours", "kind"),
    [
        ("We trained on 8×A100 (80GB) for 3 days.", "A100", 8, 72, "wall"),
        ("Training used about 1,200 GPU hours on V100.", "V100", None, 1200, "device"),
        ("The model was trained on a single RTX 3090 in 6 h.", "RTX 3090", 1, 6, "wall"),
        ("We pretrain on TPU v3-8 for 48h.", "TPU v3-8", None, 48, "wall"),
        ("All experiments used four NVIDIA A6000 GPUs and took two weeks.", "A6000", 4, 336, "wall"),
        ("Each model trains for 100 epochs on 8 16GB Nvidia P100 GPUs limited to 24 hours.", "P100", 8, 24, "wall"),
        ("Total project compute, including failed runs, is 5k A100-hours.", "A100", None, 5000, "device"),
        ("A run takes thirty minutes on a T4 GPU.", "T4", 1, 0.5, "wall"),
        ("We used 16 A100 GPUs for training.", "A100", 16, None, None),
    ],
)
def test_devices_count_and_time(
    sentence: str, device: str, count: int | None, hours: float | None, kind: str | None
) -> None:
    r = reading(sentence)
    assert device in r.devices
    assert r.count == count
    assert r.hours == (None if hours is None else pytest.approx(hours))
    assert r.hours_kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "The output layer",
        "as in zinkevich2003 on GPUs",
        "\\imagestartx runs",
        "see soft4.jpeg on GPUs",
        "GPT4 runs on a node",
    ],
)
def test_no_device_inside_another_word(text: str) -> None:
    assert devices_in(text) == []


def test_per_epoch_time_is_not_total_time() -> None:
    r = reading("Training takes 2 minutes per epoch for 200 epochs on one GPU.")
    assert (r.time_per_epoch, r.epochs, r.hours) == (pytest.approx(2 / 60), 200, None)


def test_ranges_keep_both_ends() -> None:
    r = reading("A single run takes between 20-200 minutes on an RTX 4090 GPU.")
    assert r.hours_range == (pytest.approx(1 / 3, abs=1e-5), pytest.approx(10 / 3, abs=1e-5))
    assert r.scope == "run"


def test_flops_cost_failed_runs_and_cpu() -> None:
    assert reading("Training used 1.4e20 FLOPs in total.").flops == pytest.approx(1.4e20)
    assert reading("We spent $400 of GPU compute on the API.").cost_usd == 400
    assert reading("The total of 300 GPU hours includes failed runs.").includes_failed
    assert reading("All experiments ran on a laptop CPU in 3 minutes.").cpu_only
    assert not reading("We use one A100 GPU and 16 CPU cores for training.").cpu_only


def test_denials_and_thanks_are_told_apart() -> None:
    assert reading("The paper does not mention the hardware specifications or running time.").denial
    assert reading("We are thankful for the compute resources made available by the institute.").acknowledgement


def test_time_after_a_device_sentence_inherits_the_device() -> None:
    source = b"\\documentclass{a}\\begin{document}All models use a single P100 GPU. Training takes 150 minutes for 20 epochs.\\end{document}"  # noqa: E501
    first, second = read({"m.tex": source}).compute
    assert first.devices == second.devices == ("P100",)
    assert second.inherited
    assert second.hours == pytest.approx(2.5)


def test_prose_about_time_is_not_compute() -> None:
    assert read_sentence("We consider data from 24 hours of weather in five cities.") is None
