import torch
from torch import nn


class Lungs(nn.Module):
    """Empties with the energy of each frame, refills in pauses; returns the air left."""

    def __init__(self, capacity):
        super().__init__()
        self.capacity, self.rate = capacity, nn.Parameter(torch.tensor(0.3))

    def forward(self, energy):
        air, out = torch.full_like(energy[:, 0], self.capacity), []
        for e in energy.unbind(1):
            air = torch.where(e < 0.05, air + self.rate, air - e).clamp(0, self.capacity)
            out.append(air)
        return torch.stack(out, 1)


class Nightjar(nn.Module):
    def __init__(self, lungs, width=384):
        super().__init__()
        self.lungs, self.text = lungs, nn.Embedding(128, width)
        self.decoder = nn.GRU(width + 1, width, 2, batch_first=True)
        self.mel = nn.Linear(width, 80)
