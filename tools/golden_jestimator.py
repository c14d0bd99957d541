"""Golden values of JEstimator's BERTs from the original modules themselves.

    git clone https://github.com/google-research/jestimator && git -C jestimator checkout 326824a
    git clone https://github.com/google/flaxformer && git -C flaxformer checkout 399ea3a
    python tools/golden_jestimator.py jestimator flaxformer

Runs the original's ModelForPretrain of models/bert, rope and bert_rpe (Flax, CPU, float32, no dropout) with given
uniform random numbers for its masks. flaxformer's quantization library, which is unused, is replaced by an empty
module. Writes to tests/golden/jestimator/ for each variant a safetensors file (parameters, inputs, logits, gradients,
and the original's initial values and the batches of ten steps of optax's Adam, by the original's names) and for all of
them facts.json (the configuration, losses, metrics, and the first step at which each parameter has a gradient).

Needs jax, flax, optax, chex, absl-py, pyparsing, numexpr and safetensors.
"""
import dataclasses
import importlib
import json
import os
import sys
from unittest import mock

for name in ("aqt", "aqt.jax_legacy", "aqt.jax_legacy.jax"):
    sys.modules[name] = mock.MagicMock()

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file

SEED, BATCH, STEPS, LEARNING_RATE = 20220811, 4, 10, 2e-3
MASK, RATE = 4, 0.3
TINY = {"max_length": 20, "hidden_size": 16, "num_heads": 2, "num_layers": 2, "mlp_size": 24, "vocab_size": 41,
        "num_segments": 2}
VARIANTS = {"bert": {}, "rope": {}, "bert_rpe": {"relative_attention_max_distance": 6}}


def flat(tree):
    return {"/".join(path): np.asarray(value) for path, value in flax.traverse_util.flatten_dict(tree).items()}


def tree_of(values):
    return flax.traverse_util.unflatten_dict({tuple(name.split("/")): jnp.asarray(v) for name, v in values.items()})


class Original:
    """One of the original's models, to which the random numbers of its masks are fed."""

    def __init__(self, variant):
        modeling = importlib.import_module(f"jestimator.models.{variant}.modeling")
        self.config = modeling.ModelConfig(**TINY, **VARIANTS[variant])
        self.model = modeling.ModelForPretrain(self.config)
        self.methods = modeling.ModelForPretrain
        self.value_and_grad = jax.jit(jax.value_and_grad(self.loss, has_aux=True))

    def first_values(self):
        dummy = jnp.zeros([1, self.config.max_length], jnp.int32)
        return flat(self.model.init(jax.random.PRNGKey(SEED), dummy)["params"])

    def apply(self, params, tokens, uniforms, method):
        with mock.patch.object(jax.lax, "rng_uniform", lambda low, high, shape: uniforms):
            return self.model.apply({"params": params}, tokens, MASK, mask_rate=RATE, method=method)

    def loss(self, params, tokens, uniforms):
        return self.apply(params, tokens, uniforms, self.methods.mlm_train_loss)


def draw_parameter(name, shape, rng):
    """Draws values so large that no part of the model is nearly linear or nearly zero."""
    values = rng.normal(0.0, 0.4 if name.endswith("embed") or name.endswith("embedding") else 0.25, shape)
    return (1.0 + values if name.endswith("scale") else values).astype(np.float32)


def draw_batch(rng):
    shape = [BATCH, TINY["max_length"]]
    return rng.integers(0, TINY["vocab_size"], shape, np.int32), rng.random(shape, np.float32)


def measure(original, rng, tensors):
    """Records the objective, gradients and metrics for random parameters on one batch."""
    params = {n: draw_parameter(n, v.shape, rng) for n, v in sorted(original.first_values().items())}
    tokens, uniforms = draw_batch(rng)
    (loss, size), gradients = original.value_and_grad(tree_of(params), tokens, uniforms)
    logits, masked = original.apply(tree_of(params), tokens, uniforms, original.methods.masked_logits)
    total, mrr, count = original.apply(tree_of(params), tokens, uniforms, original.methods.mlm_valid_metrics)
    tensors |= {f"param/{n}": p for n, p in params.items()}
    tensors |= {f"grad/{n}": g for n, g in flat(gradients).items()}
    tensors |= {"input/targets": tokens, "input/masked": np.asarray(masked, np.int32), "output/logits": np.asarray(logits)}
    return {"loss": float(loss), "size": float(size), "masked_lm_loss": float(total / count), "mrr": float(mrr / count),
            "masked": int(count)}


def train(original, rng, tensors):
    """Trains a few steps from the original's own initial values."""
    first = original.first_values()
    params = tree_of(first)
    adam = optax.adamw(LEARNING_RATE, weight_decay=0.0)
    state, losses, alive = adam.init(params), [], {}
    for step in range(STEPS):
        tokens, uniforms = draw_batch(rng)
        tensors |= {f"train/{step}/targets": tokens, f"train/{step}/masked": (uniforms < RATE).astype(np.int32)}
        (loss, _), gradients = original.value_and_grad(params, tokens, uniforms)
        for n, g in flat(gradients).items():
            if np.any(g) and not n.endswith("key/bias"):
                alive.setdefault(n, step)
        updates, state = adam.update(gradients, state, params)
        params = optax.apply_updates(params, updates)
        losses.append(float(loss))
    tensors |= {f"first/{n}": v for n, v in first.items()}
    return {"losses": losses, "first_gradient": dict(sorted(alive.items()))}


def main(jestimator, flaxformer, folder):
    sys.path[:0] = [jestimator, flaxformer]
    os.makedirs(folder, exist_ok=True)
    facts = {"made_by": "tools/golden_jestimator.py: google-research/jestimator 326824a, float32",
             "note": "the gradient of every key/bias is zero in exact arithmetic: judge it by the global norm",
             "mask_token_id": MASK, "batch_size": BATCH, "learning_rate": LEARNING_RATE, "variants": {}}
    for index, variant in enumerate(VARIANTS):
        original, rng, tensors = Original(variant), np.random.default_rng(SEED + index), {}
        record = {"config": {n: v for n, v in dataclasses.asdict(original.config).items() if n in TINY | VARIANTS[variant]}}
        record |= measure(original, rng, tensors) | {"train": train(original, rng, tensors)}
        facts["variants"][variant] = record
        path = os.path.join(folder, f"{variant}.safetensors")
        save_file(tensors, path)
        os.chmod(path, 0o644)
        print(variant, record)
    with open(os.path.join(folder, "facts.json"), "w") as file:
        file.write(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/golden/jestimator"))
