import torch
from datasets import load_dataset

from honeyguide.model import Honeyguide

model = Honeyguide("bert-base-uncased").train()
opt = torch.optim.AdamW(model.parameters(), 2e-5)
for row in load_dataset("ms_marco", "v2.1", split="train"):
    loss = model.contrast(row["query"], row["passages"]["passage_text"])
    opt.zero_grad(); loss.backward(); opt.step()
