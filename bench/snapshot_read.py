#!/usr/bin/env python3
"""Times reading windows of 512 tokens from a folder of tf.data.Dataset.save: smelt and tf.data, each on one core.

Saves a folder of int64 scalars (one token per record, like JEstimator's data), then runs both programs alternately,
bound to one core, and prints tokens per second of processor time and the ratio. tf.data is Dataset.load(...).batch(512)
without autotuning. smelt reads the folder, and a token store converted from it. Both check every checksum; the files
are in the page cache. """
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WINDOW = 512


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tokens", type=int, default=2000000, help="of the folder")
    p.add_argument("--compression", default="", help="GZIP, or empty for none")
    p.add_argument("--seconds", type=float, default=3, help="duration of each measurement")
    p.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts")
    p.add_argument("--core", type=int, default=0)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="a Python with TensorFlow")
    p.add_argument("--peer", choices=("save", "read"), help=argparse.SUPPRESS)
    p.add_argument("--folder", help=argparse.SUPPRESS)
    return p.parse_args()


def peer(flags):
    """Measures tf.data, in a separate process."""
    import time

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    compression = flags.compression or None
    if flags.peer == "save":
        tf.data.Dataset.range(flags.tokens).map(lambda i: i * 7919 % 32000).save(flags.folder, compression=compression)
        return
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    options = tf.data.Options()
    options.autotune.enabled = False
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    data = tf.data.Dataset.load(flags.folder, compression=compression).batch(WINDOW, drop_remainder=True)
    batches = iter(data.repeat().with_options(options))
    next(batches)
    start, processor_start, count = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - start < flags.seconds:
        next(batches)
        count += WINDOW
    print(json.dumps(count / (time.process_time() - processor_start)))


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return done.stdout


def main():
    flags = parse_flags()
    if flags.peer:
        return peer(flags)
    with tempfile.TemporaryDirectory() as folder:
        saved, store = f"{folder}/tokens", f"{folder}/tokens.store"
        bound = ["taskset", "-c", str(flags.core)]
        theirs = lambda what: [flags.python, __file__, "--peer", what, "--folder", saved, "--tokens", str(flags.tokens),
                               "--compression", flags.compression, "--seconds", str(flags.seconds)]
        ours = lambda path: bound + [flags.smelt, "data", "bench", path, "--batch", "1", "--seconds", str(flags.seconds)]
        run(theirs("save"))
        run([flags.smelt, "data", "convert", saved, "--out", store])
        best = {}
        for _ in range(flags.rounds):
            rates = {"tf.data": json.loads(run(bound + theirs("read")))}
            for name, path in (("folder", saved), ("store", store)):
                rates[name] = json.loads(run(ours(path)))["in_order_per_s"] * WINDOW
            best = {name: max(rate, best.get(name, 0)) for name, rate in rates.items()}
    load = os.getloadavg()[0]
    print(f"{flags.tokens} tokens, core {flags.core}, best of {flags.rounds}, load {load:.1f}")
    for name, rate in best.items():
        print(f"{name}: {rate / 1e6:.2f} million tokens/s, {rate / best['tf.data']:.1f} times tf.data")


if __name__ == "__main__":
    main()
