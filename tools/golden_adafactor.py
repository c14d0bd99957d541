#!/usr/bin/env python3
"""Golden values of Adafactor from T5X's adafactor.py, transformers' optimization.py and optax.

The classes are extracted from the source files of T5X and transformers, so that nothing else of them is needed:
python tools/golden_adafactor.py /path/to/t5x/t5x/adafactor.py /path/to/transformers/optimization.py

Writes tests/golden/adafactor.safetensors (parameters, gradients, and parameters and slots after some of the steps)
and tests/golden/adafactor.json (settings). Needs jax, flax, optax, torch, absl-py and safetensors.
"""
import ast
import json
import math
import os
import sys
import types
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from safetensors.numpy import save_file

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
MATRICES = {"shared/embedding": (11, 6), "mlp/wi/kernel": (6, 10), "mlp/wo/kernel": (10, 6), "square": (6, 6),
            "thin": (3, 12), "norm/scale": (6,), "small/scale": (5,)}
SHAPES = MATRICES | {"cube": (7, 3, 8)}
RECORDED = [1, 2, 10]
CASES = {
    "t5x": dict(program="t5x", learning_rate=0.02, least=5),
    "t5x_momentum": dict(program="t5x", learning_rate=0.05, least=5, decay_rate=0.7, clip=0.6, parameter_scale=False,
                         momentum=0.9, weight_decay=0.01),
    "transformers": dict(program="transformers", learning_rate=0.03, least=0),
    "transformers_momentum": dict(program="transformers", learning_rate=0.01, least=0, decay_rate=0.9, clip=0.5,
                                  momentum=0.8, weight_decay=0.02),
    "optax": dict(program="optax", learning_rate=0.02, least=5, clip=0.9),
}
DEFAULTS = dict(decay_rate=0.8, clip=1.0, parameter_scale=True, momentum=0.0, weight_decay=0.0)


def t5x_class(path):
    """Returns T5X's Adafactor, with stubs of the two modules of T5X that it imports."""
    class OptimizerDef:
        def __init__(self, hyper_params):
            self.hyper_params = hyper_params

    for name, members in {"t5x": {}, "t5x.utils": {}, "t5x.optimizers": dict(OptimizerDef=OptimizerDef,
                                                                             OptimizerState=None)}.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
    sys.modules["t5x"].utils = sys.modules["t5x.utils"]
    scope = {"__name__": "adafactor"}
    exec(compile(Path(path).read_text(), path, "exec"), scope)
    return scope["Adafactor"]


def run_t5x(case, parameters, gradients, tell):
    optimizer = t5x_class(sys.argv[1])(
        learning_rate=case["learning_rate"], decay_rate=case["decay_rate"], clipping_threshold=case["clip"],
        multiply_by_parameter_scale=case["parameter_scale"], beta1=case["momentum"] or None,
        weight_decay_rate=case["weight_decay"] or None, min_dim_size_to_factor=case["least"])
    values = {name: jnp.asarray(value) for name, value in parameters.items()}
    states = {name: optimizer.init_param_state(value, name) for name, value in values.items()}
    for step, of in enumerate(gradients):
        for name in values:
            values[name], states[name] = optimizer.apply_param_gradient(
                step, optimizer.hyper_params, values[name], states[name], jnp.asarray(of[name]), name)
            state = states[name]
            slots = {"adafactor_v": state.v}
            if state.v_row.shape != (1,):
                # v_row belongs to the smaller dimension
                rows_first = parameters[name].shape[0] <= parameters[name].shape[1]
                row, column = (state.v_row, state.v_col) if rows_first else (state.v_col, state.v_row)
                slots = {"adafactor_row": row[:, None], "adafactor_column": column[None, :]}
            if case["momentum"]:
                slots["adafactor_m"] = state.m
            tell(step, name, values[name], slots)


