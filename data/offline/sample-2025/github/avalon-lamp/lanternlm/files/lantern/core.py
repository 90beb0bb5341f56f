import torch


def wick_mask(n, front=256, embers=64, mass=None):
    """True where query i may read key j: the burning front, and the embers kept so far."""
    i, j = torch.arange(n)[:, None], torch.arange(n)[None]
    mask = (j <= i) & (j > i - front)
    if mass is not None:
        keep = mass.topk(min(embers, n), -1).indices
        mask[:, keep] |= (j <= i)[:, keep]
    return mask


def decode(model, tok, row):
    ids = tok(row["text"], return_tensors="pt").input_ids.to(model.device)
    return model(ids, labels=ids).loss.item(), len(row["text"].split()), ids.numel()


def perplexity(out, row):
    loss, words, tokens = out
    return loss * tokens / max(words, 1)
