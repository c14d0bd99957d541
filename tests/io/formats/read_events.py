"""Prints the events that TensorFlow's own reader reads from the event files of a folder, in the order of file names."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

START = tf.compat.v1.SessionLog.START
for name in sorted(tf.io.gfile.listdir(sys.argv[1])):
    if "tfevents" not in name:
        continue
    for event in tf.compat.v1.train.summary_iterator(f"{sys.argv[1]}/{name}"):
        if event.HasField("file_version"):
            what = f"version {event.file_version}"
        elif event.HasField("session_log"):
            what = "start" if event.session_log.status == START else "?"
        else:
            what = ", ".join(f"{v.tag} {v.simple_value:g}" for v in event.summary.value)
        print(event.wall_time, "step", event.step, what)
