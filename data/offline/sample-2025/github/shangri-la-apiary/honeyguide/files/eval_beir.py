import argparse

import numpy as np
from beir import util
from beir.datasets.data_loader import GenericDataLoader
from beir.retrieval.evaluation import EvaluateRetrieval

from honeyguide.model import Honeyguide

SETS = "msmarco trec-covid nfcorpus nq hotpotqa fiqa arguana webis-touche2020 quora dbpedia-entity scidocs fever climate-fever scifact".split()

p = argparse.ArgumentParser()
p.add_argument("--model", default="shangri-la-apiary/honeyguide-base")
model, out = Honeyguide(p.parse_args().model), []
for name in SETS:
    folder = util.download_and_unzip(f"https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{name}.zip", "data")
    corpus, queries, qrels = GenericDataLoader(folder).load(split="test")
    ndcg, *_ = EvaluateRetrieval().evaluate(qrels, model.search(corpus, queries, rounds=3), [10])
    out.append(ndcg["NDCG@10"])
print("average", 100 * np.mean(out))
