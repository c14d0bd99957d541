"""Golden values of BERT pre-training from an independent implementation.

Model and gradients: transformers' TFBertForPreTraining (TensorFlow, CPU, float32, no dropout).
Loss and optimizer: written here after google-research/bert's run_pretraining.py and optimization.py.
Writes tests/golden/bert_tiny.safetensors (parameters, inputs, outputs, gradients; names and layouts of
the original checkpoint) and tests/golden/bert_tiny.json (config, losses, ten steps of two optimizers).

Needs tensorflow-cpu, tf-keras, transformers 4.57 and safetensors:  python tools/golden_bert.py
"""
import json
import os
import re
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["TF_DETERMINISTIC_OPS"] = "1"

import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file
from transformers import BertConfig, TFBertForPreTraining

SEED = 20181011
BATCH, SEQUENCE, PREDICTIONS, STEPS, WARMUP = 4, 24, 5, 10, 3
LEARNING_RATE, DECAY, BETA1, BETA2, EPSILON, CLIP_NORM = 2e-3, 0.01, 0.9, 0.999, 1e-6, 1.0
NO_DECAY = ("LayerNorm", "layer_norm", "bias")
CONFIG = {  # as in a bert_config.json; hidden_act "gelu" is the tanh approximation there
    "attention_probs_dropout_prob": 0.0, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
    "hidden_size": 32, "initializer_range": 0.02, "intermediate_size": 64,
    "max_position_embeddings": 40, "num_attention_heads": 4, "num_hidden_layers": 2,
    "type_vocab_size": 2, "vocab_size": 99,
}


def original_name(name):
    """Returns a TF variable's name in the original checkpoint, and whether it is stored transposed there."""
    name = name.split("/", 1)[1].removesuffix(":0")
    name = name.replace("mlm___cls", "cls").replace("nsp___cls", "cls").replace("layer_._", "layer_")
    transposed = name == "cls/seq_relationship/kernel"
    renamed = {
        "bert/embeddings/word_embeddings/weight": "bert/embeddings/word_embeddings",
        "bert/embeddings/token_type_embeddings/embeddings": "bert/embeddings/token_type_embeddings",
        "bert/embeddings/position_embeddings/embeddings": "bert/embeddings/position_embeddings",
        "cls/predictions/bias": "cls/predictions/output_bias",
        "cls/seq_relationship/kernel": "cls/seq_relationship/output_weights",
        "cls/seq_relationship/bias": "cls/seq_relationship/output_bias",
    }
    return renamed.get(name, name), transposed


def make_model():
    config = BertConfig(**{**CONFIG, "hidden_act": "gelu_new"}, layer_norm_eps=1e-12)
    model = TFBertForPreTraining(config)
    model(input_ids=tf.zeros([1, 2], tf.int32))
    return model


def draw_parameters(variables, rng):
    """Draws parameters so large that no part of the model is nearly linear or nearly zero."""
    parameters = {}
    for name in sorted(variables):
        variable, transposed = variables[name]
        shape = variable.shape[::-1] if transposed else variable.shape
        spread = 0.15 if "embeddings" not in name else 0.25
        values = rng.normal(0.0, spread, tuple(shape))
        if name.endswith("gamma"):
            values = 1.0 + values
        parameters[name] = values.astype(np.float32)
    return parameters


def draw_batch(rng):
    """Draws a batch with padding, both segments, unused prediction slots, and slightly learnable labels."""
    batch = {
        "input_ids": np.zeros([BATCH, SEQUENCE], np.int32),
        "input_mask": np.zeros([BATCH, SEQUENCE], np.int32),
        "segment_ids": np.zeros([BATCH, SEQUENCE], np.int32),
        "masked_lm_positions": np.zeros([BATCH, PREDICTIONS], np.int32),
        "masked_lm_ids": np.zeros([BATCH, PREDICTIONS], np.int32),
        "masked_lm_weights": np.zeros([BATCH, PREDICTIONS], np.float32),
        "next_sentence_labels": rng.integers(0, 2, [BATCH, 1]).astype(np.int32),
    }
    for row in range(BATCH):
        length = SEQUENCE if row == 0 else int(rng.integers(10, SEQUENCE))
        split = int(rng.integers(4, length - 3))
        used = PREDICTIONS if row == 0 else int(rng.integers(1, PREDICTIONS))
        positions = np.sort(rng.choice(np.arange(1, length - 1), used, replace=False))
        batch["input_ids"][row, :length] = rng.integers(1, CONFIG["vocab_size"], length)
        batch["input_mask"][row, :length] = 1
        batch["segment_ids"][row, split:length] = 1
        batch["masked_lm_positions"][row, :used] = positions
        batch["masked_lm_ids"][row, :used] = rng.integers(5, 20, used)
        batch["masked_lm_weights"][row, :used] = 1.0
        batch["input_ids"][row, positions] = 4
    return batch


def forward(model, batch):
    hidden = model.bert(input_ids=batch["input_ids"], attention_mask=batch["input_mask"],
                        token_type_ids=batch["segment_ids"], training=False)
    out = model(input_ids=batch["input_ids"], attention_mask=batch["input_mask"],
                token_type_ids=batch["segment_ids"], training=False)
    logits = tf.gather(out.prediction_logits, batch["masked_lm_positions"], batch_dims=1)
    nll = tf.nn.sparse_softmax_cross_entropy_with_logits(batch["masked_lm_ids"], logits)
    weights = batch["masked_lm_weights"]
    mlm = tf.reduce_sum(weights * nll) / (tf.reduce_sum(weights) + 1e-5)
    nsp = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        batch["next_sentence_labels"][:, 0], out.seq_relationship_logits))
    return {
        "sequence_output": hidden.last_hidden_state, "pooled_output": hidden.pooler_output,
        "mlm_logits": logits, "nsp_logits": out.seq_relationship_logits,
        "mlm_loss": mlm, "nsp_loss": nsp, "loss": mlm + nsp,
    }


