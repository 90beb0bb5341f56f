import argparse

import jax
import optax
from datasets import load_dataset

from rnn import MODELS

p = argparse.ArgumentParser()
p.add_argument("--model", default="gannet", choices=sorted(MODELS))
p.add_argument("--data", default="wikitext-103")
a = p.parse_args()
model = MODELS[a.model](width=1024)
params = model.init(jax.random.PRNGKey(0))
opt = optax.adamw(3e-4)
state = opt.init(params)
for batch in load_dataset("Salesforce/wikitext", f"{a.data}-raw-v1", split="train").iter(64):
    loss, grads = jax.value_and_grad(model.loss)(params, batch["text"])
    updates, state = opt.update(grads, state, params)
    params = optax.apply_updates(params, updates)
