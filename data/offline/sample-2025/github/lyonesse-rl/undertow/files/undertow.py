import torch
from torch import nn


def mlp(i, o, h=256):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class Undertow(nn.Module):
    def __init__(self, s, a, critics=10):
        super().__init__()
        self.pi, self.beta = mlp(s, a), mlp(s, a)
        self.q = nn.ModuleList(mlp(s + a, 1) for _ in range(critics))

    def actor_loss(self, obs, lam):
        act = torch.tanh(self.pi(obs))
        q = torch.stack([f(torch.cat([obs, act], -1)) for f in self.q])
        push = q.std(0) * (act - self.beta(obs)).norm(dim=-1, keepdim=True)
        return -(q.min(0).values + lam * push).mean()
