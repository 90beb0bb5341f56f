import argparse

import harboursim  # licensed
import torch

from bowline.policy import KnotPolicy

p = argparse.ArgumentParser()
p.add_argument("--scenarios", default="storm.hsp")
env = harboursim.Env(p.parse_args().scenarios, licence="licence.key")
policy = KnotPolicy(env.observation_size)
opt = torch.optim.Adam(policy.parameters(), 3e-4)
for episode in range(200_000):
    logp, reward = policy.episode(env)
    loss = -(logp * (reward - policy.baseline)).sum()
    opt.zero_grad(); loss.backward(); opt.step()
