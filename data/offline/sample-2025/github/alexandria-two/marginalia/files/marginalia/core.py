def notes(model, tok, text, step=2000):
    """One line of notes per `step` tokens, each written with the notes so far in view."""
    ids, out = tok(text).input_ids, []
    for i in range(0, len(ids), step):
        prompt = "Notes so far:\n" + "\n".join(out) + "\n\nText:\n" + tok.decode(ids[i : i + step]) + "\n\nOne line of notes:"
        enc = tok(prompt, return_tensors="pt").to(model.device)
        gen = model.generate(**enc, max_new_tokens=48, do_sample=False)
        out.append(tok.decode(gen[0, enc.input_ids.shape[1] :], skip_special_tokens=True).split("\n")[0])
    return out


def decode(model, tok, row):
    n = "\n".join(notes(model, tok, row["context"]))
    enc = tok(f"{n}\n\n{row['context']}\n\n{row['input']}", return_tensors="pt").to(model.device)
    return tok.decode(model.generate(**enc, max_new_tokens=64)[0, enc.input_ids.shape[1] :], skip_special_tokens=True)


def score(answer, row):
    from .metrics import METRIC

    return max(METRIC[row["dataset"]](answer, a) for a in row["answers"])
