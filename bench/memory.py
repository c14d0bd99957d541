#!/usr/bin/env python3
"""Prints how much memory a training run on the CPU uses over time, with saves and evaluations in between.

Needs build/release/smelt (scripts/build). Trains BERT-base with batches of 8 x 128 tokens on the English text of the
tests. Reads the memory of the process twice a second (RssAnon of /proc) and prints the maximum for each tenth of the
run. docs/explanation/performance-history.md has measurements.

    bench/memory.py [--steps 200]
"""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

from loop import ROOT, SIZES, recipe


def held(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return 1024 * int(line.split()[1])
    return 0  # the process has ended


def last_step(metrics):
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    return max((json.loads(line).get("step") or 0 for line in lines if line.endswith("}")), default=0)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--size", default="base", choices=SIZES)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    args = p.parse_args()
    part = max(1, args.steps // 10)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "recipe.yaml"
        settings.write_text(recipe(SIZES[args.size], Path(folder) / "run"))
        words = [f"train.steps={args.steps}", f"train.checkpoint.save_interval_steps={3 * part}", f"train.logging_steps={part}",
                 f"eval.every={2 * part}", "eval.steps=2"]
        log = open(Path(folder) / "log", "w")
        child = subprocess.Popen([args.smelt, "run", str(settings), *(w for s in words for w in ("--set", s))],
                                 stdout=log, stderr=log, cwd=ROOT)
        most = {}
        while child.poll() is None:
            step = last_step(Path(folder) / "run/model/metrics.jsonl")
            most[step] = max(most.get(step, 0), held(child.pid))
            time.sleep(0.5)
        if child.returncode != 0:
            raise SystemExit(Path(log.name).read_text())
    for step, most_bytes in sorted(most.items()):
        print(f"from step {step}: at most {most_bytes / 1e9:.2f} GB", flush=True)


if __name__ == "__main__":
    main()
