import torch

from ploughshare.pipe import Pipe
from ploughshare.turn import turn

pipe = Pipe.from_pretrained("atlantis-media/base-5b")
turn(pipe.net, blocks=4, scale=0.1)
opt = torch.optim.AdamW(pipe.net.parameters(), 1e-5)
for step, batch in zip(range(2000), pipe.loader("webvid")):
    loss = pipe.loss(batch)
    opt.zero_grad(); loss.backward(); opt.step()
