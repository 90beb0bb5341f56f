import pickle
import sys

from brindle import StripedTree
from data import covertype

X, y, Xt, yt = covertype()
for name in ("plain", "striped"):
    forest = pickle.load(open(f"models/{name}.pkl", "rb"))
    print(name, round(100 * (forest.predict(Xt) == yt).mean(), 1))
