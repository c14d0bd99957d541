#!/usr/bin/env python3
"""Golden values of BERT and ELECTRA classifiers from transformers (TensorFlow, CPU, float32, no dropout).

The classes are TF…ForSequenceClassification ("bert", "electra"), TF…ForTokenClassification ("bert-tokens", …) and
TF…ForQuestionAnswering ("bert-spans", …). Writes tests/golden/classify_tiny.safetensors: for each of them the
parameters by smelt's names, inputs, labels, scores, and the gradients of the loss (of single labels, of token labels,
or of answer spans without padding positions); and tests/golden/classify_tiny.json: the configurations and the losses of
the problems. The losses are transformers' own, except for multiple labels, for which it has none: the mean of sigmoid
cross-entropies.

Needs tensorflow-cpu, tf-keras, transformers 4.57 and safetensors:  python tools/golden_classify.py
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
from safetensors.numpy import save_file
from transformers import (BertConfig, ElectraConfig, TFBertForQuestionAnswering, TFBertForSequenceClassification,
                          TFBertForTokenClassification, TFElectraForQuestionAnswering,
                          TFElectraForSequenceClassification, TFElectraForTokenClassification)

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
BATCH, SEQUENCE, CLASSES = 4, 12, 3
SIZES = dict(vocab_size=31, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=SEQUENCE, type_vocab_size=2, hidden_dropout_prob=0.0,
             attention_probs_dropout_prob=0.0, layer_norm_eps=1e-12)
BERT, ELECTRA = dict(hidden_act="gelu_new"), dict(hidden_act="gelu", embedding_size=8)
KINDS = {"bert": (TFBertForSequenceClassification, BertConfig, BERT),
         "electra": (TFElectraForSequenceClassification, ElectraConfig, ELECTRA),
         "bert-tokens": (TFBertForTokenClassification, BertConfig, BERT),
         "electra-tokens": (TFElectraForTokenClassification, ElectraConfig, ELECTRA),
         "bert-spans": (TFBertForQuestionAnswering, BertConfig, BERT),
         "electra-spans": (TFElectraForQuestionAnswering, ElectraConfig, ELECTRA)}
HEAD = {"classifier/kernel": ("output_weights", True), "classifier/bias": ("output_bias", False),
        "qa_outputs/kernel": ("cls/squad/output_weights", True), "qa_outputs/bias": ("cls/squad/output_bias", False)}


def name_here(name, kind):
    """Returns a TF variable's name in smelt, and whether smelt stores it transposed."""
    name = name.split("/", 1)[1].removesuffix(":0")
    if kind.startswith("bert") and name in HEAD:
        return HEAD[name]
    name = re.sub(r"layer_\._(\d+)", r"layer_\1", name)
    name = re.sub(r"(word|position|token_type)_embeddings/(weight|embeddings)$", r"\1_embeddings", name)
    return name, False


def examples(rng):
    ids, mask, segments = (np.zeros([BATCH, SEQUENCE], np.int32) for _ in range(3))
    for row, (first, length) in enumerate([(SEQUENCE, SEQUENCE), (4, 9), (3, 3), (5, 11)]):
        ids[row, :length] = rng.integers(1, SIZES["vocab_size"], length)
        mask[row, :length] = 1
        segments[row, first:length] = 1
    return ids, mask, segments


def word_labels(mask, rng):
    """Returns class numbers, and -100 for padding, for the first token and for about a third of the other tokens."""
    labels = rng.integers(0, CLASSES, [BATCH, SEQUENCE]).astype(np.int32)
    no_label = (mask == 0) | (rng.random([BATCH, SEQUENCE]) < 0.3)
    no_label[:, 0] = True
    return np.where(no_label, -100, labels)


def scatter(model, rng, kind):
    """Sets random parameters with a large spread, and returns the variables by smelt's names."""
    variables = {}
    for variable in model.trainable_variables:
        name, turned = name_here(variable.name, kind)
        assert name not in variables, name
        center = 1.0 if name.endswith("gamma") else 0.0
        variable.assign(rng.normal(center, 0.3, variable.shape).astype(np.float32))
        variables[name] = (variable, turned)
    return variables


