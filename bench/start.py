#!/usr/bin/env python3
"""Times the start of a program until its first training step of BERT-base, with a compile cache from an earlier start.

Needs build/release/smelt (scripts/build) and .venv-oracle (scripts/test). Compares smelt with SMELT_COMPILE_CACHE and
plain JAX (bench/jax_bert.py) with its compilation cache. Both caches are empty, and the first start fills them; later
starts of the two alternate, and the fastest of each counts. The time is measured from the program's first line (for JAX
including imports) until the step can run: weights are initialized, slots exist, and the program is loaded.
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
