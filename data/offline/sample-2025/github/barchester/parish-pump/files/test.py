import argparse

import torch
from datasets import load_dataset

from pump import ParishPump, edit_distance

p = argparse.ArgumentParser()
p.add_argument('--ckpt', default='last.pt')
model = ParishPump()
model.load_state_dict(torch.load(p.parse_args().ckpt))
err = n = 0
for row in load_dataset('barchester/registers', split='test', trust_remote_code=True):
    err, n = err + edit_distance(model.read(row['image'], row['year']), row['text']), n + len(row['text'])
print('CER', 100 * err / n)
