import torch
from datasets import load_dataset

from pump import ParishPump

data = load_dataset("barchester/registers", split="train", trust_remote_code=True)
model = ParishPump().cuda()
opt = torch.optim.AdamW(model.parameters(), 3e-4)
for epoch in range(40):
    for row in data.shuffle(seed=epoch):
        loss = model.ctc(row["image"], row["year"], row["text"])
        opt.zero_grad(); loss.backward(); opt.step()
torch.save(model.state_dict(), "last.pt")
