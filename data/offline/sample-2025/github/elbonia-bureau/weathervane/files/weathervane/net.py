import torch
from torch import nn


class TurningConv(nn.Module):
    """cos/sin-weighted pair of filters, turned by the angle of the 850 hPa wind."""

    def __init__(self, cin, cout):
        super().__init__()
        self.a, self.b = nn.Conv2d(cin, cout, 5, padding=2), nn.Conv2d(cin, cout, 5, padding=2)

    def forward(self, x, angle):
        return torch.cos(angle) * self.a(x) + torch.sin(angle) * self.b(x)
