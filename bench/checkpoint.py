#!/usr/bin/env python3
"""Measures what saving and restoring checkpoints of BERT-base with optimizer slots (110M parameters, 1.3 GB) costs.

Needs build/release/smelt (scripts/build). The same training runs alternately without saves and with a save every few
steps. The log line of a step with a save is printed when the step has ended, so the time between two such lines is that
of the steps in between and of one save. The difference to the same number of steps without saves is the cost of a save:
the time that training waits for it, and the time by which writing slows the other steps. Then the last checkpoint is
restored, timed by the program's log, alternately with a plain read of its files into memory: from the page cache, and
from the disk after the files were dropped from the cache. The peak memory of the process is measured by the kernel.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = {"base": (768, 12, 12, 3072), "large": (1024, 24, 16, 4096), "tiny": (128, 2, 2, 512)}


def recipe(args, out):
    hidden, layers, heads, intermediate = SIZES[args.model]
    return f"""
out: {out}
text: {{input: {ROOT}/tests/golden/pretraining/english.txt, heldout: 0.2}}
vocab: {{size: 30522, unused: {30522 - 200}}}
data: {{seq_length: {args.seq}, max_predictions: 20, dupe_factor: 20}}
model: {{hidden_size: {hidden}, num_hidden_layers: {layers}, num_attention_heads: {heads},
        intermediate_size: {intermediate}}}
train: {{batch_size: {args.batch}, steps: {args.steps}, checkpoint.save_interval_steps: {args.every}, checkpoint.max_to_keep: 2, logging_steps: 1}}
eval: {{batch_size: 2}}
"""


def step_times(command):
    """Returns the time of each step's log line, and the peak memory in MB."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    times, text = {}, ""
    for line in process.stderr:
        now, text = time.monotonic(), text + line
        if found := re.match(r"step (\d+)/", line):
            times[int(found.group(1))] = now
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(text)
    return times, usage.ru_maxrss / 1024


def restored(command):
    """Returns the seconds and MB that the program logs when it restores the checkpoint, then stops it."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if found := re.search(r"resuming from .* \((\d+) MB in ([\d.]+) s\)", line):
            process.kill()
            process.wait()
            return float(found.group(2)), float(found.group(1))
    sys.exit("nothing was restored")


def timed(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def read_all(folder):
    buffer = bytearray(8 << 20)
    for path in folder.iterdir():
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def forget(folder):
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def restore_figures(command, folder, rounds, cached):
    reads, restores = [], []
    for _ in range(rounds):
        for seconds, work in ((reads, lambda: timed(lambda: read_all(folder))), (restores, lambda: restored(command)[0])):
            if not cached:
                forget(folder)
            seconds.append(work())
    size = restored(command)[1]
    return {"restore_mb_s": round(size / min(restores)), "read_mb_s": round(size / min(reads)),
            "restore_over_read": round(min(reads) / min(restores), 2)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="base", choices=SIZES)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--seq", type=int, default=128)
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--every", type=int, default=10)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        yaml = Path(work) / "r.yaml"
        yaml.write_text(recipe(args, work + "/out"))
        made = [args.smelt, "run", yaml, "--set", "train.steps=1", "--set", "model.num_hidden_layers=1"]
        subprocess.run([*made, "--set", "eval.steps=1"], check=True, capture_output=True)
        train = [args.smelt, "train", yaml, "--fresh", "--overwrite"]
        steps, costs = [], []
        for _ in range(args.rounds):
            none, plain_memory = step_times([*train, "--set", f"train.checkpoint.save_interval_steps={args.steps}"])
            times, memory = step_times(train)
            last = args.steps - 1  # the log lines of steps without a save are one step late
            steps.append((none[last] - none[args.every]) / (last - args.every))
            costs += [times[s + args.every] - times[s] - args.every * steps[-1]
                      for s in range(args.every, args.steps, args.every)]
        step = statistics.median(steps)
        folder = Path(work) / f"out/model/checkpoint-{args.steps}"
        resume = [args.smelt, "train", yaml, "--resume", "--set", f"train.steps={args.steps + 1}"]
        print(json.dumps({
            "checkpoint_mb": round(sum(f.stat().st_size for f in folder.iterdir()) / 1e6), "step_s": round(step, 3),
            "save_costs_s": [round(s, 3) for s in costs], "save_costs_steps": round(statistics.median(costs) / step, 2),
            "peak_mb_one_save_at_the_end": round(plain_memory), "peak_mb": round(memory),
            "cached": restore_figures(resume, folder, args.rounds, True),
            "from_disk": restore_figures(resume, folder, args.rounds, False), "load": round(os.getloadavg()[0], 1)}))


main()
