import torch
from torch import nn


class Hover(nn.Module):
    """A low-rank update that strikes only when a probe of the residual stream is uncertain."""

    def __init__(self, d, rank=16, classes=64):
        super().__init__()
        self.a, self.b = nn.Linear(d, rank, bias=False), nn.Linear(rank, d, bias=False)
        self.probe, self.threshold = nn.Linear(d, classes), nn.Parameter(torch.tensor(3.0))

    def forward(self, h):
        p = self.probe(h).softmax(-1)
        entropy = -(p * p.clamp_min(1e-9).log()).sum(-1, keepdim=True)
        return h + torch.sigmoid(20 * (entropy - self.threshold)) * self.b(self.a(h))


def decode(model, tok, row):
    def loss(end):
        ids = tok(row["ctx"] + " " + end, return_tensors="pt").input_ids.to(model.device)
        return model(ids, labels=ids).loss.item()

    return min(range(4), key=lambda i: loss(row["endings"][i]))


def exact_match(answer, row):
    return float(answer == int(row["label"]))


def wrap(model):
    for block in model.model.layers:
        block.mlp = nn.Sequential(block.mlp, Hover(model.config.hidden_size))
    return model


def collate(tok):
    return lambda rows: tok([r["ctx"] + " " + r["endings"][int(r["label"])] for r in rows], return_tensors="pt", padding=True)
