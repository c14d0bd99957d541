#!/usr/bin/env python3
"""From the start of a program to its first training step of BERT-base, the compiled program kept from an earlier start.

Needs build/release/smelt (scripts/build) and .venv-oracle (scripts/test). smelt with SMELT_COMPILE_CACHE and plain JAX
(bench/jax_bert.py) with its own cache of compilations, each in a new folder, which its first start fills; the starts
after that run in turns, and of each side the fastest counts. What counts is all from the program's first line, for JAX
its imports included, until the step can be run: weights are drawn, slots are there, the program is loaded.
"""
import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="base")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="a Python with jax")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"SMELT_COMPILE_CACHE": folder + "/smelt", "JAX_COMPILATION_CACHE_DIR": folder + "/jax",
                            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}

        def start(command):
            command = [*command, f"--model={args.model}", "--steps=1"]
            done = subprocess.run(command, capture_output=True, text=True, env=env)
            if done.returncode != 0:
                raise SystemExit(done.stderr)
            return json.loads(done.stdout.splitlines()[-1])

        sides = {"smelt": [args.smelt, "bench"], "jax": [args.python, ROOT / "bench/jax_bert.py"]}
        first = {side: start(command) for side, command in sides.items()}
        later = {side: [] for side in sides}
        for _ in range(args.rounds):
            for side, command in sides.items():
                later[side].append(start(command))
    out = {"load": round(os.getloadavg()[0], 1)}
    for side in sides:
        best = min(later[side], key=lambda run: run["start_s"])
        out[side] = {"first_start_s": round(first[side]["start_s"], 2), "start_s": round(best["start_s"], 2),
                     "of_it_compile_or_load_s": round(best["compile_s"], 2)}
    out["smelt_over_jax"] = round(out["smelt"]["start_s"] / out["jax"]["start_s"], 2)
    print(json.dumps(out))


main()
