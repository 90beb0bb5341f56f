import torch


class Thistle(torch.optim.Optimizer):
    """SGD with momentum, projected away from the direction of the worst step so far."""

    def __init__(self, params, lr=0.1, beta=0.9, weight_decay=5e-4):
        super().__init__(params, dict(lr=lr, beta=beta, weight_decay=weight_decay))
        self.last, self.rise, self.bad = None, 0.0, None

    @torch.no_grad()
    def step(self, loss):
        flat = []
        for g in self.param_groups:
            for p in g["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.mul_(g["beta"]).add_(p.grad + g["weight_decay"] * p)
                flat.append(m.flatten())
        m = torch.cat(flat)
        if self.last is not None and loss - self.last > self.rise:
            self.rise, self.bad = loss - self.last, m / m.norm()
        self.last = loss
        u = m if self.bad is None else m - (m @ self.bad).clamp_min(0) * self.bad
        i = 0
        for g in self.param_groups:
            for p in g["params"]:
                p.sub_(g["lr"] * u[i : i + p.numel()].view_as(p))
                i += p.numel()
