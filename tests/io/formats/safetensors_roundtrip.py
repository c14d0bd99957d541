"""Reads a safetensors file with the official package, prints its contents, and writes them to a new file."""
import sys

import ml_dtypes  # noqa: F401  (gives numpy its bfloat16)
import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

source, target = sys.argv[1:]
with safe_open(source, framework="np") as file:
    metadata = file.metadata()
    tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
for name, value in tensors.items():
    total = np.sum(value.astype(np.float64))
    print(f"{name} {value.dtype} {list(value.shape)} sum {total:g}")
save_file(tensors, target, metadata)
