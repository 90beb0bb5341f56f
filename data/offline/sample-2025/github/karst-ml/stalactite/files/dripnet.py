import numpy as np


def load_cave(folder):
    return np.load(folder / 'weeks.npy'), np.load(folder / 'rain.npy')