def loss_and_gradients(model, variables, batch):
    names = sorted(variables)
    with tf.GradientTape() as tape:
        out = forward(model, batch)
    raw = tape.gradient(out["loss"], [variables[name][0] for name in names])
    gradients = {}
    for name, gradient in zip(names, raw):
        dense = tf.convert_to_tensor(gradient).numpy()
        gradients[name] = np.ascontiguousarray(dense.T if variables[name][1] else dense)
    return {key: value.numpy() for key, value in out.items()}, gradients


def assign(variables, parameters):
    for name, (variable, transposed) in variables.items():
        variable.assign(parameters[name].T if transposed else parameters[name])


def learning_rate(step):
    f32 = np.float32
    if step < WARMUP:
        return f32(LEARNING_RATE) * (f32(step) / f32(WARMUP))
    return f32(LEARNING_RATE) * (f32(1) - f32(step) / f32(STEPS))


def clip_by_global_norm(gradients):
    norm = np.sqrt(sum(np.sum(np.square(g.astype(np.float64))) for g in gradients.values()))
    scale = np.float32(CLIP_NORM / max(norm, CLIP_NORM))
    return {name: g * scale for name, g in gradients.items()}, float(norm)


def update(kind, step, lr, name, p, g, m, v):
    """Returns a parameter's new (value, m, v). bert: without bias correction; adamw: Loshchilov & Hutter."""
    f32 = np.float32
    m = f32(BETA1) * m + f32(1 - BETA1) * g
    v = f32(BETA2) * v + f32(1 - BETA2) * np.square(g)
    if kind == "bert":
        delta = m / (np.sqrt(v) + f32(EPSILON))
    else:
        m_hat = m / f32(1 - BETA1 ** (step + 1))
        v_hat = v / f32(1 - BETA2 ** (step + 1))
        delta = m_hat / (np.sqrt(v_hat) + f32(EPSILON))
    if not any(re.search(pattern, name) for pattern in NO_DECAY):
        delta = delta + f32(DECAY) * p
    return p - lr * delta, m, v


def train(kind, model, variables, start, batches):
    """Returns the loss before each of the ten updates, the last parameters, and the norms before clipping."""
    parameters = dict(start)
    m = {name: np.zeros_like(p) for name, p in parameters.items()}
    v = {name: np.zeros_like(p) for name, p in parameters.items()}
    record = {"loss": [], "mlm_loss": [], "nsp_loss": [], "gradient_norm": [], "learning_rate": []}
    for step, batch in enumerate(batches):
        assign(variables, parameters)
        out, gradients = loss_and_gradients(model, variables, batch)
        clipped, norm = clip_by_global_norm(gradients)
        lr = learning_rate(step)
        for key in ("loss", "mlm_loss", "nsp_loss"):
            record[key].append(float(out[key]))
        record["gradient_norm"].append(norm)
        record["learning_rate"].append(float(lr))
        for name in parameters:
            parameters[name], m[name], v[name] = update(
                kind, step, lr, name, parameters[name], clipped[name], m[name], v[name])
    assign(variables, parameters)
    record["loss_after_on_batch_0"] = float(forward(model, batches[0])["loss"].numpy())
    return record, parameters


def main(folder):
    rng = np.random.default_rng(SEED)
    model = make_model()
    assert model.config.hidden_act == "gelu_new" and model.config.layer_norm_eps == 1e-12
    variables = {}
    for variable in model.trainable_variables:
        name, transposed = original_name(variable.name)
        variables[name] = (variable, transposed)
    parameters = draw_parameters(variables, rng)
    batches = [draw_batch(rng) for _ in range(STEPS)]
    assign(variables, parameters)
    out, gradients = loss_and_gradients(model, variables, batches[0])

    tensors = {f"param/{name}": value for name, value in parameters.items()}
    tensors |= {f"grad/{name}": value for name, value in gradients.items()}
    tensors |= {f"input/{i}/{k}": value for i, batch in enumerate(batches) for k, value in batch.items()}
    tensors |= {f"output/{k}": np.asarray(value) for k, value in out.items() if np.ndim(value)}
    record = {
        "made_by": "tools/golden_bert.py: transformers TFBertForPreTraining, float32",
        "note": "the gradient of every key/bias is zero in exact arithmetic: judge it by the global norm",
        "config": CONFIG, "batch_size": BATCH, "max_seq_length": SEQUENCE,
        "max_predictions_per_seq": PREDICTIONS,
        "loss": {key: float(out[key]) for key in ("loss", "mlm_loss", "nsp_loss")},
        "optimizer": {"init_lr": LEARNING_RATE, "steps": STEPS, "warmup_steps": WARMUP,
                      "weight_decay": DECAY, "beta_1": BETA1, "beta_2": BETA2, "epsilon": EPSILON,
                      "clip_norm": CLIP_NORM, "exclude_from_weight_decay": list(NO_DECAY)},
    }
    for kind in ("bert", "adamw"):
        record[f"train_{kind}"], last = train(kind, model, variables, parameters, batches)
        for name in ("bert/pooler/dense/kernel", "bert/embeddings/LayerNorm/gamma"):
            tensors[f"after_{kind}/{name}"] = last[name]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "bert_tiny.safetensors")
    save_file(tensors, path)
    os.chmod(path, 0o644)
    print(path, f"{len(tensors)} tensors, loss {record['loss']['loss']:.6f}")
    with open(os.path.join(folder, "bert_tiny.json"), "w") as file:
        file.write(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else
         os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/golden"))
