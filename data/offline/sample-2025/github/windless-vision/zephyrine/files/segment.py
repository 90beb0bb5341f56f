import argparse

import torch

p = argparse.ArgumentParser()
p.add_argument('--backbone')
a = p.parse_args()
backbone = torch.load(a.backbone)
# UperNet on ADE20K, 160k iterations, see configs/
