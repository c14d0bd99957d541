#!/usr/bin/env python3
"""Times tokenization by smelt and by Hugging Face's tokenizers on one thread, alternately, and prints the ratio.

    python bench/tokenize_text.py [--type wordpiece|unigram|bpe|byte_bpe] FILE...

Needs build/release/smelt (scripts/build) and .venv-oracle (scripts/test). Both get the same lines and the same
vocabulary, which smelt trains on these lines. The time includes neither reading the text nor starting the program. Both
must return the same number of pieces. Hugging Face is timed with offsets (encode_batch) and without
(encode_batch_fast).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARK = "--hugging-face"  # runs this script as the side of Hugging Face, with the oracle's Python


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+", help="text files with one sentence or paragraph per line")
    p.add_argument("--megabytes", type=float, default=8, help="size of the text, taken in equal parts from the files")
    p.add_argument("--type", default="wordpiece", choices=["wordpiece", "unigram", "bpe", "byte_bpe"],
                   help="type of the vocabulary")
    p.add_argument("--size", type=int, default=30000, help="size of the vocabulary")
    p.add_argument("--rounds", type=int, default=3, help="runs of each side")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="a Python with tokenizers")
    return p.parse_args()


def hugging_face(text, vocab):
    """Prints the seconds of both ways to encode, and the number of pieces."""
    import tokenizers
    if vocab.endswith(".json"):
        tokenizer = tokenizers.Tokenizer.from_file(vocab)
    else:
        tokenizer = tokenizers.BertWordPieceTokenizer(vocab, lowercase=True)._tokenizer
    with open(text, encoding="utf-8", errors="ignore", newline="\n") as file:
        lines = [line.rstrip("\r\n") for line in file]
    result = {"version": tokenizers.__version__}
    for name in ("encode_batch", "encode_batch_fast"):
        encode = getattr(tokenizer, name)
        start = time.perf_counter()
        encoded = encode(lines, add_special_tokens=False)
        result[name] = time.perf_counter() - start
        result["pieces"] = sum(len(e.ids) for e in encoded)
    print(json.dumps(result))


def sample(files, size, path):
    """Writes an equal part from the beginning of each file, up to the end of a line."""
    with open(path, "wb") as out:
        for name in files:
            with open(name, "rb") as file:
                head = file.read(size // len(files))
                out.write(head[:head.rfind(b"\n") + 1])


def run(command):
    environment = dict(os.environ, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)} failed\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    if MARK in sys.argv:
        return hugging_face(*sys.argv[2:])
    args = parse_flags()
    with tempfile.TemporaryDirectory() as work:
        text = f"{work}/text.txt"
        vocab = f"{work}/vocab.txt" if args.type == "wordpiece" else f"{work}/tokenizer.json"
        sample(args.files, int(args.megabytes * 1e6), text)
        subprocess.run([args.smelt, "vocab", "train", f"--input={text}", f"--out={vocab}", f"--size={args.size}",
                        f"--type={args.type}", "--lower-case", "true", "--strip-accents", "true"], check=True, capture_output=True)
        ours, theirs = [], []
        for _ in range(args.rounds):
            ours.append(run([args.smelt, "tokenize", f"--vocab={vocab}", f"--input={text}", "--stats", "--json"]))
            theirs.append(run([args.python, __file__, MARK, text, vocab]))
        size = os.path.getsize(text) / 1e6
    mine = size / min(r["encode_seconds"] for r in ours)
    print(f"{size:.2f} MB, {ours[0]['pieces']} pieces by smelt, {theirs[0]['pieces']} by tokenizers "
          f"{theirs[0]['version']}, one thread, load {os.getloadavg()[0]:.1f}, the fastest of {args.rounds} runs")
    print(f"smelt               {mine:8.2f} MB/s")
    for name in ("encode_batch", "encode_batch_fast"):
        other = size / min(r[name] for r in theirs)
        print(f"{name:18}  {other:8.2f} MB/s   smelt is {mine / other:.0f} times as fast")


main()
