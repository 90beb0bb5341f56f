import sys

import torch
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from cartouche.detector import build

cfg, ckpt = sys.argv[1:3]
model = build(cfg).cuda().eval()
model.load_state_dict(torch.load(ckpt)["state_dict"])
gt = COCO("data/coco/annotations/instances_val2017.json")
dets = [d for i in gt.getImgIds() for d in model.detect(gt.loadImgs(i)[0])]
ev = COCOeval(gt, gt.loadRes(dets), "bbox")
ev.evaluate(); ev.accumulate(); ev.summarize()
