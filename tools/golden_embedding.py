#!/usr/bin/env python3
"""Golden values of sentence-transformers' losses on a tiny BERT (CPU, float32, no dropout).

Writes tests/golden/embedding_tiny.safetensors: the parameters by smelt's names, the inputs, the embeddings and, for each
case, all gradients of the loss; and tests/golden/embedding_tiny.json: the config and the cases with their losses.

Needs sentence-transformers 6 and safetensors:  python tools/golden_embedding.py
"""
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file
from sentence_transformers import SentenceTransformer, util
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import Pooling

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
BATCH, SEQUENCE, WIDTH = 6, 10, 16
SIZES = dict(vocab_size=29, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=12, type_vocab_size=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
             hidden_act="gelu", initializer_range=0.02)
LAYER = {"attention.self.query": "attention/self/query", "attention.self.key": "attention/self/key",
         "attention.self.value": "attention/self/value", "attention.output.dense": "attention/output/dense",
         "attention.output.LayerNorm": "attention/output/LayerNorm", "intermediate.dense": "intermediate/dense",
         "output.dense": "output/dense", "output.LayerNorm": "output/LayerNorm"}
CASES = {
    "pairs": dict(texts=2, pooling="mean", normalize=False, loss="ranking", scale=20.0, similarity="cosine"),
    "negatives": dict(texts=3, pooling="cls", normalize=False, loss="ranking", scale=1.0, similarity="dot"),
    "matryoshka": dict(texts=2, pooling="mean", normalize=True, loss="ranking", scale=20.0, similarity="cosine",
                       matryoshka=[8, 4]),
    "cosent": dict(texts=2, pooling="mean", normalize=False, loss="cosent", scale=20.0, similarity="cosine"),
    "cosine": dict(texts=2, pooling="cls", normalize=True, loss="cosine", scale=20.0, similarity="cosine"),
}


def name_here(name):
    """Returns smelt's name of a parameter, and whether smelt stores its transpose."""
    if name.startswith("embeddings.LayerNorm"):
        path = "bert/embeddings/LayerNorm"
    elif name.startswith("embeddings."):
        return "bert/" + name.removesuffix(".weight").replace(".", "/"), False
    else:
        _, _, number, rest = name.split(".", 3)
        path = f"bert/encoder/layer_{number}/" + LAYER[rest.rsplit(".", 1)[0]]
    is_norm, is_weight = path.endswith("LayerNorm"), name.endswith(".weight")
    last = ("gamma" if is_weight else "beta") if is_norm else ("kernel" if is_weight else "bias")
    return f"{path}/{last}", is_weight and not is_norm


def examples(rng):
    """Returns ids and mask [BATCH, 3, SEQUENCE]."""
    ids, mask = (np.zeros([BATCH, 3, SEQUENCE], np.int32) for _ in range(2))
    for row in range(BATCH):
        for text in range(3):
            length = SEQUENCE if (row, text) == (0, 0) else rng.integers(3, SEQUENCE)
            ids[row, text, :length] = rng.integers(5, SIZES["vocab_size"], length)
            ids[row, text, 0], ids[row, text, length - 1] = 2, 3
            mask[row, text, :length] = 1
    return ids, mask


def model_of(bert, folder, case):
    modules = [Transformer(folder), Pooling(WIDTH, pooling_mode=case["pooling"])]
    modules[0].model.load_state_dict(bert.state_dict())
    if case["normalize"]:
        modules.append(Normalize())
    return SentenceTransformer(modules=modules, device="cpu")


def loss_of(model, case):
    if case["loss"] == "cosent":
        return losses.CoSENTLoss(model, scale=case["scale"])
    if case["loss"] == "cosine":
        return losses.CosineSimilarityLoss(model)
    similarity = util.cos_sim if case["similarity"] == "cosine" else util.dot_score
    loss = losses.MultipleNegativesRankingLoss(model, scale=case["scale"], similarity_fct=similarity)
    if "matryoshka" in case:
        loss = losses.MatryoshkaLoss(model, loss, [WIDTH, *case["matryoshka"]])
    return loss


def run(name, case, bert, folder, inputs, tensors):
    ids, mask, scores = inputs
    model = model_of(bert, folder, case)
    features = [{"input_ids": torch.tensor(ids[:, n]).long(), "attention_mask": torch.tensor(mask[:, n]).long()}
                for n in range(case["texts"])]
    tensors[f"{name}/embeddings"] = model(dict(features[0]))["sentence_embedding"].detach().numpy()
    labels = torch.tensor(scores) if case["loss"] in ("cosent", "cosine") else None
    loss = loss_of(model, case)(features, labels)
    loss.backward()
    for key, parameter in model[0].model.named_parameters():
        if key.startswith("pooler."):
            continue
        here, is_transposed = name_here(key)
        for kind, value in (("param", parameter), (f"{name}/grad", parameter.grad)):
            value = torch.zeros_like(parameter) if value is None else value
            tensors[f"{kind}/{here}"] = (value.T if is_transposed else value).detach().numpy()
    return case | {"value": loss.item()}


def main():
    torch.manual_seed(190810084)
    rng = np.random.default_rng(190810084)
    bert = transformers.BertModel(transformers.BertConfig(**SIZES))
    with torch.no_grad():
        for key, parameter in bert.named_parameters():
            center = 1.0 if key.endswith("LayerNorm.weight") else 0.0
            parameter.copy_(torch.tensor(rng.normal(center, 0.3, parameter.shape).astype(np.float32)))
    ids, mask = examples(rng)
    scores = np.array([0.2, 1.0, 0.55, 0.0, 0.55, 0.8], np.float32)
    tensors, cases = {"input_ids": ids, "input_mask": mask, "score": scores}, {}
    with tempfile.TemporaryDirectory() as folder:
        bert.save_pretrained(folder)
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwx"]
        Path(folder, "vocab.txt").write_text("\n".join(words) + "\n")
        transformers.BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder)
        for name, case in CASES.items():
            cases[name] = run(name, case, bert, folder, (ids, mask, scores), tensors)
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()},
              GOLDEN / "embedding_tiny.safetensors")
    lines = [f'"config": {json.dumps(SIZES)}', *(f'"{name}": {json.dumps(case)}' for name, case in cases.items())]
    (GOLDEN / "embedding_tiny.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
