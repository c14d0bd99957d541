"""Saves small datasets with tf.data.Dataset.save in a folder, and next to each a file NAME.ids with its token ids in
the order of saving. Checks that tf.data.Dataset.load returns them in this order if it reads all shards in turn (by
default it reads as many shards in turn as the machine has cores)."""
import os
import shutil
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

FOLDER = sys.argv[1]


def check(name, ids, **how):
    loaded = []
    for element in tf.data.Dataset.load(f"{FOLDER}/{name}", **how):
        loaded += np.atleast_1d(element.numpy()).tolist()
    assert loaded == ids, (name, loaded[:20], ids[:20])
    with open(f"{FOLDER}/{name}.ids", "w") as out:
        out.write(" ".join(map(str, ids)))


def scalars(name, dtype, count=100, shards=1, compression=None):
    ids = [i % 128 for i in range(count)]
    data = tf.data.Dataset.from_tensor_slices(np.array(ids, dtype))
    shard_func = None
    if shards > 1:
        counter = tf.Variable(-1, dtype=tf.int64)
        shard_func = lambda _: counter.assign_add(1) % shards
    data.save(f"{FOLDER}/{name}", compression=compression, shard_func=shard_func)
    check(name, ids, compression=compression,
          reader_func=lambda folders: folders.interleave(lambda shard: shard, cycle_length=shards))


def lists(name, dtype, compression=None):
    rows = [list(range(i, i + i % 5)) for i in range(40)]
    data = tf.data.Dataset.from_generator(lambda: (np.array(row, dtype) for row in rows),
                                          output_signature=tf.TensorSpec([None], dtype))
    data.save(f"{FOLDER}/{name}", compression=compression)
    check(name, sum(rows, []), compression=compression)


def checkpointed(name):
    data = tf.data.Dataset.range(30)
    data.save(f"{FOLDER}/{name}", checkpoint_args={
        "directory": f"{FOLDER}/{name}.checkpoint/c", "checkpoint_interval": 7,
        "step_counter": tf.Variable(0), "max_to_keep": 1})
    with open(f"{FOLDER}/{name}.ids", "w") as out:  # TensorFlow 2.21 cannot load this dataset
        out.write(" ".join(map(str, range(30))))
    shutil.rmtree(f"{FOLDER}/{name}.checkpoint")


for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    scalars(f"scalars-{kind}", kind)
scalars("gzip", "int64", compression="GZIP")
scalars("shards", "int32", count=100, shards=3)
scalars("shards-gzip", "uint16", count=101, shards=2, compression="GZIP")
checkpointed("checkpointed")
lists("lists", "int64")
lists("lists-gzip", "int32", compression="GZIP")
