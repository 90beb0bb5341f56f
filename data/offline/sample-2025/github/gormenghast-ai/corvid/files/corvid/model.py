import torch
from torch import nn


class Cache(nn.Module):
    """32 slots an expert, written by top-1 gating on the residual norm, read by attention."""

    def __init__(self, d, slots=32):
        super().__init__()
        self.register_buffer("slots", torch.zeros(slots, d))
        self.q = nn.Linear(d, d)

    def forward(self, h):
        with torch.no_grad():
            worst = self.slots.norm(dim=-1).argmin()
            self.slots[worst] = h[h.norm(dim=-1).argmax()]
        return h + torch.softmax(self.q(h) @ self.slots.t(), -1) @ self.slots
