#!/usr/bin/env python3
"""Compares embeddings of `smelt embed` with those that sentence-transformers computes from a folder.

  smelt run my.yaml
  smelt embed my-run --input texts.txt --output x.npy
  python tools/check_sentence_transformers.py my-run/huggingface texts.txt x.npy

Needs sentence-transformers 3 or later. Ends with status 1 if a number differs by more than 1e-5.
"""
import sys

import numpy as np
import sentence_transformers


def main():
    folder, texts, vectors = sys.argv[1:]
    model = sentence_transformers.SentenceTransformer(folder, device="cpu")
    with open(texts, encoding="utf-8") as file:
        lines = file.read().splitlines()
    want, got = model.encode(lines), np.load(vectors)
    difference = float(np.abs(want - got).max()) if want.shape == got.shape else float("inf")
    print(f"sentence-transformers {sentence_transformers.__version__}: {got.shape[0]} embeddings of {got.shape[1]} "
          f"numbers; largest difference {difference:.1e}")
    return 0 if difference <= 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
