"""Computes the pruning schedule and masks of TensorFlow Model Optimization in numpy.

python tools/pruning_twin.py IN OUT --begin B --end E --every N --steps T --sparsity S --kept K

OUT gets "schedule" f64 [T + 1]: for each step t the sparsity S (1 - (1 - p)^3) with p = (t - B) / (E - B), clamped to 0
… 1, if B <= t <= E and N divides t - B; otherwise -1 (pruning_schedule.py, PolynomialDecay of power 3). OUT also gets a
mask for each tensor of IN: 1 where |w| is at least the K-th largest of all tensors together (pruning_impl.py), else 0.
"""
import argparse

import numpy as np
from safetensors.numpy import load_file, save_file


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tensors")
    parser.add_argument("out")
    for name in ("begin", "end", "every", "steps", "kept"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--sparsity", type=float)
    args = parser.parse_args()
    t = np.arange(args.steps + 1)
    p = np.clip((t - args.begin) / (args.end - args.begin), 0, 1)
    due = (t >= args.begin) & (t <= args.end) & ((t - args.begin) % args.every == 0)
    out = {"schedule": np.where(due, args.sparsity * (1 - (1 - p) ** 3), -1)}
    tensors = load_file(args.tensors)
    sizes = np.concatenate([np.abs(w).ravel() for w in tensors.values()])
    least = np.sort(sizes)[::-1][args.kept - 1]
    out |= {name: (np.abs(w) >= least).astype(np.float32) for name, w in tensors.items()}
    save_file(out, args.out)


if __name__ == "__main__":
    main()
