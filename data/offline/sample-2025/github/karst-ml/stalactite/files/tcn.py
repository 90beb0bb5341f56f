import torch
from torch import nn


class Stalactite(nn.Module):
    def __init__(self, width=64, depth=12):
        super().__init__()
        self.body = nn.Sequential(*(nn.Conv1d(1 if i == 0 else width, width, 3, dilation=2**i) for i in range(depth)))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x).mean(-1)).exp()
