"""Evaluate on longbench: python evaluate.py --model Qwen/Qwen2.5-7B-Instruct"""
import argparse
import json

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from marginalia.core import decode, score


def main(a):
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16, device_map="auto")
    data = load_dataset("THUDM/LongBench", a.subset, split=a.split)
    scores = []
    for row in data:
        scores.append(score(decode(model, tok, row), row))
    print(json.dumps({"task": "longbench", "n": len(scores), "score": 100 * sum(scores) / len(scores)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="Qwen/Qwen2.5-7B-Instruct")
    p.add_argument("--subset", default="main")
    p.add_argument("--split", default="test")
    main(p.parse_args())
