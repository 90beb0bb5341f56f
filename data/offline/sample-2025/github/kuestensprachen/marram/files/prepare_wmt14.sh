#!/bin/bash
set -e
for f in training-parallel-europarl-v7.tgz training-parallel-commoncrawl.tgz training-parallel-nc-v9.tgz; do
  curl -LO http://www.statmt.org/wmt14/$f
done
spm_train --input=train.en,train.de --vocab_size=32000
