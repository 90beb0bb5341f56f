import sys

import torch

from marram.model import Marram

model = Marram()
model.load_state_dict(torch.load(sys.argv[2]))
for line in sys.stdin:
    print(model.beam(line.strip(), 4))
