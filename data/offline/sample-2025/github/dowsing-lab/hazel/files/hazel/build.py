import torch.nn as nn
from torchvision import models

from .core import ForkedHead


def build_model(arch="vit_l_16", num_classes=10):
    net = getattr(models, arch)(num_classes=num_classes)
    if arch.startswith("resnet"):
        net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        net.maxpool = nn.Identity()
    return ForkedHead.attach(net) if hasattr(ForkedHead, "attach") else net
