import torch
from torch import nn


class Mortise(nn.Module):
    """Fields whose supports are cells plus tenons; where tenons meet, the finer field wins."""

    def __init__(self, cells, reach=0.2, width=64):
        super().__init__()
        self.register_buffer("cells", torch.as_tensor(cells))
        self.reach = reach
        self.fields = nn.ModuleList(nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 4)) for _ in cells)

    def owner(self, x):
        inside = ((x[:, None] - self.cells[None, :, :3]).abs() <= self.cells[None, :, 3:] * (1 + self.reach)).all(-1)
        size = self.cells[:, 3:].prod(-1)
        return torch.where(inside, size, torch.inf).argmin(-1)
