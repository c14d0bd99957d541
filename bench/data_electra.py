#!/usr/bin/env python3
"""Times the generation of ELECTRA examples on one core, compared with the original program, and compares the bytes.

    bench/data_electra.py --text FILES… --original FOLDER

FILES have one sentence per line and a blank line between documents, as a recipe's text/train.txt has. FOLDER contains
build_pretraining_dataset.py, model/ and util/ of google-research/electra. Needs build/release/smelt (scripts/build) and
.venv-oracle (scripts/test). docs/explanation/performance.md describes the comparison.
"""
import argparse
import hashlib
import os
import resource
import tempfile
from pathlib import Path

from data_bert import ROOT, make_text, run

SEED = 12345
RUN = ("import random, runpy, sys, tensorflow; sys.argv.pop(0); "
       f"random.seed({SEED}); runpy.run_path(sys.argv[0], run_name='__main__')")


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--text", nargs="+", required=True, help="text files, repeated until the text is large enough")
    p.add_argument("--original", required=True, help="folder of the original program")
    p.add_argument("--mb", type=float, default=20, help="text, MB")
    p.add_argument("--files", type=int, default=4, help="number of files that the text is split into")
    p.add_argument("--vocab-size", type=int, default=30000)
    p.add_argument("--core", default="0", help="core on which both programs run")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"))
    p.add_argument("--folder", help="work folder; default: the system's temporary folder")
    return p.parse_args()


def measure(command, **environment):
    """Runs a command. Returns its seconds, its processor seconds and its peak resident MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, memory = run(command, **environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory


def digest(folder):
    """Returns a SHA-256 digest of the names and bytes of all files."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def main():
    args = parse_flags()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        vocab, corpus = folder / "vocab.txt", folder / "corpus"
        run([args.smelt, "vocab", "train", "--input", ",".join(args.text), "--size", args.vocab_size,
             "--control-characters", "electra", "--lower-case", "true", "--strip-accents", "true", "--out", vocab])
        corpus.mkdir()
        for i in range(args.files):
            make_text(args.text, args.mb / args.files, corpus / f"{i}.txt")
        flags = [f"--corpus-dir={corpus}", f"--vocab-file={vocab}"]
        core = ["taskset", "-c", args.core]
        original = [*core, args.python, "-c", RUN, Path(args.original) / "build_pretraining_dataset.py", *flags]
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": os.path.abspath(args.original)}
        ours = min(measure([*core, args.smelt, "electra", "build_pretraining_dataset", *flags, "--overwrite",
                            f"--output-dir={folder / 'ours'}"]) for _ in range(3))
        theirs = measure([*original, f"--output-dir={folder / 'theirs'}"], **quiet)
        # Only protobuf's slower Python runtime writes the entries of a map in a fixed order.
        run([*original, f"--output-dir={folder / 'theirs'}"], PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python", **quiet)
        same = "identical bytes" if digest(folder / "ours") == digest(folder / "theirs") else "DIFFERENT BYTES"
        print(f"{args.mb} MB in {args.files} files, one core:")
        for name, (seconds, processor, memory) in (("smelt", ours), ("original", theirs)):
            print(f"  {name}: {seconds:.2f} s, of the processor {processor:.2f} s, {memory:.0f} MB")
        print(f"  {theirs[0] / ours[0]:.0f} times as fast, {theirs[1] / ours[1]:.0f} times by the processor's time; {same}",
              flush=True)


if __name__ == "__main__":
    main()
