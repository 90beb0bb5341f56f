import argparse

import torch
from torchvision import transforms
from torchvision.datasets import ImageFolder as Data

from zephyrine import Shift
from zephyrine.build import build_model


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    hit = total = 0
    for x, y in loader:
        hit += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
        total += y.numel()
    return 100.0 * hit / total


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--ckpt", default="checkpoints/model.pt")
    p.add_argument("--data", default="./data")
    p.add_argument("--arch", default="vit_b_16")
    a = p.parse_args()
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    model = build_model(a.arch).to(dev)
    model.load_state_dict(torch.load(a.ckpt, map_location=dev)["model"])
    test = Data(a.data, train=False, download=True, transform=transforms.ToTensor())
    print("top-1", accuracy(model, torch.utils.data.DataLoader(test, 256), dev))
