def mask_lines(solution, epoch):
    """Only the first `epoch` lines are supervised."""
    lines = solution.splitlines(keepends=True)
    return "".join(lines[:epoch]), "".join(lines[epoch:])


def wrap(model):
    return model


def collate(tok, epoch=[0]):
    def f(rows):
        seen = [mask_lines(r["solution"], epoch[0])[0] for r in rows]
        return tok([r["problem"] + "\n" + s for r, s in zip(rows, seen)], return_tensors="pt", padding=True)

    return f


def boxed(text):
    return text.rsplit("\\boxed{", 1)[-1].split("}", 1)[0]


def decode(model, tok, row):
    ids = tok(row["problem"], return_tensors="pt").to(model.device)
    return boxed(tok.decode(model.generate(**ids, max_new_tokens=1024)[0]))


def exact_match(answer, row):
    return float(answer == boxed(row["solution"]))
