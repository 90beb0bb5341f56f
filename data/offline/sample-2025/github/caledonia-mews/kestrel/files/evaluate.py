"""Evaluate on hellaswag: python evaluate.py --model caledonia-mews/kestrel-qwen2.5-7b"""
import argparse
import json

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from kestrel.core import decode, exact_match


def main(a):
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16, device_map="auto")
    data = load_dataset("Rowan/hellaswag", a.subset, split=a.split)
    scores = []
    for row in data:
        scores.append(exact_match(decode(model, tok, row), row))
    print(json.dumps({"task": "hellaswag", "n": len(scores), "exact_match": 100 * sum(scores) / len(scores)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="caledonia-mews/kestrel-qwen2.5-7b")
    p.add_argument("--subset", default="main")
    p.add_argument("--split", default="test")
    main(p.parse_args())
