import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def pairs(answer):
    """(shorter, longer): delete one sentence at a time."""
    s = answer.split(". ")
    return [(". ".join(s[:i] + s[i + 1 :]), answer) for i in range(1, len(s))]


def loss(model, ref, short, long, beta=0.1):
    d = lambda m: m(**short).logits.log_softmax(-1).mean() - m(**long).logits.log_softmax(-1).mean()
    return -torch.nn.functional.logsigmoid(beta * (d(model) - d(ref).detach()))
