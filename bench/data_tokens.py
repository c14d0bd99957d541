#!/usr/bin/env python3
"""Times T5's input: SentencePiece encoding on one and two threads, and windows with and without span corruption.

    python bench/data_tokens.py FILE...

Needs build/release/smelt (scripts/build). Trains a SentencePiece model on the text unless --vocab names one. Then
`smelt data tokens` writes a token store alternately with --threads 1 and 2; by the wall time of the whole command, the
best of --rounds, two threads should be 1.8 times as fast. Finally `smelt data bench` reads shuffled windows of the
store on one thread, with and without span corruption (568 tokens become 512 inputs and 114 targets), and the script
prints the microseconds of processor time per example.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+", help="text files with one sentence or paragraph per line")
    p.add_argument("--megabytes", type=float, default=48, help="size of the text; the files are repeated or truncated")
    p.add_argument("--vocab", default="", help="a SentencePiece model")
    p.add_argument("--size", type=int, default=8000, help="number of pieces of the model that is trained")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=3, help="duration of each measurement of windows")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    return p.parse_args()


def sample(files, size, path):
    """Writes about `size` bytes of whole lines of the files, repeated as needed."""
    left = size
    with open(path, "wb") as out:
        while left > 0:
            for name in files:
                content = Path(name).read_bytes()[:left]
                content = content[:content.rfind(b"\n") + 1] or content
                out.write(content + b"\n")
                left -= len(content) + 1
                if left <= 0:
                    break


def main():
    flags = parse_flags()
    run = lambda *command: subprocess.run([flags.smelt, *command], check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        text, store = os.path.join(folder, "text.txt"), os.path.join(folder, "x.tokens")
        sample(flags.files, int(flags.megabytes * 1e6), text)
        vocab = flags.vocab or os.path.join(folder, "x.model")
        if not flags.vocab:
            run("vocab", "train", "--input", ",".join(flags.files), "--type", "unigram", "--size", str(flags.size),
                "--sample", "0.2", "--out", vocab)
        best = {}
        for _ in range(flags.rounds):
            for threads in (1, 2):
                start = time.perf_counter()
                run("data", "tokens", "--input", text, "--vocab", vocab, "--out", store, "--overwrite", "--threads",
                    str(threads))
                best[threads] = min(best.get(threads, 1e9), time.perf_counter() - start)
        megabytes = os.path.getsize(text) / 1e6
        for threads, seconds in best.items():
            print(f"{threads} thread{'s' * (threads > 1)}: {seconds:.2f} s, {megabytes / seconds:.1f} MB/s")
        print(f"two threads are {best[1] / best[2]:.2f} times as fast as one")
        micros = {}
        for name, more in (("windows of 512", ()), ("span corruption", ("--objective", "span_corruption"))):
            told = json.loads(run("data", "bench", store, "--seconds", str(flags.seconds), *more))
            micros[name] = 1e6 / told["shuffled_per_s"]
            print(f"{name}: {micros[name]:.1f} microseconds of processor time an example")


main()
