#!/usr/bin/env python3
"""Times BERT pre-training steps of smelt and JAX on this machine and prints the ratio.

Needs build/release/smelt (scripts/build) and .venv-oracle (scripts/test). Runs of the two alternate, so that other load
on the machine affects both; the fastest step of each counts. docs/explanation/performance.md describes the comparison.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from flops import FlopCounter

ROOT = Path(__file__).resolve().parents[1]


def parse_flags(defaults):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="base", help="tiny, small or base")
    p.add_argument("--batch", type=int, default=8, help="sequences per step")
    p.add_argument("--seq", type=int, default=128, help="tokens per sequence")
    p.add_argument("--predictions", type=int, default=0, help="masked tokens or T5's targets; 0: each side's default")
    p.add_argument("--classes", type=int, default=0, help="classes to fine-tune for; 0: pre-training")
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--optimizer", default="", help="optimizer of both sides; default: that of each side")
    p.add_argument("--steps", type=int, default=8,
                   help="timed steps per run, after an untimed one; the first of them also grow the heap")
    p.add_argument("--rounds", type=int, default=3, help="runs of each side")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="a Python with jax")
    p.set_defaults(**defaults)
    return p.parse_args()


def run(command):
    """Returns the command's last output line, parsed as JSON, and "peak_bytes", its peak memory."""
    env = os.environ | {"SMELT_COMPILE_CACHE": "off"}  # both sides must compile
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, cwd=ROOT, env=env)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)} failed\n{err.read().decode()}")
        return json.loads(out.read().decode().splitlines()[-1]) | {"peak_bytes": 1024 * used.ru_maxrss}


SGEMM = """
import json, time, numpy as np
a, b = (np.random.rand(4096, 4096).astype(np.float32) for _ in range(2))
times = []
for _ in range(4):
    start = time.perf_counter(); a @ b; times.append(time.perf_counter() - start)
print(json.dumps({"flops_per_s": 2 * 4096**3 / min(times)}))
"""


def step_flops(args, shape):
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "step.mlir"
        subprocess.run([args.smelt, "bench", *shape, f"--emit={program}"], check=True, cwd=ROOT)
        return FlopCounter(program.read_text()).count()


def measure(peer, args):
    shape = [f"--model={args.model}", f"--batch={args.batch}", f"--seq={args.seq}", f"--steps={args.steps}",
             f"--dropout={args.dropout}", *([f"--optimizer={args.optimizer}"] if args.optimizer else []),
             *([f"--predictions={args.predictions}"] if args.predictions else []),
             *([f"--classes={args.classes}"] if args.classes else [])]
    sides = {"smelt": [args.smelt, "bench", *shape],
             "jax": [args.python, str(ROOT / "bench" / peer), *shape],
             "sgemm": [args.python, "-c", SGEMM]}
    runs = {side: [] for side in sides}
    for _ in range(args.rounds):
        for side, command in sides.items():
            runs[side].append(run(command))
    return runs, step_flops(args, shape)


def main(peer, **defaults):
    args = parse_flags(defaults)
    runs, flops = measure(peer, args)
    peak = max(r["flops_per_s"] for r in runs.pop("sgemm"))
    best = {side: min(r["step_s_min"] for r in rs) for side, rs in runs.items()}
    processor = {side: min(r["step_cpu_s_min"] for r in rs) for side, rs in runs.items()}
    median = {side: statistics.median(r["step_s_median"] for r in rs) for side, rs in runs.items()}
    memory = {side: max(r["peak_bytes"] for r in rs) / 1e9 for side, rs in runs.items()}
    start = min(r["start_to_first_step_s"] for r in runs["smelt"])
    built = min(r["build_s"] + r["compile_s"] for r in runs["smelt"])
    ready = min(r["trace_s"] + r["compile_s"] for r in runs["jax"])
    print(f"{args.model}, batch {args.batch} x {args.seq}, dropout {args.dropout}, f32, {os.cpu_count()} cores, "
          f"jax {runs['jax'][0]['jax']}, load {os.getloadavg()[0]:.1f}")
    print(f"fastest step    smelt {best['smelt']:.3f} s   jax {best['jax']:.3f} s   "
          f"speed of smelt / jax {best['jax'] / best['smelt']:.2f}")
    print(f"median step     smelt {median['smelt']:.3f} s   jax {median['jax']:.3f} s   "
          f"speed of smelt / jax {median['jax'] / median['smelt']:.2f}")
    print(f"processor time  smelt {processor['smelt']:.3f} s   jax {processor['jax']:.3f} s   "
          f"speed of smelt / jax {processor['jax'] / processor['smelt']:.2f}   (all cores; robust to other load)")
    print(f"build, compile  smelt {built:.2f} s    jax {ready:.2f} s    time of smelt / jax {built / ready:.2f}")
    print(f"start           smelt to its first step's end {start:.2f} s   jax trace + compile {ready:.2f} s   "
          f"ratio {start / ready:.2f}")
    print(f"peak memory     smelt {memory['smelt']:.2f} GB   jax {memory['jax']:.2f} GB   smelt / jax {memory['smelt'] / memory['jax']:.2f}")
    print(f"products        {flops / 1e12:.3f} Tflop a step: smelt {flops / best['smelt'] / peak:.0%}, "
          f"jax {flops / best['jax'] / peak:.0%} of this machine's sgemm ({peak / 1e9:.0f} Gflop/s by numpy, all cores)")


if __name__ == "__main__":
    main("jax_bert.py")
