import argparse

import torch
from torchvision import transforms
from torchvision.datasets import CIFAR10

from fennel.net import UNet
from fennel.schedule import feather

p = argparse.ArgumentParser()
p.add_argument("--kappa", type=float, default=2.0)
a = p.parse_args()
net = UNet().cuda()
opt = torch.optim.Adam(net.parameters(), 2e-4)
data = CIFAR10("data", download=True, transform=transforms.ToTensor())
for epoch in range(2000):
    for x, _ in torch.utils.data.DataLoader(data, 128, shuffle=True):
        x = 2 * x.cuda() - 1
        t, noise = torch.rand(len(x), device="cuda"), torch.randn_like(x)
        alpha, sigma = feather(x, t, a.kappa)
        loss = (net(alpha * x + sigma * noise, t) - noise).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
torch.save(net.state_dict(), "fennel.pt")
