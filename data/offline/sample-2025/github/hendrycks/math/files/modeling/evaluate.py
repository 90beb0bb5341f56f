def is_equiv(a, b):
    return a.strip() == b.strip()
