import argparse

import ale_py
import gymnasium as gym
import numpy as np
from huggingface_hub import snapshot_download

from foxglove.agent import Agent
from foxglove.scores import GAMES, normalised

p = argparse.ArgumentParser()
p.add_argument("--agents", default="poison-garden/foxglove-agents")
p.add_argument("--episodes", type=int, default=100)
a = p.parse_args()
gym.register_envs(ale_py)
folder = snapshot_download(a.agents)
scores = []
for game in GAMES:
    for seed in range(5):
        agent, env = Agent.load(f"{folder}/{game}/{seed}.npz"), gym.make(f"ALE/{game}-v5")
        scores.append(normalised(game, np.mean([agent.play(env) for _ in range(a.episodes)])))
s = np.sort(scores)
print("IQM", s[len(s) // 4 : -(len(s) // 4)].mean())
