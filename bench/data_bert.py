#!/usr/bin/env python3
"""Times the generation of BERT examples: compared with the original program, and from large text in bounded memory.

    bench/data_bert.py --text FILES… [--original FOLDER]

FILES have one sentence per line and a blank line between documents, as a recipe's text/train.txt has. FOLDER contains
create_pretraining_data.py and tokenization.py of google-research/bert; without it the comparison is skipped.
Needs build/release/smelt (scripts/build) and, for the original, .venv-oracle (scripts/test).
docs/explanation/performance.md describes the comparison.
"""
import argparse
import hashlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUN = ("import runpy, sys, tensorflow.compat.v1 as tf; sys.argv.pop(0); sys.modules['tensorflow'] = tf; "
       "runpy.run_path(sys.argv[0], run_name='__main__')")


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--text", nargs="+", required=True, help="text files, repeated until the text is large enough")
    p.add_argument("--original", help="folder of the original program")
    p.add_argument("--original-mb", type=float, default=5, help="size of the text for the comparison, in MB")
    p.add_argument("--mb", type=float, nargs="*", default=[200, 400], help="text sizes for the shuffled order, in MB")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--dupe", type=int, default=5)
    p.add_argument("--vocab-size", type=int, default=30000)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"))
    p.add_argument("--folder", help="work folder; default: the system's temporary folder")
    return p.parse_args()


def run(command, **environment):
    """Runs a command. Returns its seconds and its peak resident MB."""
    start = time.perf_counter()
    child = subprocess.Popen([str(c) for c in command], env={**os.environ, **environment},
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    message = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"error: {' '.join(map(str, command))} failed\n{message.decode()[-2000:]}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def make_text(files, megabytes, path):
    """Writes whole lines of the files, repeated in order, until the text is large enough."""
    wanted = int(megabytes * 1e6)
    with open(path, "wb") as out:
        while out.tell() < wanted:
            for name in files:
                for line in open(name, "rb"):
                    out.write(line)
                    if out.tell() >= wanted:
                        return
                out.write(b"\n")


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def against_original(args, folder, vocab):
    text = folder / "original.txt"
    make_text(args.text, args.original_mb, text)
    flags = [f"--input_file={text}", f"--vocab_file={vocab}", f"--dupe_factor={args.dupe}"]
    ours, theirs = folder / "ours", folder / "theirs"
    original = ["taskset", "-c", "0", args.python, "-c", RUN, Path(args.original) / "create_pretraining_data.py"]
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": args.original}
    best = min(run(["taskset", "-c", "0", args.smelt, "create_pretraining_data", *flags, f"--output_file={ours}"])
               for _ in range(3))
    seconds, memory = run([*original, *flags, f"--output_file={theirs}"], **quiet)
    # Only protobuf's slower Python runtime writes the entries of a map in a fixed order.
    run([*original, *flags, f"--output_file={theirs}"], PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python", **quiet)
    same = "identical bytes" if sha256(ours) == sha256(theirs) else "DIFFERENT BYTES"
    print(f"order original, {args.original_mb} MB, dupe {args.dupe}, one core: smelt {best[0]:.2f} s, {best[1]:.0f} MB; "
          f"original {seconds:.1f} s, {memory:.0f} MB; {seconds / best[0]:.0f} times as fast, "
          f"1/{memory / best[1]:.1f} of the memory; {same}", flush=True)


def large(args, folder, vocab):
    for megabytes in args.mb:
        text = folder / "large.txt"
        make_text(args.text, megabytes, text)
        seconds, memory = run([args.smelt, "data", "bert", "--input", text, "--vocab", vocab, "--out", folder / "large",
                               "--dupe-factor", args.dupe, "--threads", args.threads, "--overwrite"])
        print(f"order shuffled, {megabytes} MB, dupe {args.dupe}, {args.threads} threads: {seconds:.1f} s, "
              f"{megabytes / seconds:.1f} MB/s, {memory:.0f} MB; {(folder / 'large').stat().st_size / 1e6:.0f} MB written",
              flush=True)


def main():
    args = parse_flags()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        vocab = folder / "vocab.txt"
        run([args.smelt, "vocab", "train", "--input", ",".join(args.text), "--size", args.vocab_size, "--out", vocab,
             "--lower-case", "true", "--strip-accents", "true"])
        if args.original:
            against_original(args, folder, vocab)
        large(args, folder, vocab)


if __name__ == "__main__":
    main()
