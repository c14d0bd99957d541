#!/usr/bin/env python3
"""Measures training steps on this machine's GPU in bf16, compared with JAX and PyTorch at their fastest settings.

    python3 bench/gpu.py --smelt smelt --python python3 --out gpu.md

Needs smelt with its CUDA plugin and a Python with jax and torch for GPUs, but no network. A missing library is left out.
Takes at most --limit seconds (480): the most important rows run first, and runs that do not fit are left out and listed.
Share of peak = operations of the matmuls in smelt's program / (step time * peak); the peak is a bf16 matmul of
8192 x 8192 in the same call. With --platform cpu --rows tiny it only tries the script.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from flops import FlopCounter

ROOT = Path(__file__).resolve().parents[1]
# name: model, batch, tokens, predictions (T5: target tokens), peers
ROWS = {
    "large-512": ("large", 32, 512, 80, ("jax", "torch")),
    "base-128": ("base", 256, 128, 20, ("jax", "torch")),
    "base-512": ("base", 64, 512, 80, ("jax", "torch")),
    "large-128": ("large", 128, 128, 20, ("jax", "torch")),
    "modernbert-1024": ("modernbert-base", 32, 1024, 20, ()),
    "electra-128": ("electra-small", 128, 128, 20, ()),
    "t5-512": ("t5-small", 32, 512, 114, ()),
    "modernbert-128": ("modernbert-base", 256, 128, 20, ()),
    "base-128-small": ("base", 64, 128, 20, ("jax",)),
    "tiny": ("tiny", 4, 64, 8, ("jax", "torch")),
}
PEAK = """
import json, sys, time, torch
cuda = sys.argv[1] == "gpu"
n, device = (8192, "cuda") if cuda else (512, "cpu")
a, b = (torch.randn(n, n, device=device, dtype=torch.bfloat16) for _ in range(2))
def product():
    begin = time.perf_counter()
    for _ in range(10): a @ b
    if cuda: torch.cuda.synchronize()
    return (time.perf_counter() - begin) / 10
product()
print(json.dumps({"flops_per_s": 2 * n**3 / min(product() for _ in range(5))}))
"""


class Failed(Exception):
    pass


class Runner:
    """Runs commands until the time is up, and collects what was left out."""

    def __init__(self, limit):
        self.end, self.left_out = time.monotonic() + limit, []

    def run(self, name, command, seconds):
        """Returns the JSON of the command's last line, or None, with the reason in left_out.

        `seconds`: how long the command usually takes; it does not begin if less time is left.
        """
        left = self.end - time.monotonic()
        if left < seconds:
            self.left_out.append(f"{name}: {left:.0f} s were left")
            return None
        env = os.environ | {"SMELT_COMPILE_CACHE": "off", "PYTHONPATH": str(ROOT / "bench")}
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, timeout=left)
        except (subprocess.TimeoutExpired, OSError) as error:
            self.left_out.append(f"{name}: {error}")
            return None
        lines = done.stdout.strip().splitlines()
        if done.returncode != 0 or not lines:
            self.left_out.append(f"{name}: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
            return None
        return json.loads(lines[-1])


def shape_flags(row):
    model, batch, tokens, predictions, _ = row
    return [f"--model={model}", f"--batch={batch}", f"--seq={tokens}", f"--predictions={predictions}"]


def measure_row(args, runner, name, row):
    """Returns the step times in seconds by side, and the operations of smelt's program."""
    shape, timed = shape_flags(row), [f"--steps={args.steps}", "--precision=bf16"]
    sides = {"smelt": [args.smelt, "bench", *shape, *timed, f"--device={args.platform}"]}
    if "jax" in row[4]:
        attention = "cudnn" if args.platform == "gpu" else "plain"
        for form in dict.fromkeys(("plain", attention)):
            sides[f"jax {form}"] = [args.python, "bench/jax_bert.py", *shape, *timed, f"--platform={args.platform}",
                                    f"--attention={form}"]
    if "torch" in row[4]:
        sides["torch"] = [args.python, "bench/torch_bert.py", *shape, *timed, f"--platform={args.platform}"]
    found = {side: runner.run(f"{name} {side}", command, 20 if side == "smelt" else 45) for side, command in sides.items()}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "step.mlir"
        emitted = subprocess.run([args.smelt, "bench", *shape, "--precision=bf16", f"--device={args.platform}",
                                  f"--emit={program}"], capture_output=True, text=True, cwd=ROOT)
        if emitted.returncode != 0:
            raise Failed(f"smelt bench --emit: {emitted.stderr.strip()}")
        return found, FlopCounter(program.read_text()).count()


