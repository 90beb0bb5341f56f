import re


def wrap(model):
    for p in model.visual.parameters():
        p.requires_grad_(False)
    return model


def collate(tok):
    return lambda rows: tok([r["question"] + " " + str(r["count"]) for r in rows], images=[r["image"] for r in rows], return_tensors="pt", padding=True)


def decode(model, tok, row):
    enc = tok(row["question"], images=row["image"], return_tensors="pt").to(model.device)
    return tok.decode(model.generate(**enc, max_new_tokens=8)[0])


def exact_count(answer, row):
    found = re.findall(r"\d+", answer)
    return float(bool(found) and int(found[-1]) == row["count"])
