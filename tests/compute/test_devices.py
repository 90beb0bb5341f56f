"""Which device a phrase names, and what it is worth."""

import json
import math
from pathlib import Path

import pytest

from pipeline.compute import Device, load_devices, match_device, slice_chips

PHRASES = Path(__file__).resolve().parents[2] / ".." / "shared" / "realworld" / "compute_phrases.jsonl"


@pytest.mark.parametrize("device", load_devices().device, ids=lambda d: d.id)
def test_every_factor_lies_in_its_interval_and_names_its_source(device):
    assert device.low <= device.factor <= device.high
    assert device.source
    assert device.basis


@pytest.mark.parametrize("device", load_devices().device, ids=lambda d: d.id)
def test_every_alias_names_its_device_alone(device):
    for alias in device.aliases:
        found = match_device(alias)
        assert found is not None
        assert found.id == device.id or {found.id, device.id} <= {"a100-80-sxm", "a100-80-pcie", "a100-40", "a100"}


@pytest.mark.parametrize("device", [d for d in load_devices().device if d.tflops], ids=lambda d: d.id)
def test_a_factor_follows_from_its_peak_and_bandwidth_within_what_measurement_moved(device):
    """No factor may leave the span of peak and bandwidth ratio by more than half: a slip of the pen would."""
    peak, bandwidth = device.tflops / 989.4, device.bandwidth / 3350
    assert 0.6 * min(peak, bandwidth) <= device.factor <= 1.5 * max(math.sqrt(peak * bandwidth), peak)


def test_a_bigger_sibling_is_never_worth_less():
    factor = {d.id: d.factor for d in load_devices().device}
    for smaller, bigger in [
        ("t4", "v100"), ("p100", "v100"), ("v100", "a100"), ("a100-40", "a100"), ("a100", "a100-80-sxm"),
        ("a100-80-sxm", "h100-pcie"), ("h100-pcie", "h100-nvl"), ("h100-sxm", "h200-sxm"), ("h200-sxm", "b200"),
        ("rtx-2080-ti", "rtx-3080"), ("rtx-3080", "rtx-3090"), ("rtx-3090", "rtx-4090"), ("rtx-4090", "rtx-5090"),
        ("tpu-v2", "tpu-v3"), ("tpu-v3", "tpu-v4"), ("tpu-v5e", "tpu-v5p"), ("cpu", "m1-max"),
    ]:  # fmt: skip
        assert factor[smaller] < factor[bigger], (smaller, bigger)


@pytest.mark.parametrize(
    ("phrase", "device"),
    [
        (r"a single NVIDIA H100 GPU (80\,GB)", "h100-sxm"),
        (r"8$\times$A100-80GB", "a100-80-sxm"),
        ("8xA100", "a100"),
        ("8×H100s", "h100-sxm"),
        ("A100 (80 GB)", "a100-80-sxm"),
        ("80GB A100", "a100-80-sxm"),
        ("A100-SXM4-40GB", "a100-40"),
        ("NVIDIA A100~80GB PCIe", "a100-80-pcie"),
        ("two A100s", "a100"),
        ("A800 80GB", "a100-80-sxm"),
        ("8 NVIDIA H800 GPUs", "h800-sxm"),
        ("H100 PCIe", "h100-pcie"),
        ("H100 NVL", "h100-nvl"),
        ("8 16GB Nvidia P100", "p100"),
        ("NVIDIA GTX 2080 ti GPU", "rtx-2080-ti"),
        ("2080Ti", "rtx-2080-ti"),
        ("RTX-3090", "rtx-3090"),
        ("NVIDIA® GeForce RTX™ 4090", "rtx-4090"),
        ("four 3090 GPUs", "rtx-3090"),
        ("NVIDIA RTX A6000", "a6000"),
        ("RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("Google Cloud TPU v3-8", "tpu-v3"),
        ("TPUv4-32", "tpu-v4"),
        ("A100 with an AMD EPYC CPU host", "a100"),
        ("Intel Xeon CPU", "cpu"),
        ("M1 Pro (CPU only)", "cpu"),
        ("Tesla T4", "t4"),
    ],
)
def test_a_phrase_names_a_device(phrase, device):
    found = match_device(phrase)
    assert found is not None
    assert found.id == device


@pytest.mark.parametrize(
    "phrase",
    [
        "the output layer",
        r"\cite{zinkevich2003}",
        r"\imagestartx",
        "3090 samples",
        "appendix t4",
        "RTX 3090 Ti",
        "RTX 3090Ti",
        "RTX 4090D",
        "RTX 4090 Laptop GPU",
        "RTX 6000",
        "H20",
        "A10G",
        "AMD MI250",
        "our internal cluster",
        "",
        "GPU",
    ],
)
def test_what_is_no_device_or_not_in_the_table_is_not_guessed(phrase):
    assert match_device(phrase) is None


def test_two_devices_in_one_phrase_are_no_device():
    assert match_device("two A100 GPUs and a V100") is None


@pytest.mark.parametrize(
    ("phrase", "chips"),
    [("TPU v3-8", 4), ("TPUv2-32", 16), ("TPU v4-32", 16), ("TPU v5e-8", 8), ("TPU v5p-8", 4), ("TPU v6e-16", 16)],
)
def test_a_slice_counts_cores_or_chips_by_its_generation(phrase, chips):
    assert slice_chips(phrase) == chips


@pytest.mark.parametrize("phrase", ["TPU v3", "A100", "v3-8", ""])
def test_what_is_no_slice_has_no_chips(phrase):
    assert slice_chips(phrase) is None


def test_a_device_whose_factor_leaves_its_interval_is_refused_by_id():
    with pytest.raises(ValueError, match="device x: factor 3"):
        Device(id="x", name="X", kind="gpu", aliases=("X",), factor=3, low=1, high=2, source="s", basis="b")


@pytest.mark.skipif(not PHRASES.is_file(), reason="the collected compute statements lie in ../shared")
def test_collected_statements_name_the_devices_their_reader_saw():
    seen = {"H100": "h100-sxm", "2080 Ti": "rtx-2080-ti", "A100": "a100", "T4": "t4", "P100": "p100", "V100": "v100"}
    checked = 0
    for line in PHRASES.read_text(encoding="utf-8").splitlines():
        statement = json.loads(line)
        names = [device for word, device in seen.items() if word.casefold() in statement["quote"].casefold()]
        if len(names) == 1:
            found = match_device(statement["quote"])
            assert found is not None, statement["quote"]
            assert found.id == names[0]
            checked += 1
    assert checked >= 9
