"""Checks a folder of int8 weights against the description of compressed-tensors' format "int-quantized", in numpy.

python tools/check_int8_folder.py FOLDER [--source SOURCE] [--plain OUT]

Fails unless quantization_config has this format with symmetric int8 weights per channel, and each targeted matrix, and
no other, has codes "weight" i8 [R,C] and "weight_scale" f32 [R,1]; also "input_scale" f32 [1] if its group has static,
symmetric int8 input_activations per tensor. The target "Linear" means all matrices except embeddings and those in
"ignore"; other targets are names of modules. --source is the folder before quantization: scale = max|w| / 127.5 and
code = w / scale, rounded half to even, must give the same scales and codes, and everything else must be the same bytes.
--plain writes the folder with dequantized f32 weights to OUT, for tools/check_hf_folder.py.
"""
import argparse
import json
import os
import sys

import numpy as np
from safetensors.numpy import load_file

from written_folder import source_tensors, write_plain

WEIGHTS = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False}
INPUTS = WEIGHTS | {"strategy": "tensor"}


def is_table(module):
    return module == "shared" or module.endswith(("_embeddings", "relative_attention_bias"))


def has(said, wanted):
    return all(said[key] == value for key, value in wanted.items())


# The targeted modules, and those of them that have static input scales.
def targeted(config, tensors):
    said = config["quantization_config"]
    if said["quant_method"] != "compressed-tensors" or said["format"] != "int-quantized":
        sys.exit(f"quantization_config is {said}")
    matrices = {name[:-7] for name, t in tensors.items() if name.endswith(".weight") and t.ndim == 2}
    found, static = set(), set()
    for group in said["config_groups"].values():
        if group.get("format") != "int-quantized":  # compressed-tensors reads this field since 0.15
            sys.exit(f"a group's format is {group.get('format')}")
        inputs = group["input_activations"]
        if not has(group["weights"], WEIGHTS) or (inputs and not has(inputs, INPUTS)):
            sys.exit(f"a group is {group}")
        for target in group["targets"]:
            modules = {m for m in matrices if not is_table(m)} if target == "Linear" else {target}
            found |= modules
            static |= modules if inputs else set()
    return found - set(said["ignore"]), static - set(said["ignore"])


def coded(w):
    w = w.astype(np.float32)
    scale = np.maximum(np.abs(w).max(1, keepdims=True) / np.float32(127.5), np.finfo(np.float32).eps)
    return np.rint(np.clip(w / scale, np.float32(-128), np.float32(127))).astype(np.int8), scale


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--source")
    parser.add_argument("--plain")
    args = parser.parse_args()
    config = json.load(open(os.path.join(args.folder, "config.json")))
    tensors = load_file(os.path.join(args.folder, "model.safetensors"))
    modules, static = targeted(config, tensors)
    in_codes = {name[:-7] for name, t in tensors.items() if t.dtype == np.int8}
    scales = {name[:-13] for name in tensors if name.endswith(".weight_scale")}
    if not modules == in_codes == scales:
        sys.exit(f"targeted {sorted(modules)}\nin codes {sorted(in_codes)}\nwith scales {sorted(scales)}")
    with_inputs = {name[:-12] for name in tensors if name.endswith(".input_scale")}
    if static != with_inputs:
        sys.exit(f"static {sorted(static)}\nwith input_scale {sorted(with_inputs)}")
    for module in static:
        scale = tensors[module + ".input_scale"]
        if scale.dtype != np.float32 or scale.shape != (1,) or not scale[0] > 0:
            sys.exit(f"{module}: input_scale is {scale}")
    plain = {name: t for name, t in tensors.items() if not name.endswith("_scale")}
    for module in modules:
        codes, scale = tensors[module + ".weight"], tensors[module + ".weight_scale"]
        if scale.dtype != np.float32 or scale.shape != (codes.shape[0], 1):
            sys.exit(f"{module}: scales are {scale.dtype} {scale.shape}")
        plain[module + ".weight"] = codes.astype(np.float32) * scale
    if args.source:
        before = source_tensors(args.source, plain)
        for name, w in before.items():
            want = coded(w) if name[:-7] in modules else (w,)
            have = (tensors[name], tensors.get(name + "_scale"))
            if any(a.dtype != b.dtype or not np.array_equal(a, b) for a, b in zip(want, have)):
                sys.exit(f"{name} differs")
    if args.plain:
        write_plain(args.folder, args.plain, config, plain)
    print("in eight bits:", len(modules), "of", sum(t.ndim == 2 for t in plain.values()), "matrices")


if __name__ == "__main__":
    main()
