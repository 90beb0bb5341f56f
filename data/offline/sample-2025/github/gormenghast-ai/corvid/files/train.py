import torch
from datasets import load_dataset

from corvid.model import Corvid

model = Corvid().cuda()
opt = torch.optim.AdamW(model.parameters(), 6e-4, betas=(0.9, 0.95))
for row in load_dataset("Skylion007/openwebtext", split="train", streaming=True):
    loss = model.loss(row["text"])
    opt.zero_grad(); loss.backward(); opt.step()
