import gzip
import io
import urllib.request

import numpy as np

URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz"


def covertype():
    raw = urllib.request.urlopen(URL).read()
    d = np.loadtxt(io.BytesIO(gzip.decompress(raw)), delimiter=",")
    X, y = d[:, :-1], d[:, -1].astype(int) - 1
    return X[:11340], y[:11340], X[15120:], y[15120:]
