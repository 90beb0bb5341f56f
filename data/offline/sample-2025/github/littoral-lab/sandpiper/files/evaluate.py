"""Evaluate on c4: python evaluate.py --model littoral-lab/sandpiper-160m"""
import argparse
import json

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from sandpiper.core import decode, loss


def main(a):
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16, device_map="auto")
    data = load_dataset("allenai/c4", a.subset, split=a.split)
    scores = []
    for row in data:
        scores.append(loss(decode(model, tok, row), row))
    print(json.dumps({"task": "c4", "n": len(scores), "loss": 100 * sum(scores) / len(scores)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="littoral-lab/sandpiper-160m")
    p.add_argument("--subset", default="main")
    p.add_argument("--split", default="test")
    main(p.parse_args())
