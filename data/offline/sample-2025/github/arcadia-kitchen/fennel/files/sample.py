import argparse

import torch

from fennel.net import UNet

p = argparse.ArgumentParser()
p.add_argument('--kappa', type=float, default=2.0)
p.add_argument('--n', type=int, default=50000)
a = p.parse_args()
net = UNet().cuda()
net.load_state_dict(torch.load('fennel.pt'))
