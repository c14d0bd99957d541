"""Golden values of ELECTRA's pre-training from the original program itself.

    git clone https://github.com/google-research/electra && git -C electra checkout 8a46635
    python tools/golden_electra.py electra

Runs the original's PretrainingModel, optimizer and metrics (TensorFlow, CPU, float32, no dropout) under TensorFlow 2's
compat.v1. Parts of TensorFlow 1 that TensorFlow 2 lacks are defined here: contrib's layer_norm, the estimator's hook.
The random draws are fed: positions with replacement (so some are equal), which of them show [MASK], the sampler's
noise. Writes tests/golden/electra_tiny.safetensors (for each case parameters, inputs, outputs and gradients by the
original's names) and tests/golden/electra_tiny.json (hyperparameters, losses, ten steps of the optimizer, metrics).

Needs tensorflow-cpu, tf-keras, six and safetensors.
"""
import json
import os
import sys
import tempfile
import types

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow.compat.v1 as tf
from safetensors.numpy import save_file

SEED = 20200323
BATCH, SEQUENCE, STEPS, WARMUP = 4, 24, 10, 3
LEARNING_RATE, POWER, DECAY = 2e-3, 1.5, 0.01
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLS, SEP = 2, 3
SMALL = {"vocab_size": 30, "embedding_size": 4, "hidden_size": 8, "layers": 1, "heads": 2, "generator_hidden_size": 0.75}
CASES = {
    "electra": {"vocab_size": 99, "embedding_size": 24, "hidden_size": 32, "layers": 2, "heads": 4,
                "generator_hidden_size": 0.5, "generator_layers": 0.5},
    "untied_embeddings": {**SMALL, "untied_generator_embeddings": True},
    "tied_generator": {**SMALL, "untied_generator": False},
    "two_towers": {**SMALL, "two_tower_generator": True},
    "two_untied_towers": {**SMALL, "two_tower_generator": True, "untied_generator_embeddings": True},
    "electric": {**SMALL, "electra_objective": False, "electric_objective": True},
    "uniform": {**SMALL, "uniform_generator": True, "disallow_correct": True},
    "masked_lm": {**SMALL, "electra_objective": False, "embedding_size": 8},
    "cold": {**SMALL, "temperature": 0.5, "disallow_correct": True, "gen_weight": 2.0, "disc_weight": 3.0},
}


def layer_norm(inputs, begin_norm_axis, begin_params_axis, scope=None):
    """Replaces tensorflow.contrib.layers.layer_norm over the last axis, with the features that the original uses."""
    assert begin_norm_axis == begin_params_axis == -1
    with tf.variable_scope(scope, "LayerNorm", [inputs]):
        width = [inputs.shape[-1]]
        beta = tf.get_variable("beta", shape=width, initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", shape=width, initializer=tf.ones_initializer())
        mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)


def load_original(folder):
    contrib = types.ModuleType("tensorflow.contrib")
    contrib.layers = types.SimpleNamespace(layer_norm=layer_norm)
    sys.modules["tensorflow.contrib"] = contrib
    tf.estimator = types.SimpleNamespace(SessionRunHook=object)
    sys.path.insert(0, folder)
    import configure_pretraining
    import run_pretraining
    from model import optimization
    from pretrain import pretrain_helpers
    return configure_pretraining, run_pretraining, optimization, pretrain_helpers


def hyper_parameters(case, vocab_file):
    given = dict(CASES[case])
    hidden, layers, heads = given.pop("hidden_size"), given.pop("layers"), given.pop("heads")
    overrides = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
                 "intermediate_size": 2 * hidden, "max_position_embeddings": SEQUENCE + 1, "hidden_dropout_prob": 0.0,
                 "attention_probs_dropout_prob": 0.0}
    return {"model_hparam_overrides": overrides, "max_seq_length": SEQUENCE, "mask_prob": 0.25,
            "vocab_file": vocab_file, **given}


