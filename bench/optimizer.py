#!/usr/bin/env python3
"""Times one update of all of BERT's parameters by Amos and by AdamW, alternately in one process, and prints the ratio.

Needs build/release/smelt (scripts/build). The fastest update of each optimizer counts. Measurements:
docs/explanation/performance-history.md.
"""
import argparse
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="base", help="tiny, small, base or large")
    p.add_argument("--optimizers", default="amos,bert_adamw,adamw,optax_adamw", help="the first is compared with the others")
    p.add_argument("--steps", type=int, default=15, help="timed updates of each, after one untimed")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    return p.parse_args()


def main():
    args = parse_flags()
    command = [args.smelt, "bench", f"--model={args.model}", f"--updates={args.optimizers}", f"--steps={args.steps}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)} failed\n{done.stderr}")
    figures = json.loads(done.stdout.splitlines()[-1])
    first = args.optimizers.split(",")[0]
    print(f"{args.model}, f32, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: one update of all parameters")
    for name in args.optimizers.split(","):
        of, base = figures[name], figures[first]
        print(f"{name:12} fastest {of['update_s_min']:.4f} s  median {of['update_s_median']:.4f} s  "
              f"processor {of['update_cpu_s_min']:.3f} s  {of['slots']} numbers in slots   "
              f"time of {first} / {name}: {base['update_s_min'] / of['update_s_min']:.2f} fastest, "
              f"{base['update_s_median'] / of['update_s_median']:.2f} median, "
              f"{base['update_cpu_s_min'] / of['update_cpu_s_min']:.2f} processor")


main()
