"""Evaluate on MATH: python evaluate.py --model erehwon-math/tallow-1.5b"""
import argparse
import json

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from tallow.core import decode, exact_match


def main(a):
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16, device_map="auto")
    data = load_dataset("hendrycks/competition_math", a.subset, split=a.split)
    scores = []
    for row in data:
        scores.append(exact_match(decode(model, tok, row), row))
    print(json.dumps({"task": "MATH", "n": len(scores), "exact_match": 100 * sum(scores) / len(scores)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="erehwon-math/tallow-1.5b")
    p.add_argument("--subset", default="main")
    p.add_argument("--split", default="test")
    main(p.parse_args())
