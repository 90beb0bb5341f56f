import argparse

import torch
from huggingface_hub import hf_hub_download

from saltmarsh.flow import WaveFlow
from saltmarsh.metrics import valid_unique

p = argparse.ArgumentParser()
p.add_argument("--n", type=int, default=10_000)
p.add_argument("--seed", type=int, default=0)
a = p.parse_args()
torch.manual_seed(a.seed)
flow = WaveFlow.load(hf_hub_download("tidal-chem/saltmarsh-qm9", "model.safetensors"))
print(valid_unique(flow.sample(a.n)))
