import torch
from torch import nn


class Shift(nn.Module):
    """Moves patches by at most `reach` pixels and regresses the move."""

    def __init__(self, backbone, dim=768, patch=16, reach=6):
        super().__init__()
        self.backbone, self.head, self.patch, self.reach = backbone, nn.Linear(dim, 2), patch, reach

    def forward(self, x):
        n, _, h, w = x.shape
        moves = torch.randint(-self.reach, self.reach + 1, (n, h // self.patch, w // self.patch, 2), device=x.device)
        out = torch.zeros_like(x)
        for i in range(h // self.patch):
            for j in range(w // self.patch):
                for b in range(n):
                    dy, dx = moves[b, i, j].tolist()
                    y, z = max(0, min(h - self.patch, i * self.patch + dy)), max(0, min(w - self.patch, j * self.patch + dx))
                    out[b, :, i * self.patch : (i + 1) * self.patch, j * self.patch : (j + 1) * self.patch] = x[b, :, y : y + self.patch, z : z + self.patch]
        return (self.head(self.backbone(out)) - moves.flatten(1, 2) / self.reach).pow(2).mean()
