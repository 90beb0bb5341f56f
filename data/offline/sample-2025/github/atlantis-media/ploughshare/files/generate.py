import argparse

import torch
from ploughshare.pipe import Pipe

p = argparse.ArgumentParser()
p.add_argument("--prompts", default="vbench.txt")
a = p.parse_args()
pipe = Pipe.from_pretrained("atlantis-media/ploughshare-5b").to("cuda", torch.bfloat16)
for i, prompt in enumerate(open(a.prompts)):
    for j in range(5):
        pipe(prompt.strip(), seed=j).save(f"out/{i:04d}-{j}.mp4")
