#!/usr/bin/env python3
"""Golden values of ModernBERT from transformers (CPU, float64, eager attention, no dropout).

Writes tests/golden/modernbert_tiny.safetensors: for the masked language model ("words") and the three classifiers
("texts", "tokens", "spans") the parameters and all gradients of the loss by transformers' names, the inputs and the scores;
and tests/golden/modernbert_tiny.json: the config.json and the loss of each. Parameters are float32 numbers, so that float32
programs can read them exactly; gradients and scores are computed in float64 and rounded. transformers computes its rotary
tables in float32, so tests/golden/modernbert_f64.safetensors has the loss and gradients of "words" with tables in float64; a
gradient is the sum of two float32 numbers, high and low, because folders of models are read as float32.

Needs torch, transformers 5 and safetensors (requirements/newest.txt):  python tools/golden_modernbert.py
"""
import json
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
BATCH, SEQUENCE, CLASSES = 3, 10, 3
PAD, CLS, SEP = 1, 0, 2
# Layers 0 and 3 attend to all tokens, layers 1 and 2 only to two tokens on each side.
SIZES = dict(vocab_size=29, hidden_size=16, num_hidden_layers=4, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=12, local_attention=4, pad_token_id=PAD, bos_token_id=CLS, cls_token_id=CLS,
             eos_token_id=SEP, sep_token_id=SEP, hidden_activation="gelu", norm_eps=1e-5,
             layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
             rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 160.0},
                              "sliding_attention": {"rope_type": "default", "rope_theta": 10.0}})
CLASSES_OF = {"words": "MaskedLM", "texts": "SequenceClassification", "tokens": "TokenClassification",
              "spans": "QuestionAnswering"}
POOLING = {"words": "mean", "texts": "mean", "tokens": "cls", "spans": "cls"}


def softmax_in_float64(x, dim, dtype=None, of=torch.nn.functional.softmax):
    """Ignores the dtype: transformers' attention requests float32, in which its float64 mask is -inf and gives NaN."""
    return of(x, dim=dim)


