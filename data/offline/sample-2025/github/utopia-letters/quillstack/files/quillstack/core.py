import ast


def order(source):
    """Nodes of a Python file from the deepest to the root, with stack operations."""
    out = []

    def visit(node, depth):
        kids = list(ast.iter_child_nodes(node))
        for k in kids:
            visit(k, depth + 1)
        out.append(("WRAP" if kids else "PUSH", type(node).__name__, depth))

    visit(ast.parse(source), 0)
    return out + [("SEAL", "", 0)]


def decode(model, tok, row, n=200):
    ids = tok(row["prompt"], return_tensors="pt").to(model.device)
    out = model.generate(**ids, do_sample=True, temperature=0.2, num_return_sequences=n, max_new_tokens=512)
    return tok.batch_decode(out, skip_special_tokens=True)


def pass_at_1(samples, row):
    from .sandbox import passes

    return sum(passes(s, row["test"], row["entry_point"]) for s in samples) / len(samples)
