#!/usr/bin/env python3
"""Measures the Python package: `bench/python.py [--text FILE] [--model FOLDER]`, with numpy and tokenizers installed.

Prints JSON lines: Tokenizer against the library tokenizers on the same threads and against the C call below it, Batches,
and, with --model, Model.classify against `smelt predict`. SMELT names the program, else build/release/smelt. Figures are the
medians of several rounds; run it on an idle machine.
"""
import argparse
import ctypes
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("SMELT", str(ROOT / "build/release/smelt"))
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

import smelt_lm  # noqa: E402
from smelt_lm import _library, _tokenizer  # noqa: E402


def seconds(*calls, rounds=7):
    """Returns the median time of each call. The calls alternate, so that a change of load hits all of them."""
    times = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, times):
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
    return [statistics.median(own) for own in times]


def random_lines(megabytes):
    """Returns lines of random words, whose frequencies fall like those of a language."""
    draw = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = ["".join(draw.choice(letters[:4 + i % 22]) for _ in range(2 + i % 9)) for i in range(20000)]
    lines, size = [], 0
    while size < megabytes * 1e6:
        line = " ".join(words[min(int(draw.expovariate(1 / 1500)), len(words) - 1)] for _ in range(draw.randrange(5, 30)))
        lines.append(line.capitalize() + ".")
        size += len(line) + 1
    return lines


def bench_encode(folder, source):
    import tokenizers

    lines = Path(source).read_text(encoding="utf-8").split("\n") if source else random_lines(12)
    text, vocab = Path(folder, "text.txt"), Path(folder, "vocab.txt")
    text.write_text("\n".join(lines) + "\n")
    subprocess.run([smelt_lm.program(), "vocab", "train", "--input", str(text), "--size", "8000", "--out", str(vocab), "--lower-case", "true",
                    "--strip-accents", "true"],
                   check=True, capture_output=True)
    ours = smelt_lm.Tokenizer(vocab)
    theirs = tokenizers.BertWordPieceTokenizer(str(vocab), lowercase=True)
    want = [e.ids for e in theirs.encode_batch(lines[:2000], add_special_tokens=False)]
    same = [row.tolist() for row in ours.ragged(lines[:2000]).rows()] == want
    data, starts, owner = _tokenizer._joined(lines)  # the owner keeps the data
    lib, handle = _library.library(), ours._handle.pointer

    def c_call():
        out = ctypes.c_void_p()
        _library.check(lib.smelt_encode(handle, data, starts.ctypes.data, len(lines), None, None, ctypes.byref(out)))
        lib.smelt_arrays_free(out)

    package, c, other = seconds(lambda: ours.ragged(lines), c_call, lambda: theirs.encode_batch(lines, add_special_tokens=False))
    one, = seconds(lambda: ours.ragged(lines[:1]), rounds=200)
    return {"bench": "encode", "bytes": int(starts[-1]), "threads": len(os.sched_getaffinity(0)), "same_ids": same, "python_s": package,
            "c_call_s": c, "over_c": package / c - 1, "tokenizers_s": other, "times_faster": other / package, "one_text_us": 1e6 * one}


def bench_batches(folder):
    records = str(Path(folder, "x.tfrecord"))
    subprocess.run([smelt_lm.program(), "data", "bert", "--input", str(Path(folder, "text.txt")), "--out", records, "--vocab",
                    str(Path(folder, "vocab.txt")), "--seq-length", "128", "--max-lines", "20000"], check=True, capture_output=True)
    batches = smelt_lm.Batches(records, 256)
    step = iter(range(10**9))
    time_of_one, = seconds(lambda: batches[next(step)], rounds=50)
    return {"bench": "batches", "examples": batches.examples, "batch_size": 256, "seq_length": 128,
            "examples_per_s": 256 / time_of_one}


def bench_classify(model, folder):
    lines = random_lines(0.2)
    text = Path(folder, "classify.txt")
    text.write_text("\n".join(lines) + "\n")
    loaded = smelt_lm.Model.load(model, "cpu")
    loaded.classify(lines)  # compiles

    def predict():
        subprocess.run([smelt_lm.program(), "predict", model, "--input", str(text), "--json"], check=True, capture_output=True)

    package, command = seconds(lambda: loaded.classify(lines), predict, rounds=5)
    one, = seconds(lambda: loaded.classify(lines[0]), rounds=20)
    return {"bench": "classify", "texts": len(lines), "python_s": package, "smelt_predict_s": command, "one_text_ms": 1e3 * one}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", help="text to encode, such as 10 MB; default: random words")
    parser.add_argument("--model", help="folder of a classifier")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(bench_encode(folder, arguments.text)), flush=True)
        print(json.dumps(bench_batches(folder)), flush=True)
        if arguments.model:
            print(json.dumps(bench_classify(arguments.model, folder)), flush=True)


if __name__ == "__main__":
    main()
