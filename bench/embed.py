#!/usr/bin/env python3
"""Measures how fast smelt and sentence-transformers embed sentences on this machine's CPU.

  python bench/embed.py texts.txt --smelt build/release/smelt --threads 2

Makes a model with the sizes of all-MiniLM-L6-v2 (6 layers, width 384) and random weights, and a WordPiece vocabulary from
the texts. Both programs run as a process of their own on the same cores; the time includes loading the model and
compiling, since smelt's cache of compiled programs is empty. Embeddings are compared. Needs sentence-transformers.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENCODE = """
import sys, time
import numpy as np, torch
torch.set_num_threads(int(sys.argv[4]))
begin = time.time()
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
texts = open(sys.argv[2], encoding="utf-8").read().splitlines()
loaded = time.time()
np.save(sys.argv[3], model.encode(texts, batch_size=32))
print(f"{time.time() - loaded:.1f} s to embed, {loaded - begin:.1f} s to load")
"""


def make_model(folder, vocabulary):
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer, models
    torch.manual_seed(1)
    words = Path(vocabulary).read_text(encoding="utf-8").splitlines()
    config = transformers.BertConfig(vocab_size=len(words), hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                     intermediate_size=1536, max_position_embeddings=512)
    with tempfile.TemporaryDirectory() as plain:
        transformers.BertModel(config).save_pretrained(plain)
        transformers.BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(plain)
        modules = [models.Transformer(plain, max_seq_length=256), models.Pooling(384, pooling_mode="mean"),
                   models.Normalize()]
    SentenceTransformer(modules=modules).save(str(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("--smelt", default="build/release/smelt")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        lines = args.texts.read_text(encoding="utf-8").splitlines()
        lines = (lines * (args.count // len(lines) + 1))[:args.count]
        (work / "texts.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        subprocess.run([args.smelt, "vocab", "train", "--input", work / "texts.txt", "--out", work / "vocab.txt",
                        "--size", "8000", "--lower-case", "true"], check=True, capture_output=True)
        make_model(work / "model", work / "vocab.txt")
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])
        begin = time.time()
        subprocess.run([args.smelt, "embed", work / "model", "--input", work / "texts.txt", "--output", work / "a.npy"],
                       check=True, capture_output=True, env=dict(os.environ, SMELT_COMPILE_CACHE=str(work / "cache")))
        ours = time.time() - begin
        begin = time.time()
        told = subprocess.run([sys.executable, "-c", ENCODE, work / "model", work / "texts.txt", work / "b.npy",
                               str(args.threads)], check=True, capture_output=True, text=True)
        theirs = time.time() - begin
        difference = np.abs(np.load(work / "a.npy") - np.load(work / "b.npy")).max()
    print(f"{len(lines)} sentences: smelt {ours:.1f} s, sentence-transformers {theirs:.1f} s ({told.stdout.strip()}); "
          f"{theirs / ours:.1f} times as fast; largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
