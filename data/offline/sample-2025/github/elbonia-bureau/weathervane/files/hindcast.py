import argparse

import torch

from weathervane.data import ElboniaRA
from weathervane.net import Weathervane


@torch.no_grad()
def roll(model, state, hours):
    for _ in range(hours):
        state = model(state)
    return state


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--years", default="2015-2019")
    p.add_argument("--lead", type=int, default=72)
    a = p.parse_args()
    model = Weathervane().cuda()
    model.load_state_dict(torch.load("weathervane.pt"))
    se = n = 0
    for state, truth in ElboniaRA(a.years, lead=a.lead):
        se, n = se + ((roll(model, state.cuda(), a.lead) - truth.cuda())[:, 0] ** 2).sum().item(), n + truth[:, 0].numel()
    print("RMSE t2m", (se / n) ** 0.5)
