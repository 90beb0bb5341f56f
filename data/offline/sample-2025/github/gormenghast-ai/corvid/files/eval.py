import sys

import torch

from corvid.model import Corvid

model = Corvid()
model.load_state_dict(torch.load(sys.argv[1]))
print(model.perplexity('openwebtext'))
