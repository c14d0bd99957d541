#!/usr/bin/env python3
"""What checkpoints of BERT-base with its optimizer's slots (110M parameters, 1.3 GB) cost a training, in one run.

Needs build/release/smelt (scripts/build). A training saves every few steps; each step's line is timed as it comes. The
stall of a save is what the step that begins it takes longer than the middle one of those during which nothing is
written; what writing takes from the steps after it is said, too. Then the last checkpoint is restored, in turns with a
plain read of its files into memory; of each the fastest counts. The peak of the process's memory is the kernel's.
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
train: {{batch_size: {args.batch}, steps: {args.steps}, save_every: {args.every}, keep: 2, log_every: 1}}
eval: {{batch_size: 2}}
"""


def step_seconds(command):
    """How long after the line before each step's line came, and the peak of memory in MB."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    seconds, before, text = {}, None, ""
    for line in process.stderr:
        now, text = time.monotonic(), text + line
        found = re.search(r"step (\d+)/", line)
        if found:
            if before is not None:
                seconds[int(found.group(1))] = now - before
            before = now
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(text)
    return seconds, usage.ru_maxrss / 1024


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


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="base", choices=SIZES)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--seq", type=int, default=128)
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--every", type=int, default=10)
    p.add_argument("--rounds", type=int, default=3, help="of restoring")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        yaml = Path(work) / "r.yaml"
        yaml.write_text(recipe(args, work + "/out"))
        made = [args.smelt, "run", yaml, "--set", "train.steps=1", "--set", "model.num_hidden_layers=1"]
        subprocess.run([*made, "--set", "eval.steps=1"], check=True, capture_output=True)
        train = [args.smelt, "pretrain", yaml, "--fresh", "--overwrite"]
        none, plain_memory = step_seconds([*train, "--set", f"train.save_every={args.steps}"])
        seconds, memory = step_seconds(train)
        usual = statistics.median(none[s] for s in none if s > 2)
        begins = [s + 1 for s in range(args.every, args.steps, args.every)]
        stalls = [seconds[s] - usual for s in begins]
        spread = (sum(seconds[s] for s in seconds if s > 2) - usual * sum(s > 2 for s in seconds)) / len(begins)
        folder = Path(work) / f"out/model/checkpoint-{args.steps}"
        size = sum(f.stat().st_size for f in folder.iterdir())
        restore = [args.smelt, "pretrain", yaml, "--resume"]
        restores, reads = [], []
        for _ in range(args.rounds):
            reads.append(timed(lambda: read_all(folder)))
            restores.append(timed(lambda: subprocess.run(restore, check=True, capture_output=True)))
        print(json.dumps({
            "checkpoint_mb": round(size / 1e6), "step_s": round(usual, 3), "stall_s": [round(s, 3) for s in stalls],
            "stall_median_steps": round(statistics.median(stalls) / usual, 2),
            "all_a_save_costs_s": round(spread, 3),
            "peak_mb_one_save_at_the_end": round(plain_memory), "peak_mb": round(memory),
            "restore_mb_s": round(size / 1e6 / min(restores)), "read_mb_s": round(size / 1e6 / min(reads)),
            "restore_over_read": round(min(reads) / min(restores), 2)}))


main()
