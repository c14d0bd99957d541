"""Quantizes each f32 matrix NAME of a safetensors file with numpy, as compressed-tensors does with strategy "channel"
(calculate_qparams and _quantize at 52792be). Writes NAME.scales [R,1], NAME.codes i8 [R,C] and the dequantized
NAME.said f32."""
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

source, target = sys.argv[1:]
out = {}
for name, w in load_file(source).items():
    least, most = np.minimum(w.min(1, keepdims=True), 0), np.maximum(w.max(1, keepdims=True), 0)
    scale = np.maximum(np.abs(least), np.abs(most)) / np.float32(255 / 2)
    scale = np.maximum(scale, np.finfo(np.float32).eps)
    codes = np.rint(np.clip(w / scale, np.float32(-128), np.float32(127))).astype(np.int8)
    assert scale.dtype == np.float32
    out |= {f"{name}.scales": scale, f"{name}.codes": codes, f"{name}.said": codes.astype(np.float32) * scale}
save_file(out, target)
