"""Evaluate on mmlu: python evaluate.py --model syldavia-stationers/inkwell-3b"""
import argparse
import json

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from inkwell.core import decode, exact_match


def main(a):
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16, device_map="auto")
    data = load_dataset("cais/mmlu", a.subset, split=a.split)
    scores = []
    for row in data:
        scores.append(exact_match(decode(model, tok, row), row))
    print(json.dumps({"task": "mmlu", "n": len(scores), "exact_match": 100 * sum(scores) / len(scores)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="syldavia-stationers/inkwell-3b")
    p.add_argument("--subset", default="main")
    p.add_argument("--split", default="test")
    main(p.parse_args())
