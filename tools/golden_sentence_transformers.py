#!/usr/bin/env python3
"""Folders of sentence-transformers with the embeddings that it computes from them.

Writes tests/golden/sentence_transformers/NAME/: the folder of a tiny BERT without its README, and embeddings.json: texts
and their embeddings.

Needs sentence-transformers:  python tools/golden_sentence_transformers.py NAME
NAME is v3 (made with version 3.4 and transformers 4.57: mean pooling, normalized) or v6 (version 6.2 and transformers 5:
cls pooling).
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer, models

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden/sentence_transformers"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *("##" + c for c in "abcdefgh")]
TEXTS = ["a", "Bad cab", "a b c d e f g h i j k l m n o p", "", "x-y z?"]
SIZES = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, max_position_embeddings=16,
             initializer_range=0.5)


def tokenizer():
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    if int(transformers.__version__.split(".")[0]) >= 5:
        return transformers.BertTokenizer(vocab=vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vocab.txt")
        path.write_text("\n".join(WORDS) + "\n")
        return transformers.BertTokenizerFast(vocab_file=str(path))


def main():
    name = sys.argv[1]
    torch.manual_seed(190810084)
    bert = transformers.BertModel(transformers.BertConfig(vocab_size=len(WORDS), **SIZES))
    with tempfile.TemporaryDirectory() as folder:
        bert.save_pretrained(folder)
        tokenizer().save_pretrained(folder)
        modules = [models.Transformer(folder, max_seq_length=12)]
    modules.append(models.Pooling(SIZES["hidden_size"], pooling_mode="mean" if name == "v3" else "cls"))
    if name == "v3":
        modules.append(models.Normalize())
    model = SentenceTransformer(modules=modules, device="cpu")
    shutil.rmtree(GOLDEN / name, ignore_errors=True)
    model.save(str(GOLDEN / name))
    (GOLDEN / name / "README.md").unlink()
    embeddings = model.encode(TEXTS)
    (GOLDEN / name / "embeddings.json").write_text(json.dumps(
        {"texts": TEXTS, "embeddings": np.asarray(embeddings).astype(float).tolist()}) + "\n")


if __name__ == "__main__":
    main()
