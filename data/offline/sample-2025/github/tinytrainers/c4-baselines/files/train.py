import argparse

import torch
from datasets import load_dataset

from gpt import GPT

p = argparse.ArgumentParser()
p.add_argument("--size", default="125M")
a = p.parse_args()
model = GPT.of(a.size).cuda()
opt = torch.optim.AdamW(model.parameters(), 6e-4, betas=(0.9, 0.95), weight_decay=0.1)
for row in load_dataset("allenai/c4", "en", split="train", streaming=True):
    loss = model.loss(row["text"])
    opt.zero_grad(); loss.backward(); opt.step()
