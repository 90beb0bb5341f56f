import torch

from weathervane.data import ElboniaRA
from weathervane.net import Weathervane

model = Weathervane().cuda()
opt = torch.optim.AdamW(model.parameters(), 1e-4)
for epoch in range(60):
    for state, truth in ElboniaRA("1990-2012", lead=1):
        loss = (model(state.cuda()) - truth.cuda()).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
torch.save(model.state_dict(), "weathervane.pt")
