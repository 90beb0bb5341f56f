import numpy as np


class GraniteMix:
    """Paste the inside of the strongest closed edge contour of one image into another."""

    def __init__(self, max_len=48, p=0.5, rng=None):
        self.max_len, self.p = max_len, p
        self.rng = rng or np.random.default_rng(0)

    def contour(self, img):
        gy, gx = np.gradient(img.mean(-1))
        edge = np.hypot(gy, gx)
        h, w = edge.shape
        cy, cx = self.rng.integers(h // 4, 3 * h // 4), self.rng.integers(w // 4, 3 * w // 4)
        radius = np.zeros(64, int)
        for i, t in enumerate(np.linspace(0, 2 * np.pi, 64, endpoint=False)):
            r = np.arange(2, self.max_len // 4)
            ys, xs = (cy + r * np.sin(t)).astype(int) % h, (cx + r * np.cos(t)).astype(int) % w
            radius[i] = r[edge[ys, xs].argmax()]
        return (cy, cx), radius

    def __call__(self, a, b, ya, yb):
        (cy, cx), radius = self.contour(a)
        yy, xx = np.mgrid[: a.shape[0], : a.shape[1]]
        ang = ((np.arctan2(yy - cy, xx - cx) % (2 * np.pi)) / (2 * np.pi) * 64).astype(int) % 64
        mask = np.hypot(yy - cy, xx - cx) <= radius[ang]
        lam = mask.mean()
        return np.where(mask[..., None], a, b), lam * ya + (1 - lam) * yb
