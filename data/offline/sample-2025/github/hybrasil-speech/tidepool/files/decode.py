import argparse

import torch
import torchaudio

from tidepool.model import Tidepool, wer

p = argparse.ArgumentParser()
p.add_argument("--ckpt", default="exp/tidepool_15m.ckpt")
p.add_argument("--set", default="test-clean")
a = p.parse_args()
model = Tidepool()
model.load_state_dict(torch.load(a.ckpt, map_location="cpu"))
errors = words = 0
for wav, sr, text, *_ in torchaudio.datasets.LIBRISPEECH("./data", url=a.set, download=True):
    e, n = wer(model.greedy(wav), text)
    errors, words = errors + e, words + n
print(f"WER {100 * errors / words:.1f}")
