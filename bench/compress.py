#!/usr/bin/env python3
"""Measures size and speed of pruned and quantized forms of a fine-tuned BERT with `smelt compress report`; prints JSON.

Needs build/release/smelt (scripts/build) and a Python with numpy (.venv-oracle, scripts/test). The model has the sizes
of --model and random weights, and its rows have random words, so only its sizes and times are meaningful, not its
scores. It is compared with the same model with half of its feed-forward neurons (--ffn), with half of its layers, and
in int8 with embeddings: with floating-point matmuls (int8), and with integer matmuls by dynamic scales per row (w8a8)
or by calibrated scales (static). Prints for each its bytes, loading time and memory as shares of the original model's,
and for each batch size and length the speed-up, with the interval over the rounds.
The figures in the documentation were measured on an otherwise idle machine:

    .venv-oracle/bin/python bench/compress.py --batches 8 --lengths 128 --rounds 20
    .venv-oracle/bin/python bench/compress.py --model t5-small      # only bytes, which do not depend on other load
"""
import argparse
import json
import os
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"tiny": (128, 2, 2, 512), "small": (512, 4, 8, 2048), "base": (768, 12, 12, 3072)}
T5_SMALL = (512, 6, 8, 2048)
WORDS, T5_WORDS, POSITIONS, CLASSES = 30522, 32128, 512, 3


def shapes(width, layers, inner):
    out = {f"embeddings.{name}_embeddings.weight": (rows, width)
           for name, rows in (("word", WORDS), ("position", POSITIONS), ("token_type", 2))}

    def dense(name, rows, columns):
        out[name + ".weight"], out[name + ".bias"] = (rows, columns), (rows,)

    def norm(name):
        out[name + ".LayerNorm.weight"] = out[name + ".LayerNorm.bias"] = (width,)

    norm("embeddings")
    for layer in range(layers):
        at = f"encoder.layer.{layer}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            dense(f"{at}attention.{part}", width, width)
        norm(at + "attention.output")
        dense(at + "intermediate.dense", inner, width)
        dense(at + "output.dense", width, inner)
        norm(at + "output")
    dense("pooler.dense", width, width)
    out = {"bert." + name: shape for name, shape in out.items()}
    out["classifier.weight"], out["classifier.bias"] = (CLASSES, width), (CLASSES,)
    return out


def t5_shapes(width, layers, inner):
    out = {"shared.weight": (T5_WORDS, width)}
    for stack, attentions in (("encoder", ["SelfAttention"]), ("decoder", ["SelfAttention", "EncDecAttention"])):
        for layer in range(layers):
            at = f"{stack}.block.{layer}.layer."
            for i, name in enumerate(attentions):
                out |= {f"{at}{i}.{name}.{part}.weight": (width, width) for part in "qkvo"}
                out[f"{at}{i}.layer_norm.weight"] = (width,)
            if layer == 0:
                out[f"{at}0.SelfAttention.relative_attention_bias.weight"] = (32, width // 64)
            last = f"{at}{len(attentions)}."
            out[last + "DenseReluDense.wi.weight"], out[last + "DenseReluDense.wo.weight"] = (inner, width), (width, inner)
            out[last + "layer_norm.weight"] = (width,)
        out[f"{stack}.final_layer_norm.weight"] = (width,)
    return out


def t5_config(width, layers, heads, inner):
    return {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "vocab_size": T5_WORDS,
            "d_model": width, "d_kv": width // heads, "d_ff": inner, "num_layers": layers,
            "num_decoder_layers": layers, "num_heads": heads, "relative_attention_num_buckets": 32,
            "relative_attention_max_distance": 128, "layer_norm_epsilon": 1e-6, "feed_forward_proj": "relu",
            "tie_word_embeddings": True, "dropout_rate": 0.1, "pad_token_id": 0, "eos_token_id": 1,
            "decoder_start_token_id": 0}


def write_model(folder, width, layers, heads, inner):
    (folder / "config.json").write_text(json.dumps({
        "model_type": "bert", "architectures": ["BertForSequenceClassification"], "vocab_size": WORDS,
        "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
        "hidden_act": "gelu", "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "pad_token_id": 0,
        "problem_type": "single_label_classification", "id2label": {str(i): f"c{i}" for i in range(CLASSES)},
        "label2id": {f"c{i}": i for i in range(CLASSES)}}))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (folder / "vocab.txt").write_text("\n".join(words + [f"w{i}" for i in range(len(words), WORDS)]) + "\n")
    write_weights(folder, shapes(width, layers, inner))


def write_weights(folder, named):
    drawn, header, at = np.random.default_rng(0), {}, 0
    for name, shape in named.items():
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    said = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(said)) + said)
        for name, shape in named.items():
            values = np.ones(shape) if name.endswith("LayerNorm.weight") else drawn.normal(0, 0.02, shape)
            file.write(values.astype("<f4").tobytes())


