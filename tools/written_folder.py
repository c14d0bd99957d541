"""Helpers shared by the checks of compressed folders: load the source tensors, and write a folder of plain floats."""
import json
import os
import shutil
import sys

from safetensors.numpy import load_file, save_file


def source_tensors(source, plain):
    """Returns the tensors of the uncompressed folder; exits if their names differ from those of `plain`."""
    before = load_file(os.path.join(source, "model.safetensors"))
    if before.keys() != plain.keys():
        sys.exit(f"other tensors: {before.keys() ^ plain.keys()}")
    return before


def write_plain(folder, to, config, plain):
    """Writes a copy of the folder with the float tensors `plain` and without its quantization config."""
    shutil.copytree(folder, to)
    del config["quantization_config"]
    json.dump(config, open(os.path.join(to, "config.json"), "w"))
    save_file(plain, os.path.join(to, "model.safetensors"), {"format": "pt"})
    os.remove(os.path.join(to, "compress.json"))
