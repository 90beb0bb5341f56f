import torch.nn as nn
from torchvision import models

from .core import Shift


def build_model(arch="vit_b_16", num_classes=1000):
    net = getattr(models, arch)(num_classes=num_classes)
    if arch.startswith("resnet"):
        net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        net.maxpool = nn.Identity()
    return Shift.attach(net) if hasattr(Shift, "attach") else net
