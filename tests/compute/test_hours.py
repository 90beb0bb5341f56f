"""From parts to hours and bands; unknown is not zero."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compute import Estimate, Part, audit_published, band, band_labels, hours, load_devices

EDGES = (8.0, 32.0, 96.0, 192.0)
_amount = st.floats(0, 1e5)


def _gpu(**changes):
    return Part(**({"kind": "train", "device": "H100", "count": 1, "wall_hours": 1.0} | changes))


def test_hours_are_devices_times_wall_times_runs_times_factor():
    estimate = hours([_gpu(device="A100 80GB", count=8, wall_hours=3, runs=2)])
    assert estimate.mid == pytest.approx(8 * 3 * 2 * 0.50)
    assert (estimate.low, estimate.high) == (pytest.approx(48 * 0.32), pytest.approx(48 * 0.60))
    assert estimate.factor_ids == ("devices-1:a100-80-sxm",)


def test_device_hours_are_not_multiplied_by_the_count():
    assert hours([_gpu(count=8, wall_hours=None, device_hours=40)]).mid == pytest.approx(40)


def test_both_wall_and_device_hours_are_refused_rather_than_chosen_between():
    estimate = hours([_gpu(device_hours=40)])
    assert estimate.unknown
    assert "both" in estimate.reason


def test_work_in_fp32_uses_the_measured_fp32_factor_and_says_so():
    estimate = hours([_gpu(device="V100", wall_hours=10, fp32=True)])
    assert estimate.mid == pytest.approx(1.2)
    assert estimate.factor_ids == ("devices-1:v100:fp32",)


def test_a_tpu_slice_counts_chips():
    assert hours([_gpu(device="TPU v3-8", wall_hours=168)]).mid == pytest.approx(4 * 168 * 0.20)
    assert hours([_gpu(device="TPU v3 cores", count=8, wall_hours=1)]).mid == pytest.approx(4 * 0.20)
    assert hours([_gpu(device="TPU v3 core", count=None, wall_hours=None, device_hours=8)]).mid == pytest.approx(0.8)


def test_parts_add_up_and_factor_ids_are_named_once():
    estimate = hours([_gpu(), _gpu(kind="eval", wall_hours=0.5), _gpu(device="A40", wall_hours=10)])
    assert estimate.mid == pytest.approx(1 + 0.5 + 2)
    assert estimate.factor_ids == ("devices-1:h100-sxm", "devices-1:a40")


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (_gpu(device="H20"), "'H20' is not in the device table"),
        (_gpu(device=""), "device of the train part is not stated"),
        (_gpu(device="A100 and V100"), "several devices"),
        (_gpu(wall_hours=None), "no time is stated"),
        (_gpu(count=None), "number of devices"),
        (_gpu(wall_hours=-1), "no amount"),
        (_gpu(wall_hours=math.nan), "no amount"),
        (_gpu(wall_hours=True), "no amount"),
        (_gpu(runs=0), "at least one"),
    ],
)
def test_what_is_unknown_has_no_hours_and_says_why(part, reason):
    estimate = hours([_gpu(), part])
    assert (estimate.low, estimate.mid, estimate.high) == (None, None, None)
    assert estimate.unknown
    assert reason in estimate.reason


def test_cpu_only_api_only_and_unknown_are_three_things():
    cpu = hours([Part(kind="train", device="laptop", cpu_only=True, wall_hours=2)])
    api = hours([Part(kind="api", device="a closed model")])
    unknown = hours([])
    assert (cpu.cpu_only, cpu.api_only, cpu.unknown, cpu.mid) == (True, False, False, pytest.approx(0.04))
    assert (api.cpu_only, api.api_only, api.unknown, api.mid) == (False, True, False, None)
    assert (unknown.cpu_only, unknown.api_only, unknown.unknown, unknown.mid) == (False, False, True, None)


def test_a_cpu_beside_a_gpu_part_is_not_cpu_only():
    assert not hours([Part(kind="eval", device="CPU", wall_hours=1), _gpu()]).cpu_only


def test_cores_of_a_cpu_are_a_share_of_a_socket():
    assert hours([Part(kind="train", device="32-core Xeon CPU", wall_hours=10)]).mid == pytest.approx(0.1)


def test_an_api_part_costs_no_hours_beside_others():
    assert hours([_gpu(), Part(kind="api")]).mid == pytest.approx(1)


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            _gpu,
            device=st.sampled_from([d.aliases[0] for d in load_devices().device]),
            count=st.integers(1, 512),
            wall_hours=_amount,
            runs=st.integers(1, 20),
            fp32=st.booleans(),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_the_interval_is_ordered_and_parts_only_add(parts):
    whole = hours(parts)
    assert not whole.unknown
    assert 0 <= whole.low <= whole.mid * (1 + 1e-9)
    assert whole.mid <= whole.high * (1 + 1e-9)
    assert sum(hours([p]).mid for p in parts) == pytest.approx(whole.mid)


def test_an_interval_that_reaches_over_an_edge_is_said_to_cross_it():
    assert Estimate(low=7, mid=7.5, high=9).crosses(EDGES)
    assert not Estimate(low=8.5, mid=9, high=10).crosses(EDGES)
    assert not Estimate(low=7, mid=7.5, high=8).crosses(EDGES)
    assert not Estimate(low=None, mid=None, high=None, unknown=True).crosses(EDGES)


def test_bands_are_closed_and_the_first_match_wins():
    assert [band(h, EDGES) for h in (0, 8, 8.0001, 32, 96, 192, 192.1)] == [
        *("0-8", "0-8", "8-32", "8-32", "32-96", "96-192"),
        None,
    ]
    assert band_labels((8, 24.5)) == ("0-8", "8-24.5")


@pytest.mark.parametrize("hours_", [None, True, False, -1, math.nan, math.inf])
def test_what_is_no_number_of_hours_has_no_band(hours_):
    assert band(hours_, EDGES) is None


@settings(deadline=None)
@given(_amount, _amount)
def test_more_hours_never_fall_into_a_cheaper_band(a, b):
    order = [*band_labels(EDGES), None]
    low, high = sorted((a, b))
    assert order.index(band(low, EDGES)) <= order.index(band(high, EDGES))


def _audit(stated, count, wall, multiplier, **more):
    return audit_published(
        stated=stated, count=count, wall_hours=wall, multiplier=multiplier,
        **({"basis_kind": "derived_from_config"} | more),
    )  # fmt: skip


def test_the_published_audit_corrects_what_differs_by_more_than_a_fifth():
    fine, off = _audit(10, 1, 12, 1.0), _audit(10, 1, 13, 1.0)
    assert (fine.mismatch, fine.adjudicated, fine.audited, fine.needs_review) == (False, False, 10, False)
    assert (off.mismatch, off.adjudicated, off.audited, off.needs_review) == (True, True, 13, True)


def test_the_published_audit_keeps_what_has_a_large_multiplier_or_is_on_the_list():
    assert _audit(10, 1, 13, 1.2).audited == 10
    assert _audit(10, 1, 13, 1.1).audited == pytest.approx(14.3)
    assert _audit(10, 1, 13, 1.0, keep_stated=True).audited == 10


@pytest.mark.parametrize(
    ("count", "wall", "multiplier"), [(None, 1, 1), (0, 1, 1), (1, None, 1), (1, -1, 1), (1, 1, 0)]
)
def test_what_the_published_audit_cannot_recompute_goes_to_a_person(count, wall, multiplier):
    audit = _audit(10, count, wall, multiplier)
    assert (audit.recomputed, audit.mismatch, audit.needs_review, audit.audited) == (None, None, True, 10)


def test_an_unspecified_basis_goes_to_a_person_even_if_it_adds_up():
    assert _audit(10, 1, 10, 1.0, basis_kind="compute_unspecified").needs_review


def test_two_zeros_do_not_mismatch():
    assert _audit(0, 1, 0, 1.0).mismatch is False