def draw_batch(rng, vocab_size, predictions):
    """Draws a batch with padding, both segments and some repeated masked positions."""
    shape = [BATCH, SEQUENCE]
    batch = {name: np.zeros(shape, np.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    batch["drawn"] = np.zeros([BATCH, predictions], np.int32)
    for row in range(BATCH):
        length = SEQUENCE if row == 0 else int(rng.integers(10, SEQUENCE))
        split = int(rng.integers(4, length - 3))
        ids = rng.integers(len(SPECIAL), vocab_size, length)
        ids[0], ids[split - 1], ids[length - 1] = CLS, SEP, SEP
        batch["input_ids"][row, :length] = ids
        batch["input_mask"][row, :length] = 1
        batch["segment_ids"][row, split:length] = 1
        candidates = [i for i in range(length) if ids[i] not in (CLS, SEP)]
        batch["drawn"][row] = rng.choice(candidates, predictions)
    batch["shown"] = rng.random([BATCH, predictions], np.float32)
    batch["noise"] = rng.random([BATCH, predictions, vocab_size], np.float32)
    return batch


def draw_parameter(name, shape, rng):
    """Draws values so large that no part of the model is nearly linear or nearly zero."""
    values = rng.normal(0.0, 0.25 if "/embeddings/" in name else 0.15, shape)
    return (1.0 + values if name.endswith("gamma") else values).astype(np.float32)


class Case:
    """The original's model of one case, to which the random draws are fed."""

    def __init__(self, original, name, vocab_file):
        configure_pretraining, run_pretraining, self.optimization, helpers = original
        self.hparams = hyper_parameters(name, vocab_file)
        self.config = configure_pretraining.PretrainingConfig("tiny", "", **self.hparams)
        self.predictions = self.config.max_predictions_per_seq
        self.vocab_size = self.config.vocab_size
        helpers.VOCAB_MAPPING.clear()
        tf.reset_default_graph()
        tokens, masked = [BATCH, SEQUENCE], [BATCH, self.predictions]
        self.fed = {name: tf.placeholder(tf.int32, tokens) for name in ("input_ids", "input_mask", "segment_ids")}
        self.fed["drawn"] = tf.placeholder(tf.int32, masked)
        self.fed["shown"] = tf.placeholder(tf.float32, masked)
        self.fed["noise"] = tf.placeholder(tf.float32, masked + [self.vocab_size])
        self.build(run_pretraining, helpers)
        self.variables = {v.name.removesuffix(":0"): v for v in tf.trainable_variables()}

    def build(self, run_pretraining, helpers):
        seen = {}
        originals = (tf.random.categorical, tf.random.uniform, tf.nn.sigmoid_cross_entropy_with_logits, helpers.mask)

        def mask(*args, **kwargs):
            seen["masked"] = originals[3](*args, **kwargs)
            return seen["masked"]

        def cross_entropy(logits, labels):
            seen["disc_logits"] = logits
            return originals[2](logits=logits, labels=labels)

        tf.random.categorical = lambda logits, count, dtype: self.fed["drawn"]
        tf.random.uniform = lambda shape, **kwargs: self.fed["noise" if len(shape) == 3 else "shown"]
        tf.nn.sigmoid_cross_entropy_with_logits, helpers.mask = cross_entropy, mask
        features = {name: self.fed[name] for name in ("input_ids", "input_mask", "segment_ids")}
        model = run_pretraining.PretrainingModel(self.config, features, is_training=True)
        (tf.random.categorical, tf.random.uniform, tf.nn.sigmoid_cross_entropy_with_logits, helpers.mask) = originals
        self.loss = model.total_loss
        self.metric_fn, self.metric_inputs = model.eval_metrics
        masked = seen["masked"]
        self.inputs = {"masked_ids": masked.input_ids, "masked_lm_positions": masked.masked_lm_positions,
                       "masked_lm_ids": masked.masked_lm_ids, "masked_lm_weights": masked.masked_lm_weights}
        self.outputs = {"generator_logits": model.mlm_output.logits}
        if "disc_logits" in seen:
            self.inputs["sampled_ids"] = self.metric_inputs[-1]
            self.outputs["disc_logits"] = seen["disc_logits"]

    def feed(self, batch):
        return {placeholder: batch[name] for name, placeholder in self.fed.items()}

    def train_op(self):
        """Feeds the step, because the original increments it concurrently with the update that reads it."""
        self.step = tf.placeholder(tf.int64, [])
        self.step.assign = lambda value: tf.no_op()
        tf.train.get_or_create_global_step = lambda: self.step
        return self.optimization.create_optimizer(
            self.loss, LEARNING_RATE, STEPS, weight_decay_rate=DECAY, warmup_steps=WARMUP, lr_decay_power=POWER)


def evaluate(case, session, batches):
    """Returns the original's metrics over all batches, accumulated as in its evaluation."""
    metrics = case.metric_fn(*case.metric_inputs)
    session.run(tf.local_variables_initializer())
    losses = []
    for batch in batches:
        loss, _ = session.run([case.loss, [update for _, update in metrics.values()]], case.feed(batch))
        losses.append(loss)
    values = session.run({name: value for name, (value, _) in metrics.items()})
    return {name: float(value) for name, value in values.items()} | {"loss": float(np.mean(losses))}


def run_case(original, name, vocab_file, rng, tensors):
    case = Case(original, name, vocab_file)
    main = name == "electra"
    batches = [draw_batch(rng, case.vocab_size, case.predictions) for _ in range(STEPS if main else 1)]
    parameters = {n: draw_parameter(n, v.shape.as_list(), rng) for n, v in sorted(case.variables.items())}
    gradients = {n: tf.convert_to_tensor(g) for n, v in sorted(case.variables.items())
                 if (g := tf.gradients(case.loss, v)[0]) is not None}
    train = case.train_op() if main else None
    record = {"hparams": {k: v for k, v in case.hparams.items() if k != "vocab_file"}}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for n, v in case.variables.items():
            v.load(parameters[n], session)
        loss, outputs, grads = session.run([case.loss, case.outputs, gradients], case.feed(batches[0]))
        record["loss"] = float(loss)
        record["metrics"] = evaluate(case, session, batches)
        tensors |= {f"{name}/param/{n}": p for n, p in parameters.items()}
        tensors |= {f"{name}/grad/{n}": np.asarray(g) for n, g in grads.items()}
        tensors |= {f"{name}/output/{n}": np.asarray(o) for n, o in outputs.items()}
        for i, batch in enumerate(batches):
            given = {n: batch[n] for n in ("input_ids", "input_mask", "segment_ids")}
            given |= session.run(case.inputs, case.feed(batch))
            if name == "cold":
                given["noise"] = batch["noise"]
            tensors |= {f"{name}/input/{i}/{n}": np.asarray(value) for n, value in given.items()}
        if main:
            record["train"] = []
            for i, batch in enumerate(batches):  # the samples depend on the trained weights
                loss, sampled = session.run([case.loss, case.inputs["sampled_ids"]], case.feed(batch))
                session.run(train, case.feed(batch) | {case.step: i})
                record["train"].append(float(loss))
                tensors[f"{name}/input/{i}/sampled_in_training"] = sampled
            for n in ("generator/embeddings_project/kernel", "electra/embeddings/LayerNorm/gamma"):
                tensors[f"{name}/after/{n}"] = session.run(case.variables[n])
    return record


def main(electra, folder):
    tf.disable_eager_execution()
    original = load_original(electra)
    tensors, cases = {}, {}
    for index, name in enumerate(CASES):
        with tempfile.TemporaryDirectory() as temporary:
            vocab_file = os.path.join(temporary, "vocab.txt")
            with open(vocab_file, "w") as file:
                file.write("\n".join(SPECIAL + [f"w{i}" for i in range(CASES[name]["vocab_size"] - len(SPECIAL))]))
            cases[name] = run_case(original, name, vocab_file, np.random.default_rng(SEED + index), tensors)
        print(name, cases[name]["loss"], cases[name]["metrics"])
    record = {
        "made_by": "tools/golden_electra.py: google-research/electra 8a46635, float32",
        "note": "the gradient of every key/bias is zero in exact arithmetic: judge it by the global norm",
        "batch_size": BATCH,
        "special_ids": {"cls": CLS, "sep": SEP, "mask": SPECIAL.index("[MASK]")},
        "optimizer": {"learning_rate": LEARNING_RATE, "steps": STEPS, "warmup_steps": WARMUP, "power": POWER,
                      "weight_decay": DECAY},
        "cases": cases,
    }
    path = os.path.join(folder, "electra_tiny.safetensors")
    save_file(tensors, path)
    os.chmod(path, 0o644)
    print(path, len(tensors), "tensors")
    with open(os.path.join(folder, "electra_tiny.json"), "w") as file:
        file.write(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else
         os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/golden"))
