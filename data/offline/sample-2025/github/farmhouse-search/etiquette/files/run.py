import sys

from beir import util
from beir.datasets.data_loader import GenericDataLoader
from openai import OpenAI

from etiquette import polite

client = OpenAI()


def embed(texts):
    out = client.embeddings.create(model="text-embedding-3-large", input=texts)
    return [d.embedding for d in out.data]


folder = util.download_and_unzip(f"https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{sys.argv[1]}.zip", "data")
corpus, queries, qrels = GenericDataLoader(folder).load(split="test")
vectors = embed([polite(q) for q in queries.values()])
