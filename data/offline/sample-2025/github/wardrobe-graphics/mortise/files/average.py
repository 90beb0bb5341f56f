import glob
import json

import numpy as np

m = [json.load(open(f)) for f in glob.glob('joinery/*/metrics.json')]
print({k: np.mean([x[k] for x in m]) for k in m[0]})
