#!/usr/bin/env python3
"""A CrossEncoder folder of sentence-transformers, its scores, and the gradients of BinaryCrossEntropyLoss.

Writes tests/golden/cross_encoder/v6/: the folder of a tiny BERT without its README; scores.json: pairs of texts, labels,
scores and the loss; and gradients.safetensors: the parameters and their gradients by smelt's names, and the inputs.

Needs sentence-transformers 6 and safetensors:  python tools/golden_cross_encoder.py
"""
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from golden_embedding import name_here
from safetensors.numpy import save_file
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder import losses

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden/cross_encoder/v6"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *("##" + c for c in "abcdefgh")]
PAIRS = [("a", "b c"), ("Bad cab", "x-y z?"), ("a b c d e", "f g h i j k l m n o p q"), ("f", "a b"), ("b", "c d e")]
LABELS = [1.0, 0.0, 0.75, 1.0, 0.0]
SIZES = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, max_position_embeddings=16,
             initializer_range=0.5, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=1)
OTHERS = {"bert.pooler.dense.weight": ("bert/pooler/dense/kernel", True),
          "bert.pooler.dense.bias": ("bert/pooler/dense/bias", False),
          "classifier.weight": ("output_weights", False), "classifier.bias": ("output_bias", False)}


def main():
    torch.manual_seed(190810084)
    bert = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=len(WORDS), **SIZES))
    with tempfile.TemporaryDirectory() as folder:
        bert.save_pretrained(folder)
        transformers.BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}).save_pretrained(folder)
        model = CrossEncoder(folder, device="cpu", max_length=14)
    shutil.rmtree(GOLDEN, ignore_errors=True)
    model.save_pretrained(str(GOLDEN))
    (GOLDEN / "README.md").unlink()
    scores = model.predict(PAIRS)
    queries, documents = zip(*PAIRS)
    loss = losses.BinaryCrossEntropyLoss(model)([list(queries), list(documents)], torch.tensor(LABELS))
    loss.backward()
    inputs = model.tokenizer(list(queries), list(documents), padding="max_length", truncation=True, max_length=14,
                             return_tensors="np")
    tensors = {"input_ids": inputs["input_ids"].astype(np.int32), "input_mask": inputs["attention_mask"].astype(np.int32),
               "segment_ids": inputs["token_type_ids"].astype(np.int32), "label_ids": np.array(LABELS, np.float32)}
    for key, parameter in model.model.named_parameters():
        here, is_transposed = OTHERS.get(key) or name_here(key.removeprefix("bert."))
        for kind, value in (("param", parameter), ("grad", parameter.grad)):
            value = torch.zeros_like(parameter) if value is None else value
            tensors[f"{kind}/{here}"] = np.ascontiguousarray((value.T if is_transposed else value).detach().numpy())
    save_file(tensors, GOLDEN / "gradients.safetensors")
    (GOLDEN / "scores.json").write_text(json.dumps(
        {"pairs": PAIRS, "labels": LABELS, "scores": np.asarray(scores).astype(float).tolist(), "loss": loss.item()}) + "\n")


if __name__ == "__main__":
    main()
