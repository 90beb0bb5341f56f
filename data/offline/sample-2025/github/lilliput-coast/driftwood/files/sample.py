import argparse

import numpy as np
import torch
import torch.distributed as dist

from driftwood.net import load


@torch.no_grad()
def sample(net, grid, y, guidance=1.5):
    x = torch.randn(len(y), 4, 32, 32, device="cuda")
    null = torch.full_like(y, 1000)
    for t0, t1 in zip(grid[:-1], grid[1:]):
        eps = net(x, t0, y)
        eps = eps + (guidance - 1) * (eps - net(x, t0, null))
        x = x + (t1 - t0) * eps
    return x


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    for name, default in (("grid", "grids.npz"), ("out", "samples"), ("ckpt", "driftwood_in256.pt")):
        p.add_argument("--" + name, default=default)
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--n", type=int, default=50_000)
    a = p.parse_args()
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    net, vae = load(a.ckpt)
    grid = torch.tensor(np.load(a.grid)[f"s{a.steps}"], device="cuda")
    for i in range(rank, a.n // 64, world):
        y = torch.arange(i * 64, i * 64 + 64, device="cuda") % 1000
        torch.save(vae.decode(sample(net, grid, y)).cpu(), f"{a.out}/{i}.pt")
