import torch


def turn(net, blocks, scale):
    """Re-initialise the key projections of the first blocks."""
    for block in net.blocks[:blocks]:
        w = block.attn.k.weight
        w.data.copy_(scale * torch.randn_like(w) / w.shape[1] ** 0.5)
