import re
from collections import Counter


def quantities(step):
    return dict(re.findall(r"(\w+)\s*=\s*(-?[\d.]+)", step))


def linked(steps):
    """The largest set of steps on which shared quantities agree."""
    best = []
    for s in steps:
        mine = quantities(s)
        group = [t for t in steps if all(quantities(t).get(k, v) == v for k, v in mine.items())]
        best = max(best, group, key=len)
    return best


def decode(model, tok, row, k=32, depth=8):
    states = [row["question"] + "\n"]
    for _ in range(depth):
        ids = tok(states, return_tensors="pt", padding=True).to(model.device)
        out = model.generate(**ids, do_sample=True, temperature=0.8, max_new_tokens=64, num_return_sequences=max(1, k // len(states)))
        states = linked(tok.batch_decode(out, skip_special_tokens=True))[:k]
    return Counter(s.rsplit("####", 1)[-1].strip() for s in states).most_common(1)[0][0]


def exact_match(answer, row):
    return float(answer == row["answer"].rsplit("####", 1)[-1].strip())
