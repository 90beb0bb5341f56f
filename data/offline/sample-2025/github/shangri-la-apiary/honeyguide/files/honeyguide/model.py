import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer


class Honeyguide(nn.Module):
    """A dual encoder with a LEAD/WAIT flag; at most three rounds."""

    def __init__(self, name):
        super().__init__()
        self.tok, self.enc = AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name)
        self.flag = nn.Linear(self.enc.config.hidden_size, 2)

    def embed(self, texts):
        h = self.enc(**self.tok(texts, padding=True, truncation=True, return_tensors="pt")).last_hidden_state[:, 0]
        return nn.functional.normalize(h, dim=-1), self.flag(h).argmax(-1)
