#!/usr/bin/env python3
"""Times reading batches from BERT's TFRecord files: smelt and tf.data, each on one core and one thread.

Writes about 200 MB of records from your text (128 tokens per example) unless --records names files, then runs both
programs alternately, bound to one core, and prints examples per second of processor time and the ratios. Both verify
checksums, parse examples and fill batches; the files are in the page cache. tf.data is used in its fastest form for one
thread: TFRecordDataset, batch, then parse_example on whole batches. With shuffling, smelt reads each record at a random
position. tf.data reads in order and shuffles within a buffer: of 100 records, like the original BERT program, or of all
records, which is as random as smelt's order (the buffer is filled before the measurement).
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--text", default="", help="pattern of text files, one sentence per line, blank lines between documents")
    p.add_argument("--records", default="", help="existing record files to read")
    p.add_argument("--megabytes", type=int, default=200, help="size of the records that are written")
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--seconds", type=float, default=3, help="duration of each measurement")
    p.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts")
    p.add_argument("--core", type=int, default=0)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="a Python with TensorFlow")
    p.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


def peer(flags):
    """Measures tf.data, in a separate process."""
    import time

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    files = sorted(glob.glob(flags.records))
    shape = next(iter(tf.data.TFRecordDataset(files).map(lambda r: tf.io.parse_single_example(r, {
        name: tf.io.VarLenFeature(tf.int64) for name in ("input_ids", "masked_lm_positions")}))))
    length, predictions = (int(shape[name].dense_shape[0]) for name in ("input_ids", "masked_lm_positions"))
    integers = lambda n: tf.io.FixedLenFeature([n], tf.int64)
    features = {
        "input_ids": integers(length), "input_mask": integers(length), "segment_ids": integers(length),
        "masked_lm_positions": integers(predictions), "masked_lm_ids": integers(predictions),
        "masked_lm_weights": tf.io.FixedLenFeature([predictions], tf.float32), "next_sentence_labels": integers(1),
    }
    options = tf.data.Options()
    options.autotune.enabled = False
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1

    def rate(buffer):
        data = tf.data.TFRecordDataset(files, buffer_size=1 << 20)
        if buffer:
            data = data.shuffle(buffer)
        data = data.repeat().batch(flags.batch, drop_remainder=True)
        data = data.map(lambda records: tf.io.parse_example(records, features)).with_options(options)
        batches = iter(data)
        next(batches)
        start, processor_start, count = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - start < flags.seconds:
            next(batches)
            count += flags.batch
        return count / (time.process_time() - processor_start)

    records = sum(1 for _ in tf.data.TFRecordDataset(files))
    print(json.dumps({"in_order_per_s": rate(0), "shuffled_per_s": rate(100), "shuffled_all_per_s": rate(records)}))


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return done.stdout


def make_records(flags, folder):
    files = sorted(glob.glob(flags.text))
    if not files:
        sys.exit("tfrecord_read.py: no text\n  hint: name text files with --text, or record files with --records")
    vocabulary, records = f"{folder}/vocab.txt", f"{folder}/bench.tfrecord"
    run([flags.smelt, "vocab", "train", "--input", files[0], "--size", "30000", "--out", vocabulary])
    make = lambda dupe: run([
        flags.smelt, "data", "bert", "--input", ",".join(files), "--vocab", vocabulary, "--out", records,
        "--dupe-factor", str(dupe), "--overwrite"])
    make(1)
    dupe = flags.megabytes * 1000000 // os.path.getsize(records) + 1
    if dupe > 1:
        make(dupe)
    return records


def measure(flags):
    bound = ["taskset", "-c", str(flags.core)]
    sides = {
        "smelt": bound + [flags.smelt, "data", "bench", flags.records, "--batch", str(flags.batch),
                          "--seconds", str(flags.seconds)],
        "tf.data": bound + [flags.python, __file__, "--peer", "--records", flags.records,
                            "--batch", str(flags.batch), "--seconds", str(flags.seconds)],
    }
    best = {side: {} for side in sides}
    for _ in range(flags.rounds):
        for side, command in sides.items():
            for name, value in json.loads(run(command)).items():
                best[side][name] = max(best[side].get(name, 0), value)
    return best


def main():
    flags = parse_flags()
    if flags.peer:
        return peer(flags)
    with tempfile.TemporaryDirectory() as folder:
        flags.records = flags.records or make_records(flags, folder)
        size = sum(map(os.path.getsize, glob.glob(flags.records)))
        best = measure(flags)
    print(f"{size / 1e6:.0f} MB of records, batches of {flags.batch}, core {flags.core}, best of {flags.rounds}")
    for name, peer_name, title in (("in_order_per_s", "in_order_per_s", "in order"),
                                   ("shuffled_per_s", "shuffled_per_s", "shuffled, tf.data among 100"),
                                   ("shuffled_per_s", "shuffled_all_per_s", "shuffled, tf.data among all")):
        ours, theirs = best["smelt"][name], best["tf.data"][peer_name]
        print(f"{title}: smelt {ours:,.0f} examples/s, tf.data {theirs:,.0f}, {ours / theirs:.2f} times as fast")


if __name__ == "__main__":
    main()
