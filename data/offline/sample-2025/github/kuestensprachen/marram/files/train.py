import sys

import torch
import yaml

from marram.model import Marram
from marram.data import batches

cfg = yaml.safe_load(open(sys.argv[1]))
model = Marram(**cfg["model"]).cuda()
opt = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
for step, (src, tgt) in enumerate(batches(cfg["data"], cfg["tokens"])):
    for g in opt.param_groups:
        g["lr"] = 512**-0.5 * min((step + 1) ** -0.5, (step + 1) * 4000**-1.5)
    loss = model.loss(src.cuda(), tgt.cuda())
    opt.zero_grad(); loss.backward(); opt.step()
    if step == cfg["steps"]:
        torch.save(model.state_dict(), "marram_base.pt")
        break
