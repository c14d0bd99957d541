#!/usr/bin/env python3
"""Golden values of T5 from transformers' TFT5ForConditionalGeneration (TensorFlow, CPU, float32, no dropout).

Writes tests/golden/t5_tiny.safetensors: for each kind of model, "small" (relu, tied, T5 1.0's) and "gated" (gated
gelu, untied, T5 1.1's), its parameters by the original checkpoint's names, inputs, targets, the encoder's states, scores
of all words, and gradients of the loss; and tests/golden/t5_tiny.json: configurations, losses, the losses of ten steps
of optax's Adam and Adafactor, and relative position buckets.

Needs tensorflow-cpu, tf-keras, transformers 4.57, optax and safetensors:  python tools/golden_t5.py
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
import optax
import tensorflow as tf
from safetensors.numpy import save_file
from transformers import T5Config, TFT5ForConditionalGeneration
from transformers.models.t5.modeling_tf_t5 import TFT5Attention

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
BATCH, INPUTS, TARGETS = 3, 21, 9
COMMON = dict(vocab_size=53, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_decoder_layers=3, num_heads=3,
              relative_attention_num_buckets=8, relative_attention_max_distance=12, dropout_rate=0.0)
KINDS = {"small": dict(feed_forward_proj="relu", tie_word_embeddings=True),
         "gated": dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False)}
Z_LOSS = 0.01
OPTIMIZERS = {"adam": lambda: optax.adam(0.01),
              "adafactor": lambda: optax.adafactor(0.005, min_dim_size_to_factor=8)}


def original_name(name):
    """Returns a TF variable's name in the original checkpoint, and whether it is stored transposed there."""
    name = name.split("/", 1)[1].removesuffix(":0")
    if name.startswith("shared"):
        return "shared/embedding", False
    if name.startswith("lm_head"):
        return "decoder/logits/kernel", False
    name = re.sub(r"block_\._(\d+)", r"block_\1", name)
    name = re.sub(r"layer_\._(\d)", r"layer_00\1", name)
    if "relative_attention_bias" in name:
        stack = name.split("/")[0]
        return f"{stack}/block_000/layer_000/SelfAttention/relative_attention_bias", True
    name = re.sub(r"Attention/([qkvo])/kernel", r"Attention/\1", name)
    return re.sub(r"norm/weight$", "norm/scale", name), False


def loss_of(model, inputs, targets):
    start = tf.zeros([BATCH, 1], tf.int32)
    told = tf.concat([start, targets[:, :-1]], 1)
    mask = tf.cast(inputs != 0, tf.int32)
    out = model(input_ids=inputs, attention_mask=mask, decoder_input_ids=told,
                decoder_attention_mask=tf.ones_like(told), training=False)
    weights = tf.cast(targets != 0, tf.float32)
    nll = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, out.logits)
    log_z = tf.reduce_logsumexp(out.logits, -1)
    count = tf.reduce_sum(weights)
    target_loss, z_loss = tf.reduce_sum(nll * weights) / count, tf.reduce_sum(log_z**2 * weights) / count
    return out, target_loss, z_loss


def ten_steps(model, inputs, targets, optimizer):
    """Returns the losses before each of ten steps from the model's values, which are restored afterwards."""
    variables = model.trainable_variables
    first = [variable.numpy() for variable in variables]
    values, state, losses = list(first), optimizer.init(first), []
    for _ in range(10):
        with tf.GradientTape() as tape:
            _, target_loss, z_loss = loss_of(model, tf.constant(inputs), tf.constant(targets))
            loss = target_loss + Z_LOSS * z_loss
        losses.append(float(loss))
        gradients = [tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, variables)]
        updates, state = optimizer.update(gradients, state, values)
        values = [np.asarray(value) for value in optax.apply_updates(values, updates)]
        for variable, value in zip(variables, values):
            variable.assign(value)
    for variable, value in zip(variables, first):
        variable.assign(value)
    return losses


def run(kind, tensors):
    rng = np.random.default_rng(191010683)
    model = TFT5ForConditionalGeneration(T5Config(**COMMON, **KINDS[kind], use_cache=False))
    inputs, targets = np.zeros([BATCH, INPUTS], np.int32), np.zeros([BATCH, TARGETS], np.int32)
    for row, (length, answer) in enumerate([(INPUTS, TARGETS), (13, 5), (2, 1)]):
        inputs[row, :length] = rng.integers(1, COMMON["vocab_size"], length)
        targets[row, :answer] = rng.integers(1, COMMON["vocab_size"], answer)
    loss_of(model, tf.constant(inputs), tf.constant(targets))
    variables = {}
    for variable in model.trainable_variables:
        name, swapped = original_name(variable.name)
        assert name not in variables, name
        variables[name] = (variable, swapped)
        # Queries have a small spread, like those of T5 itself, because scores are not divided by sqrt(d_kv).
        spread = 0.6 if "embedding" in name else 0.9 if name.endswith("bias") else 0.1 if name.endswith("/q") else 0.3
        values = rng.normal(1.0 if name.endswith("scale") else 0.0, spread, variable.shape)
        variable.assign(values.astype(np.float32))
    with tf.GradientTape() as tape:
        out, target_loss, z_loss = loss_of(model, tf.constant(inputs), tf.constant(targets))
        loss = target_loss + Z_LOSS * z_loss
    names = sorted(variables)
    gradients = tape.gradient(loss, [variables[name][0] for name in names])
    for name, gradient in zip(names, gradients):
        variable, swapped = variables[name]
        turned = (lambda x: x.T) if swapped else (lambda x: x)
        tensors[f"{kind}/param/{name}"] = turned(variable.numpy())
        tensors[f"{kind}/grad/{name}"] = turned(tf.convert_to_tensor(gradient).numpy())
    tensors |= {f"{kind}/inputs": inputs, f"{kind}/targets": targets,
                f"{kind}/states": out.encoder_last_hidden_state.numpy(), f"{kind}/scores": out.logits.numpy()}
    return {"config": COMMON | KINDS[kind], "z_loss": Z_LOSS, "losses": {
        "loss": float(loss), "target_loss": float(target_loss), "z_loss": float(z_loss)},
        "ten_steps": {name: ten_steps(model, inputs, targets, make()) for name, make in OPTIMIZERS.items()}}


def main():
    tensors, kinds = {}, {}
    for kind in KINDS:
        kinds[kind] = run(kind, tensors)
    distances = list(range(-300, 301))
    bucket = TFT5Attention._relative_position_bucket
    buckets = {name: bucket(tf.constant(distances), bidirectional=both).numpy().tolist()
               for name, both in (("both", True), ("behind", False))}
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, GOLDEN / "t5_tiny.safetensors")
    lines = [f'"{kind}": {json.dumps(facts)}' for kind, facts in kinds.items()]
    lines += [f'"first_distance": {distances[0]}'] + [f'"{name}": {json.dumps(x)}' for name, x in buckets.items()]
    (GOLDEN / "t5_tiny.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
