#!/usr/bin/env python3
"""Golden retrieval metrics of pytrec_eval and of sentence-transformers' InformationRetrievalEvaluator.

Writes tests/golden/retrieval.json: embeddings of queries and documents, the grades of documents for each query, and the
metrics of exact search by dot product, over all queries.

Needs sentence-transformers 6 and pytrec_eval (pytrec-eval-terrier):  python tools/golden_retrieval.py
"""
import json
from pathlib import Path

import numpy as np
import pytrec_eval
from sentence_transformers import util
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
QUERIES, DOCUMENTS, WIDTH = 12, 150, 4


class Embeddings:
    """A model whose texts are row numbers of a matrix."""
    similarity_fn_name = "dot"
    similarity = staticmethod(util.dot_score)

    def __init__(self, matrix):
        self.matrix = matrix.astype(np.float32)

    def encode_query(self, texts, **_):
        import torch
        return torch.tensor(self.matrix[[int(text) for text in texts]])

    encode = encode_document = encode_query


def main():
    rng = np.random.default_rng(2010)
    queries, documents = (rng.normal(size=(n, WIDTH)).round(3) for n in (QUERIES, DOCUMENTS))
    grades = {}
    for query in range(QUERIES):
        near = np.argsort(-documents @ queries[query])[rng.integers(0, 40, 4)]
        grades[query] = {int(d): int(g) for d, g in zip(near, rng.integers(0, 4, 4))} | {int(near[0]): 1}
    qrels = {f"q{q}": {f"d{d}": g for d, g in of.items()} for q, of in grades.items()}
    scores = queries @ documents.T
    run = {f"q{q}": {f"d{d}": float(scores[q, d]) for d in range(DOCUMENTS)} for q in range(QUERIES)}
    names = {"ndcg@10": "ndcg_cut_10", "recall@5": "recall_5", "recall@100": "recall_100", "map@100": "map_cut_100"}
    by_query = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut", "recall", "map_cut", "recip_rank"}).evaluate(run)
    trec = {ours: float(np.mean([of[name] for of in by_query.values()])) for ours, name in names.items()}
    everything = np.concatenate([queries, documents])
    relevant = {f"q{q}": {f"d{d}" for d, g in of.items() if g > 0} for q, of in grades.items()}
    evaluator = InformationRetrievalEvaluator(
        {f"q{q}": str(q) for q in range(QUERIES)}, {f"d{d}": str(QUERIES + d) for d in range(DOCUMENTS)}, relevant,
        mrr_at_k=[10], ndcg_at_k=[10], accuracy_at_k=[1], precision_recall_at_k=[5], map_at_k=[100],
        score_functions={"dot": util.dot_score}, write_csv=False)
    found = evaluator.compute_metrices(Embeddings(everything))["dot"]
    binary = {"mrr@10": found["mrr@k"][10], "ndcg@10": found["ndcg@k"][10], "recall@5": found["recall@k"][5],
              "map@100": found["map@k"][100]}
    (GOLDEN / "retrieval.json").write_text(json.dumps(
        {"queries": queries.tolist(), "documents": documents.tolist(),
         "grades": [sorted(of.items()) for of in grades.values()], "pytrec_eval": trec,
         "sentence_transformers": {name: float(value) for name, value in binary.items()}}) + "\n")


if __name__ == "__main__":
    main()
