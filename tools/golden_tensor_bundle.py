#!/usr/bin/env python3
"""Writes tests/golden/tensor_bundle: tiny checkpoints saved by the installed TensorFlow."""
import os
import shutil
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

FOLDER = Path(__file__).resolve().parent.parent / "tests/golden/tensor_bundle"


def save(prefix, tensors, slices=None):
    """Saves tensors, given as (name, value), in this order."""
    tf.raw_ops.SaveV2(
        prefix=str(FOLDER / prefix),
        tensor_names=[name for name, _ in tensors],
        shape_and_slices=slices or [""] * len(tensors),
        tensors=[value for _, value in tensors],
    )


def numbers(dims, dtype=tf.float32, first=1):
    return tf.cast(tf.reshape(tf.range(first, first + int(np.prod(dims))), dims), dtype)


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir()

# All types that smelt supports, and some that it does not, sorted by name as tf.train.Saver saves them.
save(
    "types.ckpt",
    sorted(
        {
            "bert/embeddings/word_embeddings": numbers([3, 2]),
            "bert/embeddings/word_embeddings/adam_m": numbers([3, 2]) / 8,
            "bool": tf.constant([True, False]),
            "empty": numbers([0, 4]),
            "f16": numbers([2], tf.float16) / 3,
            "f64": numbers([2], tf.float64) / 3,
            "bf16": numbers([3], tf.bfloat16) / 3,
            "global_step": tf.constant(1 << 40, tf.int64),
            "int8": numbers([2], tf.int8),
            "int32": numbers([1], tf.int32),
            "scalar": tf.constant(0.5),
            "words": tf.constant(["a", "longer"]),
        }.items()
    ),
)

# Saves a variable in six parts, stored in two data files, and an unpartitioned one.
whole = numbers([4, 300])
parts = [(0, 2, 0, 100), (0, 2, 100, 100), (0, 2, 200, 100), (2, 2, 0, 100), (2, 2, 100, 100), (2, 2, 200, 100)]
for file, mine in (("first", parts[:3]), ("second", parts[3:])):
    tensors = [("table", whole[a : a + n, b : b + m]) for a, n, b, m in mine]
    save(
        f"parts-{file}",
        tensors + [(f"{file}/bias", numbers([2]))],
        [f"4 300 {a},{n}:{b},{m}" for a, n, b, m in mine] + [""],
    )
tf.raw_ops.MergeV2Checkpoints(
    checkpoint_prefixes=[str(FOLDER / "parts-first"), str(FOLDER / "parts-second")],
    destination_prefix=str(FOLDER / "parts.ckpt"),
    delete_old_dirs=False,
)

# The state file of a run that kept two checkpoints.
os.chdir(FOLDER)
tf.compat.v1.train.update_checkpoint_state(".", "types.ckpt", ['an "old" one', "types.ckpt"])
