#!/usr/bin/env python3
"""Writes tests/golden/snapshot: two tiny folders saved by the installed TensorFlow."""
import os
import shutil
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

FOLDER = Path(__file__).resolve().parent.parent / "tests/golden/snapshot"
shutil.rmtree(FOLDER, ignore_errors=True)
tf.data.Dataset.from_tensor_slices(np.arange(100, 110, dtype=np.int64)).save(str(FOLDER / "scalars"))
tf.data.Dataset.from_tensor_slices(np.arange(12, dtype=np.int32).reshape(3, 4)).save(
    str(FOLDER / "lists-gzip"), compression="GZIP")
