"""What the checks of written folders do alike: tensors against those of the source, and a folder of plain floats."""
import json
import os
import shutil
import sys

from safetensors.numpy import load_file, save_file


def source_tensors(source, plain):
    """Those of the folder that `plain` was made of, of the same names."""
    before = load_file(os.path.join(source, "model.safetensors"))
    if before.keys() != plain.keys():
        sys.exit(f"other tensors: {before.keys() ^ plain.keys()}")
    return before


def write_plain(folder, to, config, plain):
    """A copy of the folder that any program reads: with these tensors and nothing said of codes."""
    shutil.copytree(folder, to)
    del config["quantization_config"]
    json.dump(config, open(os.path.join(to, "config.json"), "w"))
    save_file(plain, os.path.join(to, "model.safetensors"), {"format": "pt"})
    os.remove(os.path.join(to, "compress.json"))
