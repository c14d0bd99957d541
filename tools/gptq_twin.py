"""Quantizes weights by GPTQ (Frantar et al. 2023) in numpy, column by column without blocks.

python tools/gptq_twin.py IN OUT --group G

IN contains weights f32 [R,C] and sums f64 [C,C], which are 2/n sum x x'. Where the diagonal is 0, it becomes 1 and the
column of weights 0. A hundredth of the diagonal's mean is then added to the diagonal. U is the upper Cholesky factor of
the inverse. For each column i: e = (w_i - q_i) / U_ii and W[:, i:] -= e U[i, i:]. A group's scale is max|w| / 7.5 of
its weights at the time when its first column is quantized. OUT gets codes i8 [R,C] and scales f32 [R,C/G].
"""
import argparse

import numpy as np
from safetensors.numpy import load_file, save_file


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("given")
    parser.add_argument("out")
    parser.add_argument("--group", type=int, required=True)
    args = parser.parse_args()
    given = load_file(args.given)
    w, h = given["weights"].astype(np.float64), given["sums"].copy()
    dead = np.diag(h) == 0
    h[dead, dead] = 1
    w[:, dead] = 0
    h += 0.01 * np.diag(h).mean() * np.eye(len(h))
    u = np.linalg.cholesky(np.linalg.inv(h)).T
    codes, scales = np.zeros(w.shape, np.int8), []
    for i in range(w.shape[1]):
        if i % args.group == 0:
            most = np.abs(w[:, i:i + args.group]).max(1).astype(np.float32)
            scale = np.maximum(most / np.float32(7.5), np.finfo(np.float32).eps)
            scales.append(scale)
        code = np.rint(np.clip(w[:, i].astype(np.float32) / scale, -8, 7))
        codes[:, i] = code
        error = (w[:, i] - (code * scale).astype(np.float64)) / u[i, i]
        w[:, i:] -= np.outer(error, u[i, i:])
    save_file({"codes": codes, "scales": np.stack(scales, 1)}, args.out)


if __name__ == "__main__":
    main()
