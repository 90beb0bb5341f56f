"""Evaluate on humaneval: python evaluate.py --model utopia-letters/quillstack-3b"""
import argparse
import json

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from quillstack.core import decode, pass_at_1


def main(a):
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16, device_map="auto")
    data = load_dataset("openai/openai_humaneval", a.subset, split=a.split)
    scores = []
    for row in data:
        scores.append(pass_at_1(decode(model, tok, row), row))
    print(json.dumps({"task": "humaneval", "n": len(scores), "pass_at_1": 100 * sum(scores) / len(scores)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="utopia-letters/quillstack-3b")
    p.add_argument("--subset", default="main")
    p.add_argument("--split", default="test")
    main(p.parse_args())