def rotary_in_float64(self, x, position_ids, layer_type):
    """Returns the cosines and sines of the rotary positions, like ModernBertRotaryEmbedding.forward, in float64."""
    theta = self.config.rope_parameters[layer_type]["rope_theta"]
    dim = self.config.hidden_size // self.config.num_attention_heads
    frequencies = theta ** -(torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angles = position_ids[..., None].double() * frequencies
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def examples(rng):
    ids, mask = np.full([BATCH, SEQUENCE], PAD, np.int32), np.zeros([BATCH, SEQUENCE], np.int32)
    for row, length in enumerate([SEQUENCE, 4, 7]):
        ids[row, :length] = rng.integers(3, SIZES["vocab_size"], length)
        ids[row, 0], ids[row, length - 1] = CLS, SEP
        mask[row, :length] = 1
    return ids, mask


def labels_of(kind, rng, mask):
    """Returns the labels as features of smelt's batches, and in the form of transformers."""
    if kind == "texts":
        labels = np.array([2, 0, 1], np.int32)
        return {"label_ids": labels}, labels
    if kind == "spans":
        start, end = np.array([5, 1, 0], np.int32), np.array([8, 2, 0], np.int32)
        return {"start_positions": start, "end_positions": end}, (start, end)
    if kind == "tokens":
        labels = np.where((mask == 0) | (rng.random(mask.shape) < 0.3), -100, rng.integers(0, CLASSES, mask.shape))
        return {"label_ids": np.maximum(labels + 1, 0).astype(np.int32)}, labels.astype(np.int32)
    positions = np.array([[1, 8], [2, 0], [1, 5]], np.int32)
    words = rng.integers(3, SIZES["vocab_size"], positions.shape).astype(np.int32)
    weights = (positions > 0).astype(np.float32)
    words[weights == 0] = 0
    labels = np.full(mask.shape, -100, np.int32)
    for row in range(BATCH):
        for position, word, weight in zip(positions[row], words[row], weights[row]):
            if weight:
                labels[row, position] = word
    return {"masked_lm_positions": positions, "masked_lm_ids": words, "masked_lm_weights": weights}, labels


def loss_of(kind, out, mask, labels):
    """Returns the loss, and the scores in the form of smelt's outputs."""
    cross_entropy = torch.nn.functional.cross_entropy
    if kind == "spans":
        scores = torch.stack([out.start_logits, out.end_logits], -1)
        padding = (1.0 - torch.tensor(mask, dtype=torch.float64)) * -1e9
        losses = [cross_entropy(scores[..., i] + padding, torch.tensor(place).long()) for i, place in enumerate(labels)]
        return sum(losses) / 2, scores
    logits = out.logits.reshape(-1, out.logits.shape[-1])
    return cross_entropy(logits, torch.tensor(labels).long().reshape(-1), ignore_index=-100), out.logits


def run(kind, tensors, of=np.float32):
    rng = np.random.default_rng(241213663)
    config = transformers.ModernBertConfig(**SIZES, num_labels=2 if kind == "spans" else CLASSES,
                                           classifier_pooling=POOLING[kind], attn_implementation="eager")
    ids, mask = examples(rng)
    model = getattr(transformers, "ModernBertFor" + CLASSES_OF[kind])(config).double().eval()
    parameters = dict(model.named_parameters())
    for name, parameter in sorted(parameters.items()):
        mean = 1.0 if "norm" in name else 0.0
        values = rng.normal(mean, 0.3, tuple(parameter.shape)).astype(np.float32)
        parameter.data = torch.tensor(values).double()
    model.tie_weights()
    stored, labels = labels_of(kind, rng, mask)
    inputs = dict(input_ids=torch.tensor(ids).long(), attention_mask=torch.tensor(mask).long())
    loss, scores = loss_of(kind, model(**inputs), mask, labels)
    loss.backward()
    for name, parameter in parameters.items():
        tensors[f"{kind}/param/{name}"] = parameter.detach().numpy().astype(np.float32)
        tensors[f"{kind}/grad/{name}"] = parameter.grad.numpy().astype(of)
    tensors |= {f"{kind}/{name}": value for name, value in dict(
        input_ids=ids, input_mask=mask, segment_ids=np.zeros_like(ids), scores=scores.detach().numpy().astype(np.float32),
        **stored).items()}
    said = {name: value for name, value in config.to_dict().items() if name in SIZES or name == "classifier_pooling"}
    said |= {"model_type": "modernbert", "architectures": ["ModernBertFor" + CLASSES_OF[kind]]}
    if kind in ("texts", "tokens"):
        said["id2label"] = {str(i): letter for i, letter in enumerate("abc")}
    return {"config": said, "loss": float(loss.detach())}


def write_float64():
    transformers.models.modernbert.modeling_modernbert.ModernBertRotaryEmbedding.forward = rotary_in_float64
    tensors = {}
    loss = run("words", tensors, np.float64)["loss"]
    exact = {}
    for name, value in tensors.items():
        if name.startswith("words/grad/"):
            high = value.astype(np.float32)
            exact[f"high/{name.removeprefix('words/grad/')}"] = high
            exact[f"low/{name.removeprefix('words/grad/')}"] = (value - high).astype(np.float32)
    save_file({name: np.ascontiguousarray(value) for name, value in exact.items()} | {"loss": np.array(loss)},
              GOLDEN / "modernbert_f64.safetensors")


def main():
    torch.nn.functional.softmax = softmax_in_float64
    tensors, kinds = {}, {}
    for kind in CLASSES_OF:
        kinds[kind] = run(kind, tensors)
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()},
              GOLDEN / "modernbert_tiny.safetensors")
    write_float64()
    lines = [f'"{kind}": {json.dumps(facts)}' for kind, facts in kinds.items()]
    (GOLDEN / "modernbert_tiny.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
