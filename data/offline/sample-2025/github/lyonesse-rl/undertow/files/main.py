import argparse

import d4rl  # noqa: F401
import gym
import torch

from undertow import Undertow

p = argparse.ArgumentParser()
p.add_argument("--env", default="hopper-medium-v2")
p.add_argument("--seed", type=int, default=0)
p.add_argument("--steps", type=int, default=1_000_000)
a = p.parse_args()
torch.manual_seed(a.seed)
env = gym.make(a.env)
data = d4rl.qlearning_dataset(env)
agent = Undertow(env.observation_space.shape[0], env.action_space.shape[0])
for step in range(a.steps):
    agent.update(data, lam=max(0.0, 1 - step / 500_000))
    if step % 10_000 == 0:
        print(step, 100 * env.get_normalized_score(agent.rollout(env, 10)))
