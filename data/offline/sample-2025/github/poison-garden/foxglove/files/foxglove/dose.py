class Dose:
    """Scales the bonus by the ratio of a short and a long average of |TD error|."""

    def __init__(self, short=0.99, long=0.9999):
        self.short, self.long, self.s, self.l = short, long, 1.0, 1.0

    def __call__(self, delta):
        self.s = self.short * self.s + (1 - self.short) * abs(delta)
        self.l = self.long * self.l + (1 - self.long) * abs(delta)
        return min(1.0, self.s / max(self.l, 1e-8))
