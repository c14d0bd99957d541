"""Compares the rescaled weights of `smelt compress prune` with numpy's least squares on activations from transformers.

python tools/check_rescale.py SOURCE CUT --rows ROWS.tsv --length S

SOURCE and CUT are folders of a BERT or an ELECTRA that classifies texts; CUT has fewer neurons and heads in each layer.
For both output matmuls of each layer, finds the units that were kept and then the factors s that minimize
|sum_k s_k a_k - y| over all tokens, where y is the output of the matmul in SOURCE and a_k the contribution of unit k.
Fails unless the weights of CUT are those of SOURCE times these factors.
"""
import argparse
import csv
import os
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
from safetensors.numpy import load_file

from check_hf_folder import load_model


def products(model, folder, texts, length):
    """Yields (name, inputs [T,F], units) for both output matmuls of each layer; T are the tokens without padding."""
    import transformers
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    asked = tokenizer(texts, padding="max_length", truncation=True, max_length=length, return_tensors="np")
    encoder = getattr(model, model.config.model_type).encoder
    states = model(**asked, training=False, output_hidden_states=True).hidden_states
    seen = asked["attention_mask"].astype(bool)
    mask = (1 - asked["attention_mask"][:, None, None, :].astype(np.float32)) * -10000
    for i, layer in enumerate(encoder.layer):
        at = f"{model.config.model_type}.encoder.layer.{i}."
        given = dict(attention_mask=mask, head_mask=None, encoder_hidden_states=None, encoder_attention_mask=None,
                     past_key_value=None, output_attentions=False)
        context = layer.attention.self_attention(states[i], **given)[0].numpy()[seen]
        yield at + "attention.output.dense.weight", context, model.config.num_attention_heads
        inner = layer.intermediate(layer.attention(states[i], **given)[0]).numpy()[seen]
        yield at + "output.dense.weight", inner, inner.shape[1]


def kept_units(name, units, source, cut):
    """Returns the indices of the kept units, found by the weights that compute them, which pruning does not change."""
    made = name.replace("attention.output.dense", "attention.self.value") if "attention" in name else \
        name.replace("output.dense", "intermediate.dense")
    was = source[made].reshape(units, -1)
    width = was.shape[1]
    return [int(np.flatnonzero((was == row).all(1))[0]) for row in cut[made].reshape(-1, width)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("cut")
    parser.add_argument("--rows", required=True)
    parser.add_argument("--length", type=int, required=True)
    args = parser.parse_args()
    source, cut = (load_file(os.path.join(folder, "model.safetensors")) for folder in (args.source, args.cut))
    with open(args.rows) as file:
        texts = [row["text"] for row in csv.DictReader(file, delimiter="\t")]
    most = 0
    for name, rows, units in products(load_model(args.source), args.source, texts, args.length):
        kept = kept_units(name, units, source, cut)
        weight = source[name].astype(np.float64)  # [H, F]
        width = weight.shape[1] // units
        parts = [rows[:, u * width:(u + 1) * width] @ weight[:, u * width:(u + 1) * width].T for u in range(units)]
        added = np.stack([parts[u].ravel() for u in kept], 1)
        factors = np.linalg.lstsq(added, sum(parts).ravel(), rcond=None)[0]
        of_cut = cut[name].reshape(len(weight), len(kept), width)
        wanted = weight.reshape(len(weight), units, width)[:, kept] * factors[:, None]
        error = np.abs(of_cut - wanted).max() / np.abs(wanted).max()
        if error > 1e-3:
            sys.exit(f"{name}: off by {error}: factors are {factors}")
        most = max(most, np.abs(factors - 1).max())
    if most < 0.1:
        sys.exit(f"all factors are within {most} of 1")
    print("all matmuls are rescaled by least squares")


if __name__ == "__main__":
    main()
