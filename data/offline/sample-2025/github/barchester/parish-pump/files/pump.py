from torch import nn


class ParishPump(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.strokes = nn.Sequential(nn.Conv2d(1, width, 5, 2, 2), nn.GELU(), nn.Conv2d(width, width, 5, 2, 2))
        self.year = nn.Embedding(400, width)


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
