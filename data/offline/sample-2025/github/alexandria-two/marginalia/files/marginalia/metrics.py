from collections import Counter, defaultdict


def f1(a, b):
    x, y = Counter(a.lower().split()), Counter(b.lower().split())
    same = sum((x & y).values())
    return 0.0 if not same else 2 * same / (sum(x.values()) + sum(y.values()))


METRIC = defaultdict(lambda: f1)
