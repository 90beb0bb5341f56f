from torch import nn


class GPT(nn.Module):
    SIZES = {'125M': (768, 12), '350M': (1024, 24)}

    @classmethod
    def of(cls, size):
        return cls(*cls.SIZES[size])