def write_rows(path, count, seed):
    drawn = np.random.default_rng(seed)
    rows = ["text\tlabel"]
    for _ in range(count):
        words = " ".join(f"w{i}" for i in drawn.integers(5, WORDS, 24))
        rows.append(f"{words}\tc{drawn.integers(0, CLASSES)}")
    path.write_text("\n".join(rows) + "\n")


def share(model, base, field):
    return round(model[field] / base[field], 3)


def told(report):
    base, out = report["models"][0], {}
    for model in report["models"][1:]:
        out[model["name"]] = {
            "bytes": share(model, base, "bytes"), "loading": share(model, base, "load_seconds"),
            "memory": share(model, base, "peak_bytes"), "operations": share(model, base, "operations"),
            "times_as_fast": {f"{one['batch']}x{one['length']}": {k: round(v, 2) for k, v in one["speed_up"].items()}
                              for one in model["latency"]}}
    out["base"] = {"bytes": base["bytes"], "load_s": round(base["load_seconds"], 2),
                   "p50_ms": {f"{one['batch']}x{one['length']}": round(one["p50_ms"], 2) for one in base["latency"]}}
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="base", choices=[*SIZES, "t5-small"])
    p.add_argument("--ffn", default="0.5")
    p.add_argument("--batches", default="8")
    p.add_argument("--lengths", default="128")
    p.add_argument("--rounds", default="20")
    p.add_argument("--only", default="ffn,layers,int8,w8a8,static", help="models to compare with the base")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    args = p.parse_args()
    width, layers, heads, inner = SIZES.get(args.model, T5_SMALL)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        base, train, test = work / "base", work / "train.tsv", work / "test.tsv"
        base.mkdir()

        def compress(*command):
            done = subprocess.run([args.smelt, "compress", *map(str, command)], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(done.stderr)
            return done.stdout

        if args.model == "t5-small":
            (base / "config.json").write_text(json.dumps(t5_config(width, layers, heads, inner)))
            write_weights(base, t5_shapes(width, layers, inner))
            ways = {"products": [], "all": ["--embeddings"], "all but wo": ["--embeddings", "--keep", "*.wo"]}
            done = {way: json.loads(compress("quantize", base, "--out", work / str(i), "--json", *flags))
                    for i, (way, flags) in enumerate(ways.items())}
            bytes_of = {way: one["bytes"] for way, one in done.items()}
            return print(json.dumps({"f32": done["all"]["bytes_before"]} | bytes_of))
        write_model(base, width, layers, heads, inner)
        write_rows(train, 8, 1)
        write_rows(test, 8, 2)
        compress("prune", base, "--out", work / "ffn", "--ffn", args.ffn, "--input", train, "--examples", 8,
                 "--batch", 8, "--seq-length", 32)
        compress("prune", base, "--out", work / "layers", "--layers", layers // 2)
        compress("quantize", base, "--out", work / "int8", "--embeddings")
        compress("quantize", base, "--out", work / "w8a8", "--embeddings", "--activations", "dynamic")
        compress("quantize", base, "--out", work / "static", "--embeddings", "--activations", "static",
                 "--calibrate", train, "--examples", 8, "--batch", 8)
        models = [work / name for name in args.only.split(",")]
        report = json.loads(compress("report", base, *models, "--input", test,
                                     "--batches", args.batches, "--lengths", args.lengths, "--rounds", args.rounds,
                                     "--samples", 20, "--out", work / "page.html", "--json"))
    machine = report["machine"]
    print(json.dumps({"model": args.model, "load": machine["load_before"], "processor": machine["processor"],
                      "extensions": machine["extensions"], "threads": machine["threads"]} | told(report), indent=1))


main()
