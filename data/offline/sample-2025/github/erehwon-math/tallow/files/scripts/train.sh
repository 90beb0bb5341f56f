#!/bin/bash
set -e
torchrun --nproc_per_node=${GPUS:-8} train.py
