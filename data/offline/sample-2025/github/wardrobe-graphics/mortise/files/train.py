import argparse
import json

import torch

from mortise.field import Mortise
from mortise.scene import Scene

p = argparse.ArgumentParser()
p.add_argument("--scene")
p.add_argument("--steps", type=int, default=200_000)
a = p.parse_args()
scene = Scene(a.scene)
model = Mortise(scene.cells).cuda()
opt = torch.optim.Adam(model.parameters(), 5e-4)
for step in range(a.steps):
    rays, rgb = scene.batch(4096)
    loss = (model.render(rays) - rgb).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
json.dump(scene.metrics(model), open(f"{a.scene}/metrics.json", "w"))