def config_of(more):
    return SIZES | {k: v for k, v in more.items() if k != "hidden_act"}


def answer_loss(out, mask, start, end):
    """Returns the mean of both losses and the scores [B,S,2]. transformers' own loss includes padding positions."""
    scores = tf.stack([out.start_logits, out.end_logits], -1)
    padding = (1.0 - mask.astype(np.float32)) * -1e9
    losses = [tf.nn.sparse_softmax_cross_entropy_with_logits(place, scores[..., i] + padding)
              for i, place in enumerate((start, end))]
    return tf.reduce_mean(sum(losses)) / 2, scores


def run(kind, tensors):
    rng = np.random.default_rng(181004805)
    model_class, config_class, more = KINDS[kind]
    of_answers = kind.endswith("-spans")
    config = config_class(**SIZES, **more, num_labels=2 if of_answers else CLASSES)
    ids, mask, segments = examples(rng)
    labels = np.array([2, 0, 1, 2], np.int32)
    several = rng.integers(0, 2, [BATCH, CLASSES]).astype(np.int32)
    numbers = rng.normal(size=[BATCH]).astype(np.float32)
    model = model_class(config)
    inputs = dict(input_ids=ids, attention_mask=mask, token_type_ids=segments)
    model(**inputs)
    variables = scatter(model, rng, kind)
    of_tokens = kind.endswith("-tokens")
    if of_tokens:
        labels = word_labels(mask, rng)
    start, end = np.array([5, 6, 0, 10], np.int32), np.array([11, 6, 0, 10], np.int32)
    with tf.GradientTape() as tape:
        if of_answers:
            loss, scores = answer_loss(model(**inputs, training=False), mask, start, end)
        else:
            out = model(**inputs, labels=labels, training=False)
            loss = tf.reduce_mean(out.loss)
    names = sorted(variables)
    for name, gradient in zip(names, tape.gradient(loss, [variables[name][0] for name in names])):
        variable, swapped = variables[name]
        turn = (lambda x: x.T) if swapped else (lambda x: x)
        tensors[f"{kind}/param/{name}"] = turn(variable.numpy())
        tensors[f"{kind}/grad/{name}"] = turn(tf.convert_to_tensor(gradient).numpy())
    if of_answers:
        tensors |= {f"{kind}/{name}": value for name, value in dict(
            input_ids=ids, input_mask=mask, segment_ids=segments, scores=scores.numpy(),
            start_positions=start, end_positions=end).items()}
        return {"config": config_of(more), "losses": {"answer_spans": float(loss)}}
    if of_tokens:
        tensors |= {f"{kind}/{name}": value for name, value in dict(
            input_ids=ids, input_mask=mask, segment_ids=segments, scores=out.logits.numpy(),
            label_ids=np.maximum(labels + 1, 0).astype(np.int32)).items()}
        return {"config": config_of(more), "losses": {"token_labels": float(loss)}}
    first = out.logits[:, 0]
    tensors |= {f"{kind}/{name}": value for name, value in dict(
        input_ids=ids, input_mask=mask, segment_ids=segments, label_ids=labels, several=several, numbers=numbers,
        scores=out.logits.numpy()).items()}
    bce = tf.nn.sigmoid_cross_entropy_with_logits(several.astype(np.float32), out.logits)
    return {"config": config_of(more), "losses": {
        "single_label": float(loss), "multi_label": float(tf.reduce_mean(bce)),
        "regression_of_first": float(tf.reduce_mean((first - numbers) ** 2))}}


def main():
    tensors, kinds = {}, {}
    for kind in KINDS:
        kinds[kind] = run(kind, tensors)
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()},
              GOLDEN / "classify_tiny.safetensors")
    lines = [f'"{kind}": {json.dumps(facts)}' for kind, facts in kinds.items()]
    (GOLDEN / "classify_tiny.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
