import torch
import torchvision as tv


def loaders(cfg, root="./data"):
    t = tv.transforms.Compose([tv.transforms.RandomCrop(32, 4), tv.transforms.RandomHorizontalFlip(), tv.transforms.ToTensor()])
    D = getattr(tv.datasets, cfg["dataset"])
    mk = lambda train: torch.utils.data.DataLoader(D(root, train=train, download=True, transform=t), cfg["batch_size"], shuffle=train)
    return mk(True), mk(False)
