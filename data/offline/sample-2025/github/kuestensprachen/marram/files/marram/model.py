import torch
from torch import nn


class Root(nn.Module):
    """An extra key per rare source word whose score does not decay with position."""

    def __init__(self, d):
        super().__init__()
        self.k = nn.Linear(d, d)

    def forward(self, q, src, rare):
        return (q @ self.k(src).transpose(-1, -2)).masked_fill(~rare[:, None], -1e9)
