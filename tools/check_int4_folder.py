"""Checks a folder of int4 weights against the description of compressed-tensors' format "pack-quantized", in numpy.

python tools/check_int4_folder.py FOLDER --group G [--source SOURCE] [--plain OUT]

Fails unless quantization_config has this format with symmetric int4 weights in groups of G, and each matrix of "Linear"
(all matrices except embeddings and those in "ignore") has "weight_packed" i32 [R,C/8], "weight_scale" f32 [R,C/G] and
"weight_shape" i64 [2]. --source is the folder before quantization: scale = max|w| / 7.5 and code = w / scale, rounded
half to even, must give the same scales and codes, and everything else must be the same bytes. --plain writes the
dequantized f32 weights to OUT.
"""
import argparse
import json
import os
import sys

import numpy as np
from safetensors.numpy import load_file

from written_folder import source_tensors, write_plain

F = np.float32
PARTS = ("_packed", "_scale", "_shape")


def is_table(module):
    return module == "shared" or module.endswith(("_embeddings", "relative_attention_bias"))


def unpacked(words):
    codes = (words.view(np.uint32)[..., None] >> (4 * np.arange(8, dtype=np.uint32))) & 15
    return codes.reshape(words.shape[0], -1).astype(np.int8) - 8


def coded(w, group):
    groups = w.astype(F).reshape(w.shape[0], -1, group)
    scale = np.maximum(np.abs(groups).max(2) / F(7.5), np.finfo(F).eps)
    codes = np.rint(np.clip(groups / scale[..., None], F(-8), F(7))).astype(np.int8)
    return codes.reshape(w.shape), scale


def check_config(said, group):
    want = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": group, "dynamic": False}
    groups = list(said["config_groups"].values())
    if said["quant_method"] != "compressed-tensors" or said["format"] != "pack-quantized" or len(groups) != 1:
        sys.exit(f"quantization_config is {said}")
    if groups[0].get("format") != "pack-quantized":  # compressed-tensors reads this field since 0.15
        sys.exit(f"a group's format is {groups[0].get('format')}")
    if groups[0]["targets"] != ["Linear"] or groups[0]["input_activations"]:
        sys.exit(f"a group is {groups[0]}")
    if any(groups[0]["weights"][key] != value for key, value in want.items()):
        sys.exit(f"weights are {groups[0]['weights']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--group", type=int, required=True)
    parser.add_argument("--source")
    parser.add_argument("--plain")
    args = parser.parse_args()
    config = json.load(open(os.path.join(args.folder, "config.json")))
    said = config["quantization_config"]
    check_config(said, args.group)
    tensors = load_file(os.path.join(args.folder, "model.safetensors"))
    modules = {name[:-14] for name in tensors if name.endswith(".weight_packed")}
    floats = {n[:-7] for n, t in tensors.items() if n.endswith(".weight") and t.ndim == 2 and not is_table(n[:-7])}
    if not modules or floats != floats & set(said["ignore"]) or modules & set(said["ignore"]):
        sys.exit(f"in codes {sorted(modules)}\nin floats {sorted(floats)}\nignored {said['ignore']}")
    plain = {name: t for name, t in tensors.items() if not name.endswith(PARTS)}
    codes = {}
    for module in modules:
        words, scale, shape = (tensors[f"{module}.weight{part}"] for part in PARTS)
        R, C = shape
        if (words.dtype, scale.dtype, shape.dtype) != (np.int32, F, np.int64):
            sys.exit(f"{module}: {words.dtype} {scale.dtype} {shape.dtype}")
        if words.shape != (R, C // 8) or scale.shape != (R, C // args.group):
            sys.exit(f"{module}: {words.shape} {scale.shape} of {shape}")
        codes[module] = unpacked(words)
        plain[module + ".weight"] = codes[module].astype(F) * scale.repeat(args.group, 1)
    if args.source:
        before = source_tensors(args.source, plain)
        for name, w in before.items():
            module = name[:-7]
            want = coded(w, args.group) if module in modules else (w,)
            have = (codes[module], tensors[name + "_scale"]) if module in modules else (tensors[name],)
            if any(a.dtype != b.dtype or not np.array_equal(a, b) for a, b in zip(want, have)):
                sys.exit(f"{name} differs")
    if args.plain:
        write_plain(args.folder, args.plain, config, plain)
    print("in four bits:", len(modules))


if __name__ == "__main__":
    main()
