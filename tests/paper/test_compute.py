"""Compute statements as typed quantities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.compute import load_devices
from pipeline.paper import ComputeMention, devices_in, read
from pipeline.paper.compute import Reading, read_clauses, read_sentence
from pipeline.paper.durations import find_durations, number


def reading(sentence: str) -> Reading:
    found = read_sentence(sentence)
    assert found is not None, sentence
    return found


def mentions(body: str) -> tuple[ComputeMention, ...]:
    return read({"m.tex": f"\\documentclass{{a}}\\begin{{document}}{body}\\end{{document}}".encode()}).compute


def hours(phrase: str) -> tuple[float, float]:
    (one,) = find_durations(phrase, machine=True)
    return one.low, one.high


@pytest.mark.parametrize(
    ("sentence", "device", "count", "hours", "kind"),
    [
        ("We trained on 8×A100 (80GB) for 3 days.", "A100", 8, 72, "wall"),
        ("Training used about 1,200 GPU hours on V100.", "V100", None, 1200, "device"),
        ("The model was trained on a single RTX 3090 in 6 h.", "RTX 3090", 1, 6, "wall"),
        ("We pretrain on TPU v3-8 for 48h.", "TPU v3-8", None, 48, "wall"),
        ("We pretrain on a TPU v3-8 for 48h.", "TPU v3-8", 1, 48, "wall"),
        ("All experiments used four NVIDIA A6000 GPUs and took two weeks.", "A6000", 4, 336, "wall"),
        ("Each model trains for 100 epochs on 8 16GB Nvidia P100 GPUs limited to 24 hours.", "P100", 8, 24, "wall"),
        ("Total project compute, including failed runs, is 5k A100-hours.", "A100", None, 5000, "device"),
        ("A run takes thirty minutes on a T4 GPU.", "T4", 1, 0.5, "wall"),
        ("Training needs 40 minutes on a T4.", "T4", 1, 40 / 60, "wall"),
        ("We used 16 A100 GPUs for training.", "A100", 16, None, None),
        ("Tuning costs 14 A100 GPU hours.", "A100", None, 14, "device"),
        ("The search took 9 hours on one RTX 4090 GPU.", "RTX 4090", 1, 9, "wall"),
        ("We train on 4 nodes with 8 H100 GPUs each for 12 hours.", "H100", 32, 12, "wall"),
        ("Scoring kept 8 H100s busy for 18 hours.", "H100", 8, 18, "wall"),
        ("Fine-tuning takes half a day (12 hours) on 4 L40S.", "L40S", 4, 12, "wall"),
        ("Training used 64 A100 GPUs for 9 days, about 13800 GPU hours.", "A100", 64, 13800, "device"),
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
    ("phrase", "low", "high"),
    [
        ("eleven hours", 11, 11),
        ("two and a half hours", 2.5, 2.5),
        ("a day and a half", 36, 36),
        ("half an hour", 0.5, 0.5),
        ("three quarters of an hour", 0.75, 0.75),
        ("a couple of days", 48, 48),
        ("twenty-four hours", 24, 24),
        ("one hundred hours", 100, 100),
        ("two to three days", 48, 72),
        ("1 hour and 20 minutes", 4 / 3, 4 / 3),
        ("2h 30min", 2.5, 2.5),
        ("from 5 minutes (small) to 20 minutes (large)", 5 / 60, 20 / 60),
    ],
)
def test_times_in_words_and_in_parts_are_hours(phrase: str, low: float, high: float) -> None:
    assert hours(phrase) == (pytest.approx(low), pytest.approx(high))


@given(st.integers(1, 99))
def test_a_number_in_words_is_the_number(n: int) -> None:
    ones = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
    ]
    ones += ["seventeen", "eighteen", "nineteen"]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    words = ones[n] if n < 20 else tens[n // 10 - 2] + (f"-{ones[n % 10]}" if n % 10 else "")
    assert number(words) == n
    assert hours(f"{words} hours") == (n, n)


@pytest.mark.parametrize(
    "text",
    [
        "The output layer",
        "as in zinkevich2003 on GPUs",
        "\\imagestartx runs",
        "see soft4.jpeg on GPUs",
        "GPT4 runs on a node",
        "the GPUs of Table A10 and Appendix A2",
        "a T4 phage infects cells",
        "the A2 benchmark",
    ],
)
def test_no_device_inside_another_word(text: str) -> None:
    assert devices_in(text) == []


@pytest.mark.parametrize(
    "name",
    [
        *("H800", "H20", "A10G", "RTX 3090 Ti", "L4", "MI250", "Quadro RTX 6000", "GTX 1080 Ti", "2080Ti", "Titan X"),
        *("RTX PRO 6000", "RTX 4070 Ti Super", "MI325X", "Ascend 910B", "TPU v5litepod-16", "K80", "RTX 5000 Ada"),
    ],
)
def test_cards_of_the_field_are_devices_whether_or_not_they_have_a_factor(name: str) -> None:
    assert [d[0] for d in devices_in(f"Training takes 40 minutes on a {name}.")] == [name]


def test_every_card_that_has_a_factor_is_recognised_by_each_of_its_names() -> None:
    names = [alias for d in load_devices().device if d.kind != "cpu" for alias in d.aliases]
    assert len(names) > 50
    assert [n for n in names if not devices_in(f"Training took 3 hours on one {n} GPU.")] == []


def test_per_epoch_time_is_not_total_time() -> None:
    r = reading("Training takes 2 minutes per epoch for 200 epochs on one GPU.")
    assert (r.time_per_epoch, r.epochs, r.hours) == (pytest.approx(2 / 60), 200, None)


def test_an_epoch_is_a_unit_and_not_a_schedule_of_one() -> None:
    r = reading("On a V100 an epoch lasts 2 minutes and we train for 200 epochs.")
    assert (r.time_per_epoch, r.epochs, r.hours) == (pytest.approx(2 / 60), 200, None)
    assert reading("We train for one epoch, which takes 3 hours on a V100.").epochs == 1
    assert reading("Each epoch takes 3 hours on a V100.").epochs is None


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


def test_several_statements_in_one_sentence_are_several_mentions() -> None:
    found = mentions(
        "In total, it takes around 24 GPU hours to reproduce the logic results, around 10 GPU days to reproduce the "
        "puzzles and approximately 163 TPU days to reproduce the language models."
    )
    assert [(m.hours, m.devices, m.subject, m.scope) for m in found] == [
        (24, (), "reproduce the logic results", "paper"),
        (240, (), "reproduce the puzzles", "paper"),
        (3912, ("TPU",), "reproduce the language models", "paper"),
    ]
    assert len({m.sentence for m in found}) == 1
    assert all(m.quote in m.sentence for m in found)


def test_clauses_of_a_sentence_share_its_device_with_its_memory_and_count_their_own() -> None:
    first, second = mentions(
        "Evaluating takes 4 minutes on one A100 (40GB); training the network took two days on eight of them."
    )
    assert (first.devices, first.count, first.subject, first.inherited) == (("A100",), 1, "Evaluating", False)
    assert (second.devices, second.count, second.hours) == (("A100 40GB",), 8, 48)
    assert (second.subject, second.inherited) == ("training the network", True)


def test_a_device_named_after_both_clauses_is_both_clauses_device() -> None:
    found = mentions("Training takes 3 hours and testing takes 20 minutes on a single V100.")
    assert [(m.devices, m.hours) for m in found] == [(("V100",), 3), (("V100",), pytest.approx(1 / 3, abs=1e-5))]


def test_a_gpu_clause_does_not_inherit_a_tpu() -> None:
    first, _ = mentions("Tuning takes 24 GPU hours, and pretraining takes 30 hours on a TPU v3-8.")
    assert first.devices == ()


def test_time_after_a_device_sentence_inherits_the_device() -> None:
    first, second = mentions("All models use a single P100 GPU. Training takes 150 minutes for 20 epochs.")
    assert first.devices == second.devices == ("P100",)
    assert second.inherited
    assert second.hours == pytest.approx(2.5)


def test_thanks_in_a_footnote_do_not_make_the_sentence_thanks() -> None:
    run, thanks = mentions(
        "All models were trained on a TPU v3-8 for 48 hours.\\footnote{We thank the cloud for the TPU.}"
    )
    assert (run.hours, run.acknowledgement, thanks.acknowledgement) == (48, False, True)


@pytest.mark.parametrize(
    "sentence",
    [
        "We consider data from 24 hours of weather in five cities.",
        "We train on the 960 hours of speech and decode greedily.",
        "We train on 960h LibriSpeech recordings.",
        "The last five days are the test set and we run on the rest.",
        "In a second experiment we train a smaller model.",
        "Convolutions have been trained for forty years.",
    ],
)
def test_time_that_is_not_compute_is_left_alone(sentence: str) -> None:
    found = read_sentence(sentence)
    assert found is None or found.hours is None


@pytest.mark.parametrize(
    ("header", "cell", "low", "high", "kind"),
    [
        ("GPU hours", "120", 120, 120, "device"),
        ("Training time (h)", "3.5", 3.5, 3.5, "wall"),
        ("Training time (min)", "90", 1.5, 1.5, "wall"),
        ("A100-days", "2", 48, 48, "device"),
        ("Wall time [days]", "1--2", 24, 48, "wall"),
    ],
)
def test_a_bare_number_takes_the_unit_its_header_names(
    header: str, cell: str, low: float, high: float, kind: str
) -> None:
    (m,) = mentions(f"\\begin{{tabular}}{{lc}}Method & {header} \\\\ \\hline Ours & {cell} \\\\ \\end{{tabular}}")[-1:]
    assert (m.hours, m.hours_kind, m.subject) == (pytest.approx((low + high) / 2), kind, "Ours")
    assert m.hours_range == (None if low == high else (pytest.approx(low), pytest.approx(high)))
    assert m.quote.startswith("| Ours |")


@pytest.mark.parametrize("header", ["Latency (s)", "Inference time (ms)", "Audio (h)", "Hours of speech", "Acc (%)"])
def test_a_header_that_is_no_compute_time_gives_none(header: str) -> None:
    body = f"\\begin{{tabular}}{{lc}}Method & {header} \\\\ \\hline Ours & 120 \\\\ \\end{{tabular}}"
    assert [m for m in mentions(body) if m.hours is not None] == []


@given(st.text(alphabet=st.sampled_from("3 5.,;()-ahourdyGPUA10fns minte×and"), max_size=120))
def test_clauses_are_pieces_of_their_sentence_in_order(sentence: str) -> None:
    at = 0
    for start, end, _ in read_clauses(sentence):
        assert at <= start < end <= len(sentence)
        at = end
