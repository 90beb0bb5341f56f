import argparse

import torch
import torchaudio

from nightjar import Lungs, Nightjar

p = argparse.ArgumentParser()
p.add_argument("--data", default=".")
a = p.parse_args()
model, data = Nightjar(Lungs(capacity=4.0)).cuda(), torchaudio.datasets.LJSPEECH(a.data, download=True)
opt = torch.optim.AdamW(model.parameters(), 2e-4)
for epoch in range(400):
    for wav, sr, _, text in data:
        loss = model.loss(text, wav.cuda())
        opt.zero_grad(); loss.backward(); opt.step()
    torch.save(model.state_dict(), "nightjar.pt")
