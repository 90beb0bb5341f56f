"""Faults that agree with themselves arithmetically, found in the words beside the numbers."""

import pytest

from pipeline.compute import Part
from pipeline.compute_faults import Stated, faults, training_charged

FAULTY = [
    ("unit_slip", Stated(text="training takes 25-30 minutes and evaluation 10 minutes", wall_hours=35, hours=35)),
    ("unit_slip", Stated(text="converges in 31.7 minutes on one GPU", wall_hours=31)),
    ("unit_slip", Stated(text="about 5 minutes on a single card", wall_hours=5)),
    ("unit_slip", Stated(text="40 ms per step and 20 s per epoch", wall_hours=20)),
    ("epochs_as_hours", Stated(text="We train for 50 epochs on one GPU", wall_hours=50)),
    ("epochs_as_hours", Stated(text="trained for 24 training epochs with batch size 8", wall_hours=24)),
    ("gpu_hours_as_wall", Stated(text="150 GPU-hours in total on 8 A100s", wall_hours=150, count=8)),
    ("gpu_hours_as_wall", Stated(text="costs 65 A100 hours", wall_hours=65, count=8)),
    ("padding", Stated(text="1.05 computed, plus some overhead: 9 hours", wall_hours=9)),
    ("padding", Stated(text="0.17 hours, x4 for debugging", wall_hours=10)),
    ("padding", Stated(text="9 hours with a safety margin", wall_hours=18)),
    (
        "back_solved",
        Stated(text="about 1 A100-hour; 40 minutes", hours=18, wall_hours=56.25, count=1, factor=0.32, device="A100"),
    ),
    ("back_solved", Stated(text="28.2 hours on one GPU", hours=54, wall_hours=42.1875, count=4, factor=0.32)),
    ("wrong_factor", Stated(text="12 hours", device="RTX 3090", factor=0.76)),
    ("wrong_factor", Stated(text="12 hours", device="H800", factor=1.0)),
    ("wrong_factor", Stated(text="12 hours on CPU", device="CPU", factor=1.0)),
    ("invented_wall", Stated(text="We use 8 GPUs.", wall_hours=2, basis_kind="paper_reported")),
    ("outside_own_range", Stated(text="64-120 A100-hours", wall_hours=24, count=8)),
]

SOUND = [
    Stated(text="takes 25 hours on one GPU, 30 minutes to evaluate", wall_hours=25, hours=8, count=1),
    Stated(text="50 epochs, which take 50 hours", wall_hours=50),
    Stated(text="30 minutes on one GPU", wall_hours=0.5, hours=0.5, count=1, factor=1.0),
    Stated(text="3 days on 8 A100s", wall_hours=72, count=8, factor=0.5, device="A100 80GB", hours=288),
    Stated(text="150 GPU-hours on 8 A100s", wall_hours=18.75, count=8, basis_kind="paper_reported"),
    Stated(text="The method has no communication overhead and takes 2 hours.", wall_hours=2),
    Stated(text="64-120 A100-hours", wall_hours=12, count=8),
    Stated(text="12 hours", device="RTX 3090", factor=0.18),
    Stated(text="12 hours in fp32", device="V100", factor=0.12),
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


@pytest.mark.parametrize("text", ["", "a" * 20000, "1-" * 5000, "9," * 5000, "\x00\ud800", "1 " * 10000 + "hours"])
def test_strange_text_is_survived_quickly(text):
    assert isinstance(faults(Stated(text=text, wall_hours=3, hours=3, count=2, factor=1, device=text)), tuple)
