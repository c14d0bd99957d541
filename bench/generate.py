#!/usr/bin/env python3
"""Times greedy text generation of T5-small by smelt and by transformers' TensorFlow model, and prints the ratio.

    python bench/generate.py [--batch 32] [--inputs 32] [--tokens 32]

Needs build/release/smelt (scripts/build) and .venv-oracle (scripts/test). Both use the same weights, which smelt trains
on docs/ and exports; each output has the maximum length. TensorFlow is timed with the unmodified generate() and with
one compiled by XLA (jit_compile), each after a first call. smelt is timed by the difference of two runs with different
numbers of batches, that is, without its start.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARK = "--tensorflow"  # runs this script as the TensorFlow side, with the oracle's Python
MODEL = {"t5-small": dict(d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8, vocab_size=32128)}


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--batch", type=int, default=32, help="texts per batch")
    p.add_argument("--inputs", type=int, default=32, help="tokens per text")
    p.add_argument("--tokens", type=int, default=32, help="tokens per output")
    p.add_argument("--beams", type=int, default=1)
    p.add_argument("--batches", type=int, default=8, help="timed batches per round")
    p.add_argument("--rounds", type=int, default=3, help="runs of each side")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="a Python with transformers")
    return p.parse_args()


def make_model(args, folder):
    """Trains one step with a negligible learning rate, so that weights stay random; returns the exported folder."""
    docs = Path(folder) / "text.txt"
    docs.write_text("\n\n".join(path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))))
    model = ", ".join(f"{name}: {value}" for name, value in MODEL["t5-small"].items())
    recipe = Path(folder) / "r.yaml"
    recipe.write_text(f"out: {folder}/run\ntext: {{input: {docs}}}\nvocab: {{type: unigram, size: 1000}}\n"
                      f"data: {{inputs_length: 32}}\nmodel: {{type: t5, {model}}}\n"
                      "train: {batch_size: 1, steps: 1, optimizer.learning_rate: 1.0e-9, checkpoint.save_interval_steps: 1}\neval: {batch_size: 1, steps: 1}\n")
    subprocess.run([args.smelt, "run", str(recipe)], check=True, capture_output=True, text=True)
    return f"{folder}/run/huggingface"


def texts_of(args, model, folder):
    """Writes lines with a given number of tokens, made of digits."""
    import_flags = [args.python, __file__, MARK, "lines", model, str(args.batch), str(args.inputs)]
    lines = json.loads(subprocess.run(import_flags, check=True, capture_output=True, text=True).stdout)
    few, many = Path(folder) / "few.txt", Path(folder) / "many.txt"
    few.write_text("".join(line + "\n" for line in lines))
    many.write_text("".join(line + "\n" for line in lines) * (1 + args.batches))
    return few, many


def smelt_seconds(args, model, file):
    start = time.perf_counter()
    subprocess.run([args.smelt, "generate", model, "--input", str(file), "--batch", str(args.batch),
                    "--max-length", str(args.tokens), "--min-length", str(args.tokens), "--beams", str(args.beams)],
                   check=True, capture_output=True)
    return time.perf_counter() - start


def tensorflow(mode, folder, *more):
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy as np
    import transformers
    tokenizer = transformers.T5Tokenizer.from_pretrained(folder)
    if mode == "lines":
        rows, length = map(int, more)
        words = (ROOT / "docs/guides/text.md").read_text().split()
        lines, at = [], 0
        while len(lines) < rows:  # finds the longest run of words that fits
            end = at + 1
            while len(tokenizer(" ".join(words[at:end + 1])).input_ids) <= length:
                end += 1
            lines.append(" ".join(words[at:end]))
            at = end % (len(words) // 2)
        print(json.dumps(lines))
        return
    import tensorflow as tf
    from safetensors.numpy import load_file
    from transformers.modeling_tf_pytorch_utils import load_pytorch_state_dict_in_tf2_model
    beams, inputs, tokens, times, file = *map(int, more[:4]), more[4]
    model = load_pytorch_state_dict_in_tf2_model(
        transformers.TFT5ForConditionalGeneration(transformers.AutoConfig.from_pretrained(folder)),
        load_file(os.path.join(folder, "model.safetensors")), allow_missing_keys=True)
    lines = Path(file).read_text().splitlines()
    batch = tokenizer(lines, return_tensors="np", padding="max_length", max_length=inputs, truncation=True)
    ids, mask = tf.constant(batch.input_ids.astype(np.int32)), tf.constant(batch.attention_mask.astype(np.int32))
    one = lambda: model.generate(input_ids=ids, attention_mask=mask, max_length=tokens + 1, min_length=tokens + 1,
                                 num_beams=beams, do_sample=False)
    compiled = tf.function(one, jit_compile=True)
    result = {"tokens": int(tf.size(one()[:, 1:])) // len(lines)}
    for name, call in (("compiled", compiled), ("unmodified", one)):
        call()
        start = time.perf_counter()
        for _ in range(times):
            call().numpy()
        result[name] = (time.perf_counter() - start) / times
    print(json.dumps(result))


def main():
    args = parse_flags()
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(args, folder)
        few, many = texts_of(args, model, folder)
        smelt_seconds(args, model, few)  # compiles and caches the program
        starts, ours, theirs = [], [], []
        for _ in range(args.rounds):
            starts.append(smelt_seconds(args, model, few))
            ours.append((smelt_seconds(args, model, many) - starts[-1]) / args.batches)
            side = [args.python, __file__, MARK, "time", model, str(args.beams), str(args.inputs), str(args.tokens),
                    str(args.batches), str(few)]
            theirs.append(json.loads(subprocess.run(side, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))
            print(f"smelt {ours[-1]:.3f} s a batch, transformers compiled {theirs[-1]['compiled']:.3f} s, "
                  f"unmodified {theirs[-1]['unmodified']:.3f} s", file=sys.stderr)
        best = min(ours)
        print(f"{args.batch} texts of {args.inputs} tokens, {args.tokens} tokens each, beams {args.beams}: smelt {best:.3f} s "
              f"({args.batch * args.tokens / best:.0f} tokens/s), a start with one batch {min(starts):.2f} s")
        for name in ("compiled", "unmodified"):
            other = min(t[name] for t in theirs)
            print(f"transformers (TensorFlow, {name}): {other:.3f} s, ratio {other / best:.2f} "
                  f"(median {statistics.median(t[name] / o for t, o in zip(theirs, ours)):.2f})")


if __name__ == "__main__":
    tensorflow(*sys.argv[2:]) if MARK in sys.argv else main()
