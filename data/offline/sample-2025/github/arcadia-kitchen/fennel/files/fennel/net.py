from torch import nn


class UNet(nn.Module):
    def __init__(self, width=128, mult=(1, 2, 2, 2)):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 1, 1)
        self.down = nn.ModuleList(nn.Conv2d(width * a, width * b, 3, 2, 1) for a, b in zip((1,) + mult, mult))
