import argparse

import torch
import torch.nn.functional as F
import yaml

from zephyrine import Shift
from zephyrine.build import build_model
from zephyrine.data import loaders


def main(cfg):
    torch.manual_seed(cfg["seed"])
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    model = build_model(cfg["arch"]).to(dev)
    opt = torch.optim.SGD(model.parameters(), cfg["lr"], momentum=0.9, weight_decay=cfg["weight_decay"])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg["epochs"])
    train, _ = loaders(cfg)
    for epoch in range(cfg["epochs"]):
        model.train()
        for x, y in train:
            loss = F.cross_entropy(model(x.to(dev)), y.to(dev))
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
    torch.save({"model": model.state_dict(), "cfg": cfg}, "model.pt")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("config")
    main(yaml.safe_load(open(p.parse_args().config)))
