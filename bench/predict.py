#!/usr/bin/env python3
"""Times the classification of sentences by smelt and by transformers' TensorFlow model, and prints the ratios.

    python bench/predict.py [--sizes tiny,base] [--sentences 10000]

Needs build/release/smelt (scripts/build) and .venv-oracle (scripts/test). Both classify the same sentences with the
same weights, from text to class, and the classes are compared. smelt is timed by the difference of two runs, one of
them with a single batch, that is, without its start. TensorFlow is timed after its model is loaded and has classified
all sentences once, in three ways: unmodified (batches of 32 in order, padded to the longest of the batch), in a graph
(tf.function), and in a graph compiled by XLA (all padded to the maximum length; otherwise XLA would compile a program
for each length).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import finetuned_model as made

MARK = "--tensorflow"  # runs this script as the TensorFlow side, with the oracle's Python
BATCH, LONGEST = 32, 128


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sizes", default="tiny,base")
    p.add_argument("--sentences", type=int, default=10000, help="number of sentences; a tenth of them for base")
    p.add_argument("--rounds", type=int, default=2, help="runs of each side")
    p.add_argument("--smelt", default=str(made.ROOT / "build/release/smelt"), help="the program")
    p.add_argument("--python", default=str(made.ROOT / ".venv-oracle/bin/python"), help="a Python with transformers")
    return p.parse_args()


def smelt_predictions(args, model, file):
    """Returns the seconds and the predicted classes."""
    start = time.perf_counter()
    said = made.smelt(args.smelt, "predict", model, "--input", file)
    return time.perf_counter() - start, [line.split("\t")[0] for line in said.splitlines()]


def tensorflow(folder, file, rounds):
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy as np
    import tensorflow as tf
    import transformers
    from safetensors.numpy import load_file
    from transformers.modeling_tf_pytorch_utils import load_pytorch_state_dict_in_tf2_model
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    model = load_pytorch_state_dict_in_tf2_model(
        transformers.TFBertForSequenceClassification(transformers.AutoConfig.from_pretrained(folder)),
        load_file(os.path.join(folder, "model.safetensors")), allow_missing_keys=True)
    lines = Path(file).read_text().splitlines()
    plain = lambda ids, mask, types: model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits
    signature = [tf.TensorSpec([None, None], tf.int32)] * 3
    ways = {"unmodified": (plain, "longest"), "graph": (tf.function(plain, input_signature=signature), "longest"),
            "compiled": (tf.function(plain, jit_compile=True), "max_length")}

    def predict(call, padding):
        out = []
        for at in range(0, len(lines), BATCH):
            batch = tokenizer(lines[at:at + BATCH], padding=padding, truncation=True, max_length=LONGEST, return_tensors="np")
            names = ("input_ids", "attention_mask", "token_type_ids")
            out += call(*(tf.constant(batch[name], tf.int32) for name in names)).numpy().argmax(-1).tolist()
        return out

    result = {}
    for name, (call, padding) in ways.items():
        classes, times = predict(call, padding), []
        for _ in range(int(rounds)):
            start = time.perf_counter()
            predict(call, padding)
            times.append(time.perf_counter() - start)
        result[name] = min(times)
    result["classes"] = [model.config.id2label[c] for c in classes]
    print(json.dumps(result))


def measure(args, size, folder):
    count = args.sentences // 10 if size == "base" else args.sentences
    made.write_rows(folder / "train.tsv", 64)
    base = made.encoder(args.smelt, size, folder)
    (folder / "r.yaml").write_text(made.recipe(folder / "run", base, folder / "train.tsv", 1, train={"optimizer": {"learning_rate": 1e-3}}))
    made.smelt(args.smelt, "run", folder / "r.yaml")
    model = folder / "run/huggingface"
    texts = [text for text, _ in made.rows(count + BATCH, longest=60, seed=2)]
    few, many = folder / "few.txt", folder / "many.txt"
    few.write_text("".join(text + "\n" for text in texts[:BATCH]))
    many.write_text("".join(text + "\n" for text in texts[:count]))
    smelt_predictions(args, model, many)  # compiles and caches the programs
    ours = []
    for _ in range(args.rounds):
        start, _ = smelt_predictions(args, model, few)
        seconds, said = smelt_predictions(args, model, many)
        ours.append((seconds - start) * count / (count - BATCH))
    side = [args.python, __file__, MARK, str(model), str(many), str(args.rounds)]
    done = subprocess.run(side, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    theirs = json.loads(done.stdout.splitlines()[-1])
    same = sum(a == b for a, b in zip(said, theirs.pop("classes")))
    return {"size": size, "sentences": count, "smelt_s": round(min(ours), 3), "smelt_start_s": round(start, 2),
            "transformers_s": {name: round(s, 3) for name, s in theirs.items()},
            "ratio": {name: round(s / min(ours), 2) for name, s in theirs.items()},
            "same_class": same, "load": round(os.getloadavg()[0], 1)}


def main():
    args = parse_flags()
    for size in args.sizes.split(","):
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(args, size, Path(folder))), flush=True)


if __name__ == "__main__":
    tensorflow(*sys.argv[2:]) if MARK in sys.argv else main()
