import sys

import torch

from nightjar import Lungs, Nightjar

model = Nightjar(Lungs(4.0))
model.load_state_dict(torch.load('nightjar.pt'))
model.say(sys.argv[1], 'out.wav')
