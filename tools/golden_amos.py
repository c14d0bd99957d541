#!/usr/bin/env python3
"""Golden values of optimizers from JEstimator's Amos and from optax.

Runs amos.py and amos_helper.py of google-research/jestimator, whose path is the only argument, on random
parameters and gradients. The etas and slot shapes of its BERTs come from get_eta_fn and get_shape_fn in their
modeling.py, extracted from the source because the rest needs flaxformer. Writes tests/golden/amos.safetensors
(parameters, gradients, and parameters and slots after some of the steps) and tests/golden/amos.json (settings,
expressions, eta and shapes).

Needs jax, flax, optax, absl-py and safetensors:  python tools/golden_amos.py /path/to/jestimator
"""
import ast
import json
import math
import os
import sys
import types
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, sys.argv[1])
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jestimator import amos, amos_helper
from safetensors.numpy import save_file

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
LAYER = "encoder/encoder_block/layers_0/"
SHAPES = {
    "encoder/embedder_block/token_embed/embedding": (11, 6),
    LAYER + "attention_block/attention_layer/relpos_embed": (5, 6),
    LAYER + "mlp_block/dense1/kernel": (6, 10),
    LAYER + "mlp_block/dense2/kernel": (10, 6),
    LAYER + "mlp_block/dense2/bias": (6,),
    LAYER + "mlp_block/layer_norm/scale": (6,),
    "head/cube": (2, 3, 4),
    "head/whole": (3, 5),
}
ETA = {r".*/scale": 1.0, r".*/(bias|relpos_embed)": 0.5, r".*/embedding": "sqrt(2 / SHAPE[-1])",
       r".*/dense2/kernel": "sqrt(2 / SHAPE[0])", r".*/kernel": "sqrt(1 / SHAPE[0])",
       r"head/": "1 / prod(SHAPE[:-1])"}
SLOTS = {r".*/kernel": "(1, SHAPE[1])", r".*embed": "(SHAPE[0], 1)", r"head/cube": "(SHAPE[0], 1, SHAPE[2])",
         r"head/whole": "SHAPE", r".*": "()"}
RECORDED = [1, 2, 3, 10, 20]
CASES = {
    "amos": dict(optimizer="amos", steps=20, learning_rate=0.02, warmup_steps=5, decay_to_step=0, beta=0.99,
                 momentum=0.9, clip_value=0.5, extra_l2=0.0, c_coef=0.25, d_coef=0.25),
    "amos_plain": dict(optimizer="amos", steps=20, learning_rate=0.4, warmup_steps=3, decay_to_step=25, beta=0.9,
                       momentum=0.0, clip_value=0.0, extra_l2=0.01, c_coef=0.5, d_coef=0.3),
    "optax_adamw": dict(optimizer="adamw", steps=10, learning_rate=0.02, warmup_steps=4, decay_to_step=12,
                        beta=0.999, momentum=0.9, weight_decay=0.01),
    "optax_adam": dict(optimizer="adam", steps=10, learning_rate=0.02, warmup_steps=4, decay_to_step=0,
                       beta=0.99, momentum=0.8),
}
EXPRESSIONS = [
    "1", "1.5e-3", "SHAPE[0]", "SHAPE[-1]", "SHAPE", "()", "(1,)", "(1, SHAPE[1])", "1, SHAPE[-1]", "SHAPE[:-1]",
    "SHAPE[1:]", "SHAPE[-2:]", "SHAPE[:9]", "SHAPE[5:]", "SHAPE[1:2]", "SHAPE[:-1] + (1,)", "sqrt(2 / SHAPE[-1])",
    "sqrt(1/(SHAPE[0]*64))", "1 / prod(SHAPE[:-1])", "SHAPE[1] // 3", "-SHAPE[1] // 3", "SHAPE[1] % 3",
    "-SHAPE[1] % 3", "7 - 2 - 1", "2 ** 3 ** 2", "-2 ** 2", "2 ** -1", "2 * 3 % 4", "12 / 2 / 3", "--1",
    "(1 + 2) * 3", "log(8, 2)", "log(SHAPE[0])", "exp(1)", "log2(8)", "log10(1000)", "pow(2, 0.5)", "floor(2.7)",
    "ceil(2.2)", "abs(-3)", "fabs(-2.5)", "sum(SHAPE)", "max(SHAPE)", "min(SHAPE)", "mean(SHAPE)", "prod(())",
    ".5", "(SHAPE[0], (2 + 1) * 2, 7)", "(4, 5)[1]",
]


def nested(flat):
    out = {}
    for name, value in flat.items():
        *path, last = name.split("/")
        node = out
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return out


def flat(tree, path=()):
    if not isinstance(tree, dict):
        return {"/".join(path): tree}
    return {name: value for key, inner in tree.items() for name, value in flat(inner, (*path, key)).items()}


def schedule(case):
    """Returns JEstimator's schedule: a linear warm-up, then a linear decay that starts where the warm-up ends."""
    warmup, decay = case["warmup_steps"], case["decay_to_step"]

    def rate(step):
        lr = case["learning_rate"] * jnp.minimum(1.0, step / warmup)
        return lr * (1.0 - jnp.maximum(0.0, step - warmup) / (decay - warmup)) if decay else lr

    return rate


