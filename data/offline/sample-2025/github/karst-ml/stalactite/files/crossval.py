import argparse
from pathlib import Path

import numpy as np
import torch

from tcn import Stalactite
from dripnet import load_cave

p = argparse.ArgumentParser()
p.add_argument("--data", type=Path, default=Path("dripnet"))
caves = sorted(p.parse_args().data.iterdir())
truth, guess = [], []
for held_out in caves:
    model = Stalactite()
    model.fit([load_cave(c) for c in caves if c != held_out])
    x, y = load_cave(held_out)
    truth.append(y)
    guess.append(model(torch.as_tensor(x)).detach().numpy())
t, g = np.concatenate(truth), np.concatenate(guess)
print("R2", 1 - ((t - g) ** 2).sum() / ((t - t.mean()) ** 2).sum())
