import math

import torch
from torch import nn


class ShiftTime(nn.Module):
    """Sinusoidal code of the minutes since the current nursing shift began (07:00, 19:00)."""

    def forward(self, minutes, width):
        rel = (minutes - 420) % 720
        freq = torch.exp(torch.arange(0, width, 2) * (-math.log(720.0) / width))
        ang = rel.unsqueeze(-1) * freq
        return torch.cat([ang.sin(), ang.cos()], -1)


class NightShift(nn.Module):
    def __init__(self, features=48, width=128, depth=4):
        super().__init__()
        self.width, self.time, self.inp = width, ShiftTime(), nn.Linear(features, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, depth), nn.Linear(width, 1)

    def forward(self, x, minutes):
        return self.head(self.body(self.inp(x) + self.time(minutes, self.width)).mean(1)).squeeze(-1)
