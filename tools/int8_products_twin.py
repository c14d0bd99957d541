"""Computes the logits of a BERT classifier with int8 matmuls in numpy, as its folder's quantization_config specifies.

python tools/int8_products_twin.py FOLDER --inputs IN --outputs OUT [--floats]

FOLDER has compressed-tensors' format "int-quantized" with symmetric int8 input_activations (W8A8). With dynamic scales,
each input row of such a matmul has scale = max(max|x| / 127, 2^-23); with static scales, all rows have the module's
input_scale. Codes are x / scale, rounded half to even and clamped to -128 ... 127; products are summed as int64 and
multiplied by the scales of row and output. Everything else is f32. IN contains input_ids, input_mask and segment_ids
[B,S]; OUT gets class_logits [B,C]. --floats uses dequantized weights and leaves the inputs in floating point.
"""
import argparse
import json
import math
import os

import numpy as np
from safetensors.numpy import load_file, save_file

F = np.float32
ACTIVATIONS = {"num_bits": 8, "type": "int", "symmetric": True}
DYNAMIC, STATIC = {"strategy": "token", "dynamic": True}, {"strategy": "tensor", "dynamic": False}
gelu = np.vectorize(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))), otypes=[F])
gelu_new = np.vectorize(lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), otypes=[F])


class Model:
    def __init__(self, folder, floats):
        self.config = json.load(open(os.path.join(folder, "config.json")))
        self.tensors = load_file(os.path.join(folder, "model.safetensors"))
        self.floats = floats
        groups = self.config["quantization_config"]["config_groups"].values()
        linear = [g for g in groups if "Linear" in g["targets"]]
        assert len(linear) == 1, linear
        said = linear[0]["input_activations"]
        self.static = said["strategy"] == "tensor"
        wanted = ACTIVATIONS | (STATIC if self.static else DYNAMIC)
        assert all(said[k] == v for k, v in wanted.items()), linear

    def matrix(self, name):
        w = self.tensors[name + ".weight"]
        return w.astype(F) * self.tensors[name + ".weight_scale"] if w.dtype == np.int8 else w

    def linear(self, name, x):
        w = self.tensors[name + ".weight"]
        if w.dtype != np.int8 or self.floats:
            return x @ self.matrix(name).T + self.tensors[name + ".bias"]
        if self.static:
            scale = self.tensors[name + ".input_scale"]
        else:
            scale = np.maximum(np.abs(x).max(-1, keepdims=True) / F(127), F(2**-23))
        codes = np.clip(np.rint(x / scale), -128, 127).astype(np.int64)
        sums = codes @ w.astype(np.int64).T
        return sums.astype(F) * scale * self.tensors[name + ".weight_scale"][:, 0] + self.tensors[name + ".bias"]

    def norm(self, name, x):
        centre = x - x.mean(-1, keepdims=True)
        x = centre / np.sqrt((centre**2).mean(-1, keepdims=True) + F(1e-12))
        return x * self.tensors[name + ".weight"] + self.tensors[name + ".bias"]

    def attention(self, at, x, bias):
        B, S, H = x.shape
        heads = self.config["num_attention_heads"]
        q, k, v = (self.linear(f"{at}self.{part}", x).reshape(B, S, heads, H // heads).transpose(0, 2, 1, 3)
                   for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 1, 3, 2) / F(math.sqrt(H // heads)) + bias
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        context = (weights / weights.sum(-1, keepdims=True)) @ v
        out = self.linear(f"{at}output.dense", context.transpose(0, 2, 1, 3).reshape(B, S, H))
        return self.norm(f"{at}output.LayerNorm", out + x)

    def logits(self, ids, mask, segments):
        activation = {"gelu": gelu, "gelu_new": gelu_new}[self.config["hidden_act"]]
        tables = [self.matrix(f"bert.embeddings.{name}_embeddings") for name in ("word", "token_type", "position")]
        x = tables[0][ids] + tables[1][segments] + tables[2][: ids.shape[1]]
        x = self.norm("bert.embeddings.LayerNorm", x)
        bias = (1 - mask[:, None, None, :].astype(F)) * F(-10000)
        for layer in range(self.config["num_hidden_layers"]):
            at = f"bert.encoder.layer.{layer}."
            x = self.attention(at + "attention.", x, bias)
            inner = activation(self.linear(at + "intermediate.dense", x))
            x = self.norm(at + "output.LayerNorm", self.linear(at + "output.dense", inner) + x)
        return self.linear("classifier", np.tanh(self.linear("bert.pooler.dense", x[:, 0])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--outputs", required=True)
    parser.add_argument("--floats", action="store_true")
    args = parser.parse_args()
    given = load_file(args.inputs)
    said = Model(args.folder, args.floats).logits(given["input_ids"], given["input_mask"], given["segment_ids"])
    save_file({"class_logits": said.astype(F)}, args.outputs)


if __name__ == "__main__":
    main()
