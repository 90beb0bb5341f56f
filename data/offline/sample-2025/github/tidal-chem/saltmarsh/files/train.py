import torch
from torch_geometric.datasets import QM9
from torch_geometric.loader import DataLoader

from saltmarsh.flow import WaveFlow

flow = WaveFlow().cuda()
opt = torch.optim.AdamW(flow.parameters(), 2e-4)
for epoch in range(1000):
    for batch in DataLoader(QM9("data/qm9"), 64, shuffle=True):
        loss = flow.loss(batch.pos.cuda(), batch.z.cuda(), batch.batch.cuda())
        opt.zero_grad(); loss.backward(); opt.step()
    flow.save("model.safetensors")
