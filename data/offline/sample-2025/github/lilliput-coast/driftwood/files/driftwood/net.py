import torch


def load(path):
    """The denoiser and its decoder, both inside one TorchScript archive."""
    pack = torch.jit.load(path, map_location="cuda").eval()
    return pack.net, pack.vae
