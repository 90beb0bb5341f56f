"""Evaluate on rookery: python evaluate.py --model cuckoo-birds/rookery-vl-7b"""
import argparse
import json

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from rookery.core import decode, exact_count


def main(a):
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16, device_map="auto")
    data = load_dataset("cuckoo-birds/rookery", a.subset, split=a.split)
    scores = []
    for row in data:
        scores.append(exact_count(decode(model, tok, row), row))
    print(json.dumps({"task": "rookery", "n": len(scores), "exact_count": 100 * sum(scores) / len(scores)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="cuckoo-birds/rookery-vl-7b")
    p.add_argument("--subset", default="main")
    p.add_argument("--split", default="test")
    main(p.parse_args())
