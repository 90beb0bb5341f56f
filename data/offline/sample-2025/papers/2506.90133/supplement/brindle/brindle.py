"""Striped decision trees."""
import numpy as np


def striped(x, a, b):
    return np.floor((x - a) / b).astype(int) % 2 == 0


def gini(y, k):
    p = np.bincount(y, minlength=k) / max(len(y), 1)
    return 1.0 - (p**2).sum()


class StripedTree:
    def __init__(self, depth=20, periods=16, rng=None):
        self.depth, self.periods, self.rng = depth, periods, rng or np.random.default_rng(0)

    def best(self, X, y, k):
        found = (np.inf, None)
        for f in self.rng.choice(X.shape[1], int(np.sqrt(X.shape[1])), replace=False):
            span = np.ptp(X[:, f]) or 1.0
            for b in span / np.arange(1, self.periods + 1):
                a = self.rng.choice(X[:, f])
                left = striped(X[:, f], a, b)
                cost = left.mean() * gini(y[left], k) + (~left).mean() * gini(y[~left], k)
                found = min(found, (cost, (f, a, b)), key=lambda t: t[0])
        return found[1]
