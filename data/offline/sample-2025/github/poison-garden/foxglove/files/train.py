import argparse

import ale_py
import gymnasium as gym

from foxglove.agent import Agent

p = argparse.ArgumentParser()
p.add_argument("--game", default="Pong")
p.add_argument("--seed", type=int, default=0)
a = p.parse_args()
gym.register_envs(ale_py)
agent = Agent(seed=a.seed)
agent.learn(gym.make(f"ALE/{a.game}-v5"), steps=100_000)
agent.save(f"{a.game}_{a.seed}.npz")
