#!/usr/bin/env python3
"""What T5's input costs: SentencePiece encoding on one thread and on two, and span corruption beside reading windows.

    python bench/data_tokens.py FILE...

Needs build/release/smelt (scripts/build). A SentencePiece model is trained on the text unless --vocab names one. In turns,
`smelt data tokens` makes a token store with --threads 1 and 2; wall time of the whole command, the best of --rounds, must
be 1.8 times as short. Then `smelt data bench` reads shuffled windows of the store on one thread with and without
span corruption (568 tokens to 512 inputs and 114 targets): microseconds of processor time for each.
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
    p.add_argument("files", nargs="+", help="text, one sentence or paragraph a line")
    p.add_argument("--megabytes", type=float, default=48, help="of text; the files are repeated or cut")
    p.add_argument("--vocab", default="", help="a SentencePiece model")
    p.add_argument("--size", type=int, default=8000, help="pieces of the one that is trained")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=3, help="of each measurement of windows")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    return p.parse_args()


def sample(files, size, path):
    """The files again and again, up to the end of a line."""
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
