import torch.nn as nn
from torchvision import models

from .core import GraniteMix


def build_model(arch="resnet18", num_classes=100):
    net = getattr(models, arch)(num_classes=num_classes)
    if arch.startswith("resnet"):
        net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        net.maxpool = nn.Identity()
    return GraniteMix.attach(net) if hasattr(GraniteMix, "attach") else net
