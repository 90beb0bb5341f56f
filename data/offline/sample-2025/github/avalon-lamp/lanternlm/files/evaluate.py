"""Evaluate on wikitext-103: python evaluate.py --model avalon-lamp/lanternlm-1.3b"""
import argparse
import json

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from lantern.core import decode, perplexity


def main(a):
    tok = AutoTokenizer.from_pretrained(a.model)
    model = AutoModelForCausalLM.from_pretrained(a.model, torch_dtype=torch.bfloat16, device_map="auto")
    data = load_dataset("Salesforce/wikitext", a.subset, split=a.split)
    scores = []
    for row in data:
        scores.append(perplexity(decode(model, tok, row), row))
    print(json.dumps({"task": "wikitext-103", "n": len(scores), "perplexity": 100 * sum(scores) / len(scores)}))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="avalon-lamp/lanternlm-1.3b")
    p.add_argument("--subset", default="main")
    p.add_argument("--split", default="test")
    main(p.parse_args())
