"""Reads a folder of weights in eight bits as the description of compressed-tensors' format "int-quantized" says, in numpy.

python tools/check_int8_folder.py FOLDER [--source SOURCE] [--plain OUT]

Fails unless quantization_config is of that format with weights i8 by channel, symmetric, and each matrix that it targets,
and no other, has codes "weight" i8 [R,C] and "weight_scale" f32 [R,1]: "Linear" are all matrices of no table but those
that "ignore" names, other targets are modules by name. --source: the folder before; codes and scales must be those of the
rule scale = max|w| / 127.5, code = w / scale rounded half to even, and all else the same bytes. --plain writes the folder
once more with f32 weights, codes times scales, for tools/check_hf_folder.py.
"""
import argparse
import json
import os
import shutil
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

WEIGHTS = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False}


def is_table(module):
    return module == "shared" or module.endswith(("_embeddings", "relative_attention_bias"))


def targeted(config, tensors):
    said = config["quantization_config"]
    if said["quant_method"] != "compressed-tensors" or said["format"] != "int-quantized":
        sys.exit(f"quantization_config is {said}")
    matrices = {name[:-7] for name, t in tensors.items() if name.endswith(".weight") and t.ndim == 2}
    found = set()
    for group in said["config_groups"].values():
        if any(group["weights"][key] != value for key, value in WEIGHTS.items()) or group["input_activations"]:
            sys.exit(f"a group is {group}")
        for target in group["targets"]:
            found |= {m for m in matrices if not is_table(m)} if target == "Linear" else {target}
    return found - set(said["ignore"])


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
    modules = targeted(config, tensors)
    in_codes = {name[:-7] for name, t in tensors.items() if t.dtype == np.int8}
    scales = {name[:-13] for name in tensors if name.endswith(".weight_scale")}
    if not modules == in_codes == scales:
        sys.exit(f"targeted {sorted(modules)}\nin codes {sorted(in_codes)}\nwith scales {sorted(scales)}")
    plain = {name: t for name, t in tensors.items() if not name.endswith("_scale")}
    for module in modules:
        codes, scale = tensors[module + ".weight"], tensors[module + ".weight_scale"]
        if scale.dtype != np.float32 or scale.shape != (codes.shape[0], 1):
            sys.exit(f"{module}: scales are {scale.dtype} {scale.shape}")
        plain[module + ".weight"] = codes.astype(np.float32) * scale
    if args.source:
        before = load_file(os.path.join(args.source, "model.safetensors"))
        if before.keys() != plain.keys():
            sys.exit(f"other tensors: {before.keys() ^ plain.keys()}")
        for name, w in before.items():
            want = coded(w) if name[:-7] in modules else (w,)
            have = (tensors[name], tensors.get(name + "_scale"))
            if any(a.dtype != b.dtype or not np.array_equal(a, b) for a, b in zip(want, have)):
                sys.exit(f"{name} differs")
    if args.plain:
        shutil.copytree(args.folder, args.plain)
        del config["quantization_config"]
        json.dump(config, open(os.path.join(args.plain, "config.json"), "w"))
        save_file(plain, os.path.join(args.plain, "model.safetensors"), {"format": "pt"})
        os.remove(os.path.join(args.plain, "compress.json"))
    print("in eight bits:", len(modules), "of", sum(t.ndim == 2 for t in plain.values()), "matrices")


if __name__ == "__main__":
    main()