def table_line(name, row, found, flops, peak):
    times = {side: figures["step_s_min"] * 1e3 for side, figures in found.items() if figures}
    ours, peers = times.get("smelt"), [t for side, t in times.items() if side != "smelt"]
    share = f"{flops / (ours / 1e3) / peak:.1%}" if ours and peak else "-"
    ratio = f"{ours / min(peers):.2f}" if ours and peers else "-"
    cell = lambda side: f"{times[side]:.2f}" if side in times else "-"
    return (f"| {name} | {row[1]} x {row[2]} | {cell('smelt')} | {share} | {cell('jax plain')} | {cell('jax cudnn')} | "
            f"{cell('torch')} | {ratio} |")


def kernel_table(args, runner, row):
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "step.mlir")
        subprocess.run([args.smelt, "bench", *shape_flags(row), "--precision=bf16", f"--device={args.platform}",
                        f"--emit={program}"], check=True, capture_output=True, cwd=ROOT)
        return runner.run("kernels", [args.python, "bench/gpu_kernels.py", program], 40)


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    p.add_argument("--python", default=sys.executable, help="a Python with jax and torch for this device")
    p.add_argument("--rows", default=",".join(name for name in ROWS if name != "tiny"), help="rows to measure")
    p.add_argument("--kernels", default="large-512", help="row whose kernel times are printed; empty: none")
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--limit", type=float, default=480, help="seconds for all runs")
    p.add_argument("--platform", choices=["gpu", "cpu"], default="gpu")
    p.add_argument("--out", type=Path, help="file for the printed table; default: only print")
    args = p.parse_args()
    for name in [*args.rows.split(","), *filter(None, [args.kernels])]:
        if name not in ROWS:
            p.error(f"no row '{name}'; the rows are {', '.join(ROWS)}")
    return args


def machine(args):
    if args.platform == "cpu":
        return f"{os.cpu_count()} CPU cores"
    asked = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm", "--format=csv,noheader"],
                           capture_output=True, text=True)
    return asked.stdout.strip() or "nvidia-smi printed nothing"


def main():
    args = parse_flags()
    runner, lines = Runner(args.limit), []

    def say(line):
        print(line, flush=True)
        lines.append(line)

    peak = (runner.run("peak", [args.python, "-c", PEAK, args.platform], 15) or {}).get("flops_per_s")
    say(f"{machine(args)}; bf16 matmul {peak / 1e12:.0f} TFLOP/s" if peak else machine(args))
    say("\n| row | sequences | smelt, ms | share of peak | JAX, ms | JAX with cuDNN, ms | PyTorch, ms | smelt / fastest peer |")
    say("|---|---|---|---|---|---|---|---|")
    measured = {}
    for name in args.rows.split(","):
        found, flops = measure_row(args, runner, name, ROWS[name])
        measured[name] = {"flops": flops, **found}
        say(table_line(name, ROWS[name], found, flops, peak))
    if args.kernels and (kernels := kernel_table(args, runner, ROWS[args.kernels])):
        say(f"\n{args.kernels}, ms per step: " + ", ".join(f"{k} {ms:.2f}" for k, ms in kernels["ms_per_step"].items()))
        say(f"memory: arguments {kernels['argument_bytes'] / 1e9:.2f} GB, temporaries {kernels['temporary_bytes'] / 1e9:.2f} GB")
    for text in runner.left_out:
        say(f"left out: {text}")
    say(json.dumps({"peak": peak, "rows": measured}))
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"error: {error}")
