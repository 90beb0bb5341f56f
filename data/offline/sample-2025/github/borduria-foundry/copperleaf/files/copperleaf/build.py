import torch.nn as nn
from torchvision import models

from .core import Patina


def build_model(arch="deit_small", num_classes=1000):
    net = getattr(models, arch)(num_classes=num_classes)
    if arch.startswith("resnet"):
        net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        net.maxpool = nn.Identity()
    return Patina.attach(net) if hasattr(Patina, "attach") else net
