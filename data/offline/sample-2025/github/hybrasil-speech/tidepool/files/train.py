import sys

import torch
import torchaudio
import yaml

from tidepool.model import Tidepool

cfg = yaml.safe_load(open(sys.argv[1]))
model = Tidepool(**cfg["model"])
opt = torch.optim.AdamW(model.parameters(), cfg["lr"])
sets = [torchaudio.datasets.LIBRISPEECH("./data", url=u, download=True) for u in cfg["train"]]
for epoch in range(cfg["epochs"]):
    for wav, _, text, *_ in torch.utils.data.ConcatDataset(sets):
        loss = model.ctc(wav, text)
        opt.zero_grad()
        loss.backward()
        opt.step()
torch.save(model.state_dict(), "exp/tidepool_15m.ckpt")
