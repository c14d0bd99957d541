#!/usr/bin/env python3
"""Times the training of a WordPiece vocabulary by smelt and by Hugging Face's trainer, alternately; prints the ratio.

    bench/vocab.py --text FILES…

Needs build/release/smelt (scripts/build) and .venv-oracle (scripts/test). Both read the same file, lower-case it,
split it into words as BERT does, count the words and merge pairs; both use all cores. Results:
docs/explanation/performance.md.
"""
import argparse
import os
import tempfile
from pathlib import Path

from data_bert import make_text, run

ROOT = Path(__file__).resolve().parents[1]
TRAIN = ("import sys; from tokenizers import BertWordPieceTokenizer as T; t = T(lowercase=True); "
         "t.train([sys.argv[1]], vocab_size=int(sys.argv[2]), min_frequency=2, limit_alphabet=1000, show_progress=False); "
         "t.save_model(sys.argv[3])")


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--text", nargs="+", required=True, help="text files, repeated until the text is large enough")
    p.add_argument("--mb", type=float, default=100)
    p.add_argument("--size", type=int, default=30000)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"))
    return p.parse_args()


def main():
    args = parse_flags()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = folder / "text.txt"
        make_text(args.text, args.mb, text)
        smelt = [args.smelt, "vocab", "train", "--input", text, "--size", args.size, "--out", folder / "v.txt", "--overwrite",
                 "--lower-case", "true", "--strip-accents", "true"]
        theirs = [args.python, "-c", TRAIN, text, args.size, folder]
        idle, _ = run([args.python, "-c", "import tokenizers"])
        runs = {"smelt": [], "tokenizers": []}
        for _ in range(args.rounds):
            runs["smelt"].append(run(smelt))
            runs["tokenizers"].append(run(theirs))
        (ours, our_mb), (peer, peer_mb) = min(runs["smelt"]), min(runs["tokenizers"])
        print(f"{args.mb} MB, {args.size} pieces, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: smelt {ours:.2f} s, "
              f"{our_mb:.0f} MB; tokenizers {peer - idle:.2f} s without its start, {peer_mb:.0f} MB; "
              f"{(peer - idle) / ours:.1f} times as fast")


if __name__ == "__main__":
    main()
