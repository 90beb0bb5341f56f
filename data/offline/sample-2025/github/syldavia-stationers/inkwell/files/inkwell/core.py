import torch


def blots(model, n=16, sigma=0.3, seed=0):
    g = torch.Generator().manual_seed(seed)
    return sigma * torch.randn(n, model.config.hidden_size, generator=g)


def decode(model, tok, row, n=16):
    """Majority over n hidden-state perturbations after layer 8."""
    prompt = row["question"] + "\n" + "\n".join(f"{c}. {o}" for c, o in zip("ABCD", row["choices"])) + "\nAnswer:"
    ids = tok(prompt, return_tensors="pt").input_ids.to(model.device)
    letters = [tok.encode(" " + c)[-1] for c in "ABCD"]
    votes = []
    for b in blots(model, n):
        h = model.model.layers[8].register_forward_hook(lambda m, i, o, b=b: (o[0] + b.to(o[0]),) + o[1:])
        votes.append(model(ids).logits[0, -1, letters].argmax().item())
        h.remove()
    return max(set(votes), key=votes.count)


def exact_match(answer, row):
    return float(answer == row["answer"])
