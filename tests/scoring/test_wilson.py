"""Wilson's interval against published values and its own laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.scoring import wilson


def test_the_interval_is_the_published_one() -> None:
    # Brown, Cai and DasGupta (2001) give these for 95 %; 0 of 10 ends at 0.2775, 5 of 10 at 0.2366 and 0.7634.
    assert wilson(0, 10) == pytest.approx((0.0, 0.27753), abs=1e-4)
    assert wilson(5, 10) == pytest.approx((0.23659, 0.76341), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.72247, 1.0), abs=1e-4)


def test_nothing_counted_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_more_hits_than_tries_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_share_and_narrows_with_n(kn: tuple[int, int]) -> None:
    k, n = kn
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1
    wide, narrow = high - low, wilson(4 * k, 4 * n)[1] - wilson(4 * k, 4 * n)[0]
    assert narrow < wide
    mirrored = wilson(n - k, n)
    assert mirrored[0] == pytest.approx(1 - high)
    assert mirrored[1] == pytest.approx(1 - low)