def optimizer(case):
    if case["optimizer"] == "amos":
        by_map = lambda rules: amos_helper.params_fn_from_assign_map(rules, eval_str_value=True)
        keys = ("beta", "momentum", "clip_value", "extra_l2", "c_coef", "d_coef")
        return amos.amos(schedule(case), by_map(ETA), by_map(SLOTS), **{key: case[key] for key in keys})
    betas = {"b1": case["momentum"], "b2": case["beta"]}
    if case["optimizer"] == "adam":
        return optax.adam(schedule(case), **betas)
    return optax.adamw(schedule(case), weight_decay=case["weight_decay"], **betas)


def slots(state):
    """Returns the slots in an optimizer's state, by smelt's names."""
    out = {}
    for part in state if type(state) is tuple else (state,):
        for attribute, slot in (("v", "amos_v"), ("b", "amos_b"), ("ema", "amos_m"), ("mu", "adam_m"), ("nu", "adam_v")):
            if hasattr(part, attribute):
                out.update({f"{name}/{slot}": value for name, value in flat(getattr(part, attribute)).items()})
    return out


def run(name, case, parameters, gradients):
    tx = optimizer(case)
    params = nested({key: jnp.asarray(value) for key, value in parameters.items()})
    state = tx.init(params)
    update = jax.jit(tx.update)
    recorded = {}
    for step in range(case["steps"]):
        updates, state = update(nested(gradients[step]), state, params)
        params = optax.apply_updates(params, updates)
        if step + 1 in RECORDED:
            for tensor, value in {**flat(params), **slots(state)}.items():
                recorded[f"{name}/{step + 1}/{tensor}"] = np.asarray(value)
    return recorded


def rules_of(path, names):
    """Returns the values of modeling.py's functions for the parameters of its model."""
    tree = ast.parse(path.read_text())
    wanted = [node for node in tree.body if getattr(node, "name", "") in ("get_eta_fn", "get_shape_fn")]
    scope = {"math": math, "ModelConfig": None, "Shape": tuple, "Tuple": tuple, "ArrayLike": None}
    for node in wanted:
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef):
                part.returns = None
            if isinstance(part, ast.arg):
                part.annotation = None
    exec(compile(ast.Module(wanted, []), str(path), "exec"), scope)
    config = types.SimpleNamespace(hidden_size=48, mlp_size=96)
    eta, shape = scope["get_eta_fn"](config), scope["get_shape_fn"](config)
    return [{"name": name, "shape": dims, "eta": eta(tuple(name.split("/")), dims),
             "slots": shape(tuple(name.split("/")), dims)} for name, dims in names.items()]


def bert_names(relpos):
    hidden, mlp, layer = 48, 96, "encoder/encoder_block/layers_{}/"
    dense = lambda name, rows, columns: {name + "/kernel": (rows, columns), name + "/bias": (columns,)}
    norm = lambda name: {name + "/layer_norm/scale": (hidden,), name + "/layer_norm/bias": (hidden,)}
    names = norm("encoder/embedder_block")
    for table, rows in (("token", 99), ("position", 32), ("segment", 1)):
        names[f"encoder/embedder_block/{table}_embed/embedding"] = (rows, hidden)
    for i in (0, 11):
        at = layer.format(i)
        for part in ("query", "key", "value"):
            names |= dense(f"{at}attention_block/attention_layer/{part}", hidden, hidden)
        if relpos:
            names[at + "attention_block/attention_layer/relpos_embed"] = (15, hidden)
        names |= dense(at + "attention_block/attention_out", hidden, hidden) | norm(at + "attention_block")
        names |= dense(at + "mlp_block/dense1", hidden, mlp) | dense(at + "mlp_block/dense2", mlp, hidden)
        names |= norm(at + "mlp_block")
    return names | dense("mlm_head/dense", hidden, hidden) | norm("mlm_head") | {
        "mlm_head/bias": (99,), "classifier/kernel": (hidden, 3), "classifier/bias": (3,), "cls": (1, 1, hidden)}


def main():
    rng = np.random.default_rng(221011693)
    draw = lambda shape, spread: rng.normal(0.0, spread, shape).astype(np.float32)
    parameters = {name: draw(shape, 0.3) for name, shape in SHAPES.items()}
    spreads = {name: 10.0 ** rng.uniform(-3, 0.3) for name in SHAPES}  # clip_value clips some of them
    gradients = [{name: draw(shape, spreads[name]) for name, shape in SHAPES.items()} for _ in range(20)]
    tensors = {f"start/{name}": value for name, value in parameters.items()}
    tensors |= {f"gradient/{step}/{name}": value for step, of in enumerate(gradients) for name, value in of.items()}
    for name, case in CASES.items():
        tensors |= run(name, case, parameters, gradients)
    save_file(tensors, GOLDEN / "amos.safetensors")

    models = Path(sys.argv[1]) / "jestimator/models"
    as_list = lambda value: list(value) if isinstance(value, tuple) else float(value)
    facts = {
        "made_by": f"tools/golden_amos.py, jestimator's amos.py, jax {jax.__version__}, optax {optax.__version__}",
        "eta": [[key, str(value)] for key, value in ETA.items()], "slots": [[key, value] for key, value in SLOTS.items()],
        "recorded": RECORDED, "cases": CASES,
        "expressions": [[text, as_list(amos_helper.evaluate(text, (6, 10, 4)))] for text in EXPRESSIONS],
        "models": {model: rules_of(models / model / "modeling.py", bert_names(model == "bert_rpe"))
                   for model in ("bert", "rope", "bert_rpe")},
    }
    (GOLDEN / "amos.json").write_text(json.dumps(facts, indent=1) + "\n")


main()
