"""Runs an ONNX folder of an embedding model with onnxruntime and compares its embeddings.

python tools/check_onnx_embeddings.py FOLDER EMBEDDINGS.json

EMBEDDINGS.json has texts and their embeddings (tools/golden_sentence_transformers.py). Fails if onnx's checker rejects the
file, or if sentence_embedding differs from them by more than 1e-5, with all texts in one padded batch or one at a time.
"""
import json
import sys

import numpy as np
import onnx
import onnxruntime
from tokenizers import Tokenizer


def main():
    folder, expected = sys.argv[1:]
    onnx.checker.check_model(f"{folder}/model.onnx", full_check=True)
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", providers=["CPUExecutionProvider"])
    with open(expected, encoding="utf-8") as file:
        golden = json.load(file)
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.enable_truncation(12)
    tokenizer.enable_padding()

    def embed(texts):
        rows = tokenizer.encode_batch(texts)
        inputs = {"input_ids": [one.ids for one in rows], "attention_mask": [one.attention_mask for one in rows],
                  "token_type_ids": [one.type_ids for one in rows]}
        names = ["token_embeddings", "sentence_embedding"]
        tokens, sentences = session.run(names, {name: np.array(a, np.int64) for name, a in inputs.items()})
        assert tokens.shape == (*np.shape(inputs["input_ids"]), sentences.shape[1]), tokens.shape
        return sentences

    want = np.array(golden["embeddings"])
    for got in (embed(golden["texts"]), np.concatenate([embed([text]) for text in golden["texts"]])):
        difference = np.abs(got - want).max()
        print(f"{got.shape}: largest difference {difference:.1e}")
        if difference > 1e-5:
            sys.exit(1)


if __name__ == "__main__":
    main()
