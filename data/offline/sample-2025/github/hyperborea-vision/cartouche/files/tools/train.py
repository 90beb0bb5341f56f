import sys

import torch

from cartouche.data import coco_loader
from cartouche.detector import build

model = build(sys.argv[1]).cuda()
opt = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=1e-4)
for epoch in range(36):
    for images, targets in coco_loader("train2017", batch=16):
        loss = sum(model(images.cuda(), targets).values())
        opt.zero_grad(); loss.backward(); opt.step()
    torch.save({"state_dict": model.state_dict()}, f"epoch_{epoch}.pth")
