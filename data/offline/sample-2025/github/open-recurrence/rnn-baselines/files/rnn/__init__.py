from .lstm import LSTM
