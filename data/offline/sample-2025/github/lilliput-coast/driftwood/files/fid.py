import sys

import numpy as np
from scipy.linalg import sqrtm


def fid(m1, c1, m2, c2):
    return float(((m1 - m2) ** 2).sum() + np.trace(c1 + c2 - 2 * sqrtm(c1 @ c2).real))


if __name__ == "__main__":
    a, b = (np.load(p) for p in sys.argv[1:3])
    print("FID", fid(a["mu"], a["sigma"], b["mu"], b["sigma"]))