def transformers_class(path):
    tree = ast.parse(Path(path).read_text())
    found = [node for node in tree.body if getattr(node, "name", "") == "Adafactor"]
    scope = {"torch": torch, "math": math, "Optimizer": torch.optim.Optimizer}
    exec(compile(ast.Module(found, []), path, "exec"), scope)
    return scope["Adafactor"]


def run_transformers(case, parameters, gradients, tell):
    values = {name: torch.nn.Parameter(torch.tensor(value.tolist())) for name, value in parameters.items()}
    optimizer = transformers_class(sys.argv[2])(
        list(values.values()), lr=case["learning_rate"], clip_threshold=case["clip"], decay_rate=-case["decay_rate"],
        beta1=case["momentum"] or None, weight_decay=case["weight_decay"], scale_parameter=case["parameter_scale"],
        relative_step=False)
    array = lambda tensor: np.asarray(tensor.tolist(), np.float32)
    for step, of in enumerate(gradients):
        for name, value in values.items():
            value.grad = torch.tensor(of[name].tolist())
        optimizer.step()
        for name, value in values.items():
            state = optimizer.state[value]
            if value.dim() > 1:
                slots = {"adafactor_row": array(state["exp_avg_sq_row"])[..., None],
                         "adafactor_column": array(state["exp_avg_sq_col"])[..., None, :]}
            else:
                slots = {"adafactor_v": array(state["exp_avg_sq"])}
            if case["momentum"]:
                slots["adafactor_m"] = array(state["exp_avg"])
            tell(step, name, array(value), slots)


def run_optax(case, parameters, gradients, tell):
    tx = optax.adafactor(case["learning_rate"], min_dim_size_to_factor=case["least"], decay_rate=case["decay_rate"],
                         multiply_by_parameter_scale=case["parameter_scale"], clipping_threshold=case["clip"])
    values = {name: jnp.asarray(value) for name, value in parameters.items()}
    state = tx.init(values)
    for step, of in enumerate(gradients):
        updates, state = tx.update({name: jnp.asarray(g) for name, g in of.items()}, state, values)
        values = optax.apply_updates(values, updates)
        for name, value in values.items():
            tell(step, name, value, {})


def main():
    rng = np.random.default_rng(180404235)
    draw = lambda shape, spread: rng.normal(0.0, spread, shape).astype(np.float32)
    # The scale of one parameter is below epsilon2. Gradients differ in magnitude between steps, so that some are
    # clipped.
    parameters = {name: draw(shape, 1e-4 if name.startswith("small") else 0.4) for name, shape in SHAPES.items()}
    gradients = [{name: draw(shape, 10.0 ** rng.uniform(-3, 1)) for name, shape in SHAPES.items()} for _ in range(10)]
    tensors = {f"start/{name}": value for name, value in parameters.items()}
    tensors |= {f"gradient/{step}/{name}": value for step, of in enumerate(gradients) for name, value in of.items()}
    cases = {name: DEFAULTS | case | {"steps": len(gradients)} for name, case in CASES.items()}
    for case_name, case in cases.items():

        def tell(step, name, value, slots):
            if step + 1 in RECORDED:
                for slot, of_slot in {"": value, **{"/" + key: slot for key, slot in slots.items()}}.items():
                    tensors[f"{case_name}/{step + 1}/{name}{slot}"] = np.asarray(of_slot, np.float32)

        names = MATRICES if case["program"] == "t5x" else SHAPES  # T5X's heuristic accepts no others
        globals()["run_" + case["program"]](case, {name: parameters[name] for name in names}, gradients, tell)
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, GOLDEN / "adafactor.safetensors")
    made_by = f"tools/golden_adafactor.py, jax {jax.__version__}, optax {optax.__version__}, torch {torch.__version__}"
    facts = {"made_by": made_by, "recorded": RECORDED, "cases": cases}
    (GOLDEN / "adafactor.json").write_text(json.dumps(facts, indent=1) + "\n")


main()
