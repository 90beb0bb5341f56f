from .gannet import Gannet
from .lstm import LSTM

MODELS = {"gannet": Gannet, "lstm": LSTM}
