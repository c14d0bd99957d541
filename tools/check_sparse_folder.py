"""Checks a folder of sparse weights against the description of compressed-tensors' format "sparse-bitmask", in numpy.

python tools/check_sparse_folder.py FOLDER [--source SOURCE --sparsity S | --nm N:M] [--plain OUT]

Fails unless quantization_config has a sparsity_config of this format and no config_groups, and each matrix of "Linear"
(all matrices except embeddings and those in "ignore") has "compressed" f32 [K], "bitmask" u8 [R, C/8 rounded up],
"row_offsets" i64 [R] and "shape" i64 [2] instead of "weight". --source is the folder before pruning. With --sparsity,
exactly max(round(n (1 - S)), 1) of the n weights of all these matrices must be kept: the largest by magnitude, and of
equal weights the first by name and position. With --nm, the N largest of each M neighbouring inputs must be kept.
Everything else must be the same bytes. --plain writes the folder with dense f32 weights to OUT.
"""
import argparse
import json
import os
import sys

import numpy as np
from safetensors.numpy import load_file

from written_folder import source_tensors, write_plain

PARTS = ("compressed", "bitmask", "row_offsets", "shape")


def is_table(module):
    return module == "shared" or module.endswith(("_embeddings", "relative_attention_bias"))


def dense(tensors, module):
    values, bits, offsets, shape = (tensors[f"{module}.{part}"] for part in PARTS)
    if (values.dtype, bits.dtype, offsets.dtype, shape.dtype) != (np.float32, np.uint8, np.int64, np.int64):
        sys.exit(f"{module}: {values.dtype} {bits.dtype} {offsets.dtype} {shape.dtype}")
    R, C = shape
    if bits.shape != (R, (C + 7) // 8) or values.ndim != 1:
        sys.exit(f"{module}: {bits.shape} {values.shape} of {shape}")
    places = np.unpackbits(bits, axis=-1, count=C, bitorder="little").astype(bool)
    counts = places.sum(1)
    if not np.array_equal(offsets, np.cumsum(counts) - counts) or counts.sum() != values.size or (values == 0).any():
        sys.exit(f"{module}: bitmask, values and offsets are inconsistent")
    out = np.zeros((R, C), np.float32)
    out[places] = values
    return out


def of_largest(matrices, sparsity):
    sizes = np.concatenate([np.abs(matrices[m]).ravel() for m in sorted(matrices)])
    k = max(round(sizes.size * (1 - sparsity)), 1)
    left = np.zeros(sizes.size, bool)
    left[np.argsort(-sizes, kind="stable")[:k]] = True
    at = np.cumsum([matrices[m].size for m in sorted(matrices)])[:-1]
    return {m: matrices[m] * part.reshape(matrices[m].shape) for m, part in zip(sorted(matrices), np.split(left, at))}


def of_pattern(matrices, nm):
    n, m = map(int, nm.split(":"))
    out = {}
    for name, w in matrices.items():
        groups = w.reshape(-1, m)
        left = np.zeros(groups.shape, bool)
        np.put_along_axis(left, np.argsort(-np.abs(groups), axis=1, kind="stable")[:, :n], True, 1)
        out[name] = (groups * left).reshape(w.shape)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--source")
    parser.add_argument("--sparsity", type=float)
    parser.add_argument("--nm")
    parser.add_argument("--plain")
    args = parser.parse_args()
    config = json.load(open(os.path.join(args.folder, "config.json")))
    said = config["quantization_config"]
    sparsity = said["sparsity_config"]
    want = {"format": "sparse-bitmask", "targets": ["Linear"], "sparsity_structure": args.nm or "unstructured"}
    if said.keys() != {"sparsity_config"}:
        sys.exit(f"quantization_config is {said}")
    if any(sparsity[key] != value for key, value in want.items()):
        sys.exit(f"sparsity_config is {sparsity}")
    tensors = load_file(os.path.join(args.folder, "model.safetensors"))
    modules = {name[:-8] for name in tensors if name.endswith(".bitmask")}
    floats = {n[:-7] for n, t in tensors.items() if n.endswith(".weight") and t.ndim == 2 and not is_table(n[:-7])}
    if not modules or floats != floats & set(sparsity["ignore"]) or modules & set(sparsity["ignore"]):
        sys.exit(f"sparse {sorted(modules)}\nnot sparse {sorted(floats)}\nignored {sparsity['ignore']}")
    plain = {n: t for n, t in tensors.items() if not n.endswith(tuple("." + part for part in PARTS))}
    for module in modules:
        plain[module + ".weight"] = dense(tensors, module)
    if args.source:
        before = source_tensors(args.source, plain)
        matrices = {m: before[m + ".weight"] for m in modules}
        left = of_pattern(matrices, args.nm) if args.nm else of_largest(matrices, args.sparsity)
        for name, w in before.items():
            expected = left.get(name[:-7], w)
            if plain[name].dtype != expected.dtype or not np.array_equal(plain[name], expected):
                sys.exit(f"{name} differs")
    if args.plain:
        write_plain(args.folder, args.plain, config, plain)
    print("sparse:", len(modules))


if __name__ == "__main__":
    main()
