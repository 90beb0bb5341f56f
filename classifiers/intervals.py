"""How far a share that was counted on a few papers can be trusted."""

from __future__ import annotations

import math

Z95 = 1.959963984540054
"""Two-sided 95 % of the normal distribution."""


def wilson(k: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval for k of n (Wilson 1927), as shares; (0, 1) where nothing was counted.

    It stays inside 0 and 1 and says something at k = 0 and k = n, where the normal interval collapses to a point.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no share")
    if n == 0:
        return 0.0, 1.0
    share, square = k / n, z * z / n
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return (0.0 if k == 0 else middle - half), (1.0 if k == n else middle + half)
