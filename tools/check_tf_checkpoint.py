"""Reads a checkpoint with TensorFlow and saves its tensors to another checkpoint.

python tools/check_tf_checkpoint.py PREFIX AGAIN

Prints each tensor's name, type, shape and sum of elements, as read by tf.train.load_checkpoint. Then restores all
tensors with the op that Saver.restore runs, and saves them in the order of their names as AGAIN.
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

prefix, again = sys.argv[1:]
newest = tf.train.latest_checkpoint(os.path.dirname(prefix))
print("latest", os.path.basename(newest or "none"))
reader = tf.train.load_checkpoint(prefix)
types = reader.get_variable_to_dtype_map()
names = sorted(types)
for name in names:
    value = reader.get_tensor(name)
    if len(names) < 1000:
        print(name, types[name].name, list(value.shape), f"sum {np.sum(value.astype(np.float64)):.9g}")
slices = [""] * len(names)
tensors = tf.raw_ops.RestoreV2(
    prefix=prefix, tensor_names=names, shape_and_slices=slices, dtypes=[types[name] for name in names])
tf.raw_ops.SaveV2(prefix=again, tensor_names=names, shape_and_slices=slices, tensors=tensors)
