#!/usr/bin/env python3
"""Golden values of RoBERTa from transformers' TFRoberta classes (CPU, float32, no dropout).

Writes tests/golden/roberta_tiny.safetensors: for the masked language model ("words") and the three classifiers ("texts",
"tokens", "spans") the parameters by smelt's names, the inputs, the scores and all gradients of the loss; and
tests/golden/roberta_tiny.json: the config.json and the loss of each.

Needs tensorflow-cpu, tf-keras, transformers 4.57 and safetensors:  python tools/golden_roberta.py
"""
import json
import os
import re
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["TF_DETERMINISTIC_OPS"] = "1"
import numpy as np
import tensorflow as tf
import transformers
from safetensors.numpy import save_file

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
BATCH, SEQUENCE, CLASSES, PAD = 3, 10, 3, 1
# There are 14 position embeddings, of which the first two are not used for tokens.
SIZES = dict(vocab_size=29, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=14, type_vocab_size=1, hidden_dropout_prob=0.0,
             attention_probs_dropout_prob=0.0, layer_norm_eps=1e-5, pad_token_id=PAD, bos_token_id=0, eos_token_id=2,
             hidden_act="gelu", initializer_range=0.02)
CLASSES_OF = {"words": "MaskedLM", "texts": "SequenceClassification", "tokens": "TokenClassification",
              "spans": "QuestionAnswering"}


def name_here(name):
    """Returns a TF variable's name in smelt."""
    name = name.split("/", 1)[1].removesuffix(":0")
    name = re.sub(r"layer_\._(\d+)", r"layer_\1", name)
    name = re.sub(r"(word|position|token_type)_embeddings/(weight|embeddings)$", r"\1_embeddings", name)
    return name.replace("lm_head/layer_norm/", "lm_head/LayerNorm/").replace("lm_head/bias", "lm_head/output_bias")


def examples(rng):
    ids, mask = np.full([BATCH, SEQUENCE], PAD, np.int32), np.zeros([BATCH, SEQUENCE], np.int32)
    for row, length in enumerate([SEQUENCE, 4, 7]):
        ids[row, :length] = rng.integers(3, SIZES["vocab_size"], length)
        ids[row, 0], ids[row, length - 1] = 0, 2
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
    positions = np.array([[1, 3], [2, 0], [1, 5]], np.int32)
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
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
    if kind == "spans":
        scores = tf.stack([out.start_logits, out.end_logits], -1)
        padding = (1.0 - mask.astype(np.float32)) * -1e9
        losses = [cross_entropy(place, scores[..., i] + padding) for i, place in enumerate(labels)]
        return tf.reduce_mean(sum(losses)) / 2, scores
    if kind == "texts":
        return tf.reduce_mean(cross_entropy(labels, out.logits)), out.logits
    counted = labels >= 0
    return tf.reduce_mean(cross_entropy(labels[counted], out.logits[counted])), out.logits


def run(kind, tensors):
    rng = np.random.default_rng(1907011692)
    config = transformers.RobertaConfig(**SIZES, num_labels=2 if kind == "spans" else CLASSES)
    ids, mask = examples(rng)
    model = getattr(transformers, "TFRobertaFor" + CLASSES_OF[kind])(config)
    inputs = dict(input_ids=ids, attention_mask=mask)
    model(**inputs)
    variables = {}
    for variable in model.trainable_variables:
        name = name_here(variable.name)
        assert name not in variables, name
        variable.assign(rng.normal(1.0 if name.endswith("gamma") else 0.0, 0.3, variable.shape).astype(np.float32))
        variables[name] = variable
    stored, labels = labels_of(kind, rng, mask)
    with tf.GradientTape() as tape:
        loss, scores = loss_of(kind, model(**inputs, training=False), mask, labels)
    names = sorted(variables)
    for name, gradient in zip(names, tape.gradient(loss, [variables[name] for name in names])):
        tensors[f"{kind}/param/{name}"] = variables[name].numpy()
        tensors[f"{kind}/grad/{name}"] = tf.convert_to_tensor(gradient).numpy()
    tensors |= {f"{kind}/{name}": value for name, value in dict(
        input_ids=ids, input_mask=mask, segment_ids=np.zeros_like(ids), scores=scores.numpy(), **stored).items()}
    return {"config": SIZES, "loss": float(loss)}


def main():
    tensors, kinds = {}, {}
    for kind in CLASSES_OF:
        kinds[kind] = run(kind, tensors)
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()},
              GOLDEN / "roberta_tiny.safetensors")
    lines = [f'"{kind}": {json.dumps(facts)}' for kind, facts in kinds.items()]
    (GOLDEN / "roberta_tiny.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
