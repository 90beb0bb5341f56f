"""Faults that agree with themselves arithmetically, found in the words beside the numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.compute import Part
from pipeline.compute_faults import Stated, faults, training_charged
from pipeline.paper.durations import find_durations

FAULTY = [
    ("unit_slip", Stated(text="training takes 25-30 minutes and evaluation 10 minutes", wall_hours=35)),
    ("unit_slip", Stated(text="converges in 31.7 minutes on one GPU", wall_hours=31)),
    ("unit_slip", Stated(text="about 5 minutes on a single card", wall_hours=5)),
    ("unit_slip", Stated(text="40 ms per step and 20 s per epoch", wall_hours=20)),
    ("unit_slip", Stated(text="trains in half a day on one GPU", wall_hours=0.5)),
    ("epochs_as_hours", Stated(text="We train for 50 epochs on one GPU", wall_hours=50)),
    ("epochs_as_hours", Stated(text="trained for 24 training epochs with batch size 8", wall_hours=24)),
    ("epochs_as_hours", Stated(text="fine-tuned for five epochs", wall_hours=5)),
    ("epochs_as_hours", Stated(text="optimised for 20k steps on one GPU", wall_hours=20)),
    ("gpu_hours_as_wall", Stated(text="150 GPU-hours in total on 8 A100s", wall_hours=150, count=8)),
    ("gpu_hours_as_wall", Stated(text="costs 65 A100 hours", wall_hours=65, count=8)),
    ("counted_twice", Stated(text="60 GPU hours for all five seeds together", device_hours=60, runs=5)),
    ("padding", Stated(text="takes 1.05 hours", basis="1.05, plus some overhead: 9 hours", wall_hours=9)),
    ("padding", Stated(text="takes 10 minutes", basis="0.17 hours, x4 for debugging", wall_hours=10)),
    ("padding", Stated(text="takes 9 hours", basis="9 hours with a safety margin", wall_hours=18)),
    ("padding", Stated(text="5,000 A100 hours including failed runs", device_hours=5000)),
    ("back_solved", Stated(text="about 1 A100-hour; 40 minutes", wall_hours=56.25, count=1, device="A100")),
    ("back_solved", Stated(text="28.2 hours on one GPU", wall_hours=42.1875, count=1)),
    ("wrong_factor", Stated(text="12 hours", device="RTX 3090", factor=0.76)),
    ("wrong_factor", Stated(text="12 hours", device="RTX 3090", basis="a multiplier of 0.76")),
    ("wrong_factor", Stated(text="12 hours", device="Ascend 910B", factor=1.0)),
    ("wrong_factor", Stated(text="12 hours on CPU", device="CPU", factor=1.0)),
    ("invented_wall", Stated(text="We use 8 GPUs.", wall_hours=2, basis_kind="paper_reported")),
    ("invented_device", Stated(text="48 hours on a single A100", wall_hours=48, count=8, device="A100")),
    ("invented_device", Stated(text="9 hours on an RTX 2080 Ti", wall_hours=9, count=1, device="H100")),
    ("invented_device", Stated(text="takes 9 hours", printed="It takes 9 hours.", wall_hours=9, device="A100")),
    ("outside_own_range", Stated(text="64-120 A100-hours", wall_hours=24, count=8)),
]

SOUND = [
    Stated(text="takes 25 hours on one GPU, 30 minutes to evaluate", wall_hours=25, count=1),
    Stated(text="takes 25 hours on one GPU, 30 minutes to evaluate", wall_hours=25.5, count=1),
    Stated(text="50 epochs, which take 50 hours", wall_hours=50),
    Stated(text="30 minutes on one GPU", wall_hours=0.5, count=1, factor=1.0),
    Stated(text="3 days on 8 A100s", wall_hours=72, count=8, factor=0.5, device="A100 80GB"),
    Stated(text="3 days on 8 A100s", device_hours=576, count=8, device="A100"),
    Stated(text="150 GPU-hours on 8 A100s", wall_hours=18.75, count=8, basis_kind="paper_reported"),
    Stated(text="60 GPU hours for all five seeds together", device_hours=12, runs=5),
    Stated(text="2 minutes per epoch", printed="We train for 200 epochs.", wall_hours=6.67),
    Stated(text="each of the 8 tasks takes 15 minutes", wall_hours=2),
    Stated(text="The method has no communication overhead and takes 2 hours.", wall_hours=2),
    Stated(text="takes 2 hours", basis="no allowance for debugging", wall_hours=2),
    Stated(text="64-120 A100-hours", wall_hours=12, count=8),
    Stated(text="12 hours", device="RTX 3090", factor=0.18),
    Stated(text="12 hours in fp32", device="V100", factor=0.12),
    Stated(text="2.8e20 FLOPs in total", device="H100", device_hours=197),
    Stated(text="nothing is known"),
]


@pytest.mark.parametrize(("kind", "stated"), FAULTY, ids=lambda v: v if isinstance(v, str) else "")
def test_a_fault_is_found_by_kind(kind, stated):
    found = faults(stated)
    assert kind in [f.kind for f in found]
    assert all(f.detail for f in found)


@pytest.mark.parametrize("stated", SOUND, ids=lambda s: s.text[:30])
def test_a_sound_estimate_has_no_fault(stated):
    assert faults(stated) == ()


def test_training_is_not_charged_when_the_weights_are_released():
    train, evaluate = Part(kind="train"), Part(kind="eval")
    assert training_charged([train, evaluate], weights_released=True) is not None
    assert training_charged([evaluate], weights_released=True) is None
    assert training_charged([train], weights_released=False) is None
    assert training_charged([Part(kind="finetune")], weights_released=True) is not None


@pytest.mark.parametrize("text", ["", "a" * 20000, "1-" * 5000, "9," * 5000, "\x00\ud800", "1 " * 10000 + "hours"])
def test_strange_text_is_survived_quickly(text):
    assert isinstance(faults(Stated(text=text, basis=text, wall_hours=3, count=2, factor=1, device=text)), tuple)


@given(
    amount=st.integers(2, 5000),
    unit=st.sampled_from([("seconds", 1 / 3600), ("minutes", 1 / 60), ("days", 24.0), ("weeks", 168.0)]),
)
def test_a_converted_time_is_sound_and_the_bare_number_of_it_a_slip(amount, unit):
    name, hours = unit
    text = f"Training takes {amount} {name} on one A100 GPU."
    right = faults(Stated(text=text, wall_hours=amount * hours, count=1, device="A100", basis_kind="paper_reported"))
    assert right == ()
    wrong = faults(Stated(text=text, wall_hours=float(amount), count=1, device="A100", basis_kind="paper_reported"))
    assert [fault.kind for fault in wrong] == ["unit_slip"]


@given(text=st.text(st.sampled_from("0123456789., -hdaysminuteswekGPUA×&()\n"), max_size=80), wall=st.floats(0.01, 1e4))
def test_no_words_are_too_strange_for_a_fault_to_be_looked_for(text, wall):
    for fault in faults(Stated(text=text, basis=text, printed=text, wall_hours=wall, count=2, basis_kind="x")):
        assert fault.detail


@pytest.mark.parametrize("text", ["takes a day and a half", "about half an hour", "one and a half weeks", "overnight"])
def test_durations_in_words_are_read_without_a_slip_of_the_reader(text):
    assert all(
        f.kind in ("back_solved", "unit_slip", "invented_wall") for f in faults(Stated(text=text, wall_hours=77))
    )


def test_a_lone_m_is_minutes_behind_hours_and_no_time_anywhere_else():
    (one,) = find_durations("A run takes 2h 15m on one GPU.", machine=True)
    assert one.low == one.high == 2.25
    assert find_durations("The robot walks 15 m and 2 m for hours on one GPU.", machine=True) == []
