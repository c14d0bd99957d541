#!/usr/bin/env python3
"""Golden values of learning rate schedules and of LAMB from optax.

Writes tests/golden/optax.json (rates by step, settings of LAMB) and tests/golden/optax.safetensors (parameters,
gradients, and parameters and slots after some of the steps).

Needs jax, optax, numpy and safetensors:  python tools/golden_optax.py
"""
import json
import os
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
STEPS = [0, 1, 5, 9, 10, 11, 37, 60, 79, 80, 81, 99, 100, 130]
PEAK, WARMUP, TOTAL = 3e-3, 10, 100
SHAPES = {"layer/kernel": (6, 10), "layer/bias": (10,), "LayerNorm/gamma": (6,), "zero/kernel": (2, 3), "cube": (2, 3, 4)}
RECORDED = [1, 2, 3, 10]
CASES = {"lamb": dict(optimizer="lamb", steps=10, learning_rate=0.02, warmup_steps=4, decay_to_step=12, beta=0.99,
                      momentum=0.9, weight_decay=0.02)}


def warmed(after):
    """Returns a linear warm-up followed by `after`, whose steps start at 0 again."""
    return optax.join_schedules([optax.linear_schedule(0.0, PEAK, WARMUP), after], [WARMUP])


def schedules():
    left = TOTAL - WARMUP
    whole = optax.polynomial_schedule(PEAK, 0.2 * PEAK, 2.0, TOTAL)
    warmup = optax.linear_schedule(0.0, 1.0, WARMUP)
    return {
        "linear": warmed(optax.linear_schedule(PEAK, 0.0, left)),
        "polynomial": warmed(optax.polynomial_schedule(PEAK, 0.2 * PEAK, 2.0, left)),
        "polynomial_multiplies": lambda step: whole(step) * warmup(step),
        "polynomial_replaces": lambda step: PEAK * warmup(step) if step < WARMUP else whole(step),
        "constant": warmed(optax.constant_schedule(PEAK)),
        "cosine": optax.warmup_cosine_decay_schedule(0.0, PEAK, WARMUP, TOTAL, end_value=0.1 * PEAK),
        "wsd": optax.join_schedules(
            [optax.linear_schedule(0.0, PEAK, WARMUP), optax.constant_schedule(PEAK),
             optax.linear_schedule(PEAK, 0.05 * PEAK, 20)], [WARMUP, TOTAL - 20]),
    }


def run(name, case, parameters, gradients):
    warmup, decay = case["warmup_steps"], case["decay_to_step"]
    rate = lambda step: case["learning_rate"] * jnp.minimum(1.0, step / warmup) * (
        1.0 - jnp.maximum(0.0, step - warmup) / (decay - warmup))
    tx = optax.lamb(rate, b1=case["momentum"], b2=case["beta"], eps=1e-8, weight_decay=case["weight_decay"])
    params = {key: jnp.asarray(value) for key, value in parameters.items()}
    state = tx.init(params)
    recorded = {}
    for step in range(case["steps"]):
        updates, state = jax.jit(tx.update)({key: jnp.asarray(g) for key, g in gradients[step].items()}, state, params)
        params = optax.apply_updates(params, updates)
        if step + 1 in RECORDED:
            adam = state[0]
            for slot, values in (("", params), ("/adam_m", adam.mu), ("/adam_v", adam.nu)):
                recorded |= {f"{name}/{step + 1}/{key}{slot}": np.asarray(value) for key, value in values.items()}
    return recorded


def main():
    rng = np.random.default_rng(1904009621)
    draw = lambda shape: rng.normal(0.0, 0.3, shape).astype(np.float32)
    parameters = {name: np.zeros(shape, np.float32) if name.startswith("zero") else draw(shape)
                  for name, shape in SHAPES.items()}
    gradients = [{name: draw(shape) for name, shape in SHAPES.items()} for _ in range(10)]
    tensors = {f"start/{name}": value for name, value in parameters.items()}
    tensors |= {f"gradient/{step}/{name}": value for step, of in enumerate(gradients) for name, value in of.items()}
    for name, case in CASES.items():
        tensors |= run(name, case, parameters, gradients)
    save_file(tensors, GOLDEN / "optax.safetensors")
    facts = {"made_by": f"tools/golden_optax.py, jax {jax.__version__}, optax {optax.__version__}",
             "learning_rate": PEAK, "warmup_steps": WARMUP, "total_steps": TOTAL, "steps": STEPS,
             "schedules": {name: [float(rate(step)) for step in STEPS] for name, rate in schedules().items()},
             "recorded": RECORDED, "cases": CASES}
    (GOLDEN / "optax.json").write_text(json.dumps(facts, indent=1) + "\n")


main()
