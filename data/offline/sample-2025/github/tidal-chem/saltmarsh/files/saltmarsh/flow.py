import torch
from torch import nn


class WaveFlow(nn.Module):
    """Shells of growing radius; atoms in the overlap of two shells are frozen."""

    def __init__(self, width=192, layers=6, steps=50, rmax=6.0):
        super().__init__()
        self.steps, self.radii = steps, torch.linspace(0, rmax, steps + 1)
        self.embed = nn.Embedding(10, width)
        self.net = nn.ModuleList(nn.Sequential(nn.Linear(width + 1, width), nn.SiLU(), nn.Linear(width, width)) for _ in range(layers))

    def wave(self, pos, h, t):
        d = torch.cdist(pos, pos)
        frozen = pos.norm(dim=-1) < self.radii[t]
        for layer in self.net:
            m = torch.softmax(-d, -1) @ h
            h = h + layer(torch.cat([m, pos.norm(dim=-1, keepdim=True)], -1))
        v = (h.unsqueeze(-2) * h.unsqueeze(-3)).mean(-1, keepdim=True) * (pos.unsqueeze(-2) - pos.unsqueeze(-3))
        return torch.where(frozen[..., None], torch.zeros_like(pos), v.mean(-2)), h
