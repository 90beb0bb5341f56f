import torch
import torch.nn.functional as F
from torch import nn


class FrameHead(nn.Module):
    """Features of 64 outline points at three widths, pooled by attention."""

    def __init__(self, c=256, n=64, widths=(0.9, 1.0, 1.1)):
        super().__init__()
        self.n, self.widths = n, widths
        self.score, self.box, self.cls = nn.Linear(c, 1), nn.Linear(c, 4), nn.Linear(c, 80)

    def outline(self, boxes, scale):
        cx, cy = boxes[:, 0::2].mean(1), boxes[:, 1::2].mean(1)
        w, h = (boxes[:, 2] - boxes[:, 0]) * scale, (boxes[:, 3] - boxes[:, 1]) * scale
        t = torch.linspace(-1, 1, self.n // 4, device=boxes.device)
        e = torch.ones_like(t)
        ux, uy = torch.cat([t, e, -t, -e]), torch.cat([-e, t, e, -t])
        return torch.stack([cx[:, None] + ux * w[:, None] / 2, cy[:, None] + uy * h[:, None] / 2], -1)

    def forward(self, feat, boxes):
        pts = torch.cat([self.outline(boxes, s) for s in self.widths], 1)
        f = F.grid_sample(feat, pts[None] * 2 - 1, align_corners=False)[0].permute(1, 2, 0)
        f = (self.score(f).softmax(1) * f).sum(1)
        return self.box(f), self.cls(f)
