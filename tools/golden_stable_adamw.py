#!/usr/bin/env python3
"""Golden values of StableAdamW from torch-optimi (CPU, float64), as ModernBERT was trained: with fully decoupled weight decay.

Writes tests/golden/stable_adamw.json (settings) and tests/golden/stable_adamw.safetensors (parameters, gradients, and
parameters and slots after some of the steps). The gradients of steps 5 and 6 are larger, so that
StableAdamW lowers the learning rates.

Needs torch, torch-optimi, numpy and safetensors:  python tools/golden_stable_adamw.py
"""
import json
from pathlib import Path

import numpy as np
import torch
from optimi import StableAdamW
from safetensors.numpy import save_file

GOLDEN = Path(__file__).resolve().parents[1] / "tests/golden"
SHAPES = {"layer/kernel": (6, 10), "layer/bias": (10,), "zero/kernel": (2, 3)}
RATE, FULL_DECAY, STEPS, RECORDED = 0.02, 1e-3, 10, [1, 2, 6, 10]
# weight_decay is the coefficient of AdamW, which is multiplied by the rate. It gives the same decay as FULL_DECAY *
# rate / RATE.
CASE = dict(optimizer="stable_adamw", steps=STEPS, learning_rate=RATE, momentum=0.9, beta=0.98, epsilon=1e-6,
            weight_decay=FULL_DECAY / RATE)


def main():
    rng = np.random.default_rng(230413013)
    draw = lambda shape: rng.normal(0.0, 0.3, shape).astype(np.float32)
    parameters = {name: np.zeros(shape, np.float32) if name.startswith("zero") else draw(shape)
                  for name, shape in SHAPES.items()}
    gradients = [{name: draw(shape) * np.float32(20 if step in (4, 5) else 1) for name, shape in SHAPES.items()}
                 for step in range(STEPS)]
    tensors = {f"start/{name}": value for name, value in parameters.items()}
    tensors |= {f"gradient/{step}/{name}": value for step, of in enumerate(gradients) for name, value in of.items()}
    of = {name: torch.nn.Parameter(torch.tensor(value, dtype=torch.float64)) for name, value in parameters.items()}
    optimizer = StableAdamW(list(of.values()), lr=RATE, betas=(0.9, 0.98), eps=1e-6, weight_decay=FULL_DECAY,
                            decouple_lr=True, max_lr=RATE, triton=False, foreach=False)
    for step in range(STEPS):
        for name, parameter in of.items():
            parameter.grad = torch.tensor(gradients[step][name], dtype=torch.float64)
        optimizer.step()
        if step + 1 in RECORDED:
            for name, parameter in of.items():
                state = optimizer.state[parameter]
                for slot, value in (("", parameter), ("/adam_m", state["exp_avg"]), ("/adam_v", state["exp_avg_sq"])):
                    tensors[f"stable_adamw/{step + 1}/{name}{slot}"] = value.detach().numpy().astype(np.float32)
    save_file(tensors, GOLDEN / "stable_adamw.safetensors")
    (GOLDEN / "stable_adamw.json").write_text(json.dumps({"cases": {"stable_adamw": CASE}}, indent=1) + "\n")


main()
