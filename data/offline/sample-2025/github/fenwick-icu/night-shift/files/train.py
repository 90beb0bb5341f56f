import sys

import torch
from nst.model import NightShift
from nst.data import Stays


def main(folder):
    train, valid = Stays(folder, "train"), Stays(folder, "valid")
    model = NightShift(width=128, depth=4)
    opt = torch.optim.Adam(model.parameters(), 3e-4)
    best = 0.0
    for epoch in range(30):
        for x, t, y in train.batches(64):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x, t), y)
            opt.zero_grad(); loss.backward(); opt.step()
        auroc = valid.auroc(model)
        if auroc > best:
            best = auroc
            torch.save(model.state_dict(), "best.pt")
        print(epoch, auroc)


if __name__ == "__main__":
    main(sys.argv[1])
