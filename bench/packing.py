#!/usr/bin/env python3
"""Compares training steps on padded and on packed sequences (train.packing).

Lengths have the distribution of sentence pairs made from Wikipedia with up to 512 tokens, as Krell et al. 2021 (arXiv
2107.02027) describe it: 23.4 % have all 512 tokens, and the mean is 256. With --lengths they are drawn from a file.

CPU: runs steps of both kinds in turns; the fastest of each counts. TPU: the schedule of the compiler, without a TPU. A step
whose sequences do not fit into the packed rows takes as long as a padded one; the ratio takes this into account. Needs
build/release/smelt (scripts/build); results are in docs/explanation/performance-history.md.
"""
import argparse
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

from tpu_schedule import schedule

ROOT = Path(__file__).resolve().parents[1]
CHIPS = {"v3": ("v3:2x2", 8), "v5e": ("v5e:2x4", 8)}  # topology, devices


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--on", default="cpu,v3,v5e", help=f"of cpu, {', '.join(CHIPS)}")
    p.add_argument("--model", default="small", help="on the CPU: tiny, small, base or electra-small; TPUs: base")
    p.add_argument("--batch", type=int, default=64, help="sequences per step on the CPU; TPUs: 1024")
    p.add_argument("--seq", type=int, default=512, help="tokens per row")
    p.add_argument("--steps", type=int, default=3, help="timed steps per run on the CPU")
    p.add_argument("--rounds", type=int, default=2, help="runs of each kind on the CPU")
    p.add_argument("--flags", default="", help="more flags of `smelt bench` on the CPU, as '--layers=scan --save=layer'")
    p.add_argument("--lengths", default="", help="file with one number of tokens per line")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    return p.parse_args()


def write_lengths(path, most):
    """Writes 20,000 lengths with that distribution; those below `most` fall off exponentially from 8 tokens on."""
    full, target = 0.234, most / 2
    low, high = 1.0, 4.0 * most  # bisects the scale of the exponential distribution
    for _ in range(40):
        scale, draw = (low + high) / 2, random.Random(1)
        lengths = [most if draw.random() < full else min(most, 8 + round(draw.expovariate(1 / scale))) for _ in range(20000)]
        low, high = (scale, high) if sum(lengths) / len(lengths) < target else (low, scale)
    path.write_text("".join(f"{n}\n" for n in lengths))


def bench(args, shape):
    done = subprocess.run([args.smelt, "bench", *shape], capture_output=True, text=True, cwd=ROOT,
                          env=os.environ | {"SMELT_COMPILE_CACHE": "off"})
    if done.returncode != 0:
        raise SystemExit(f"error: smelt bench {' '.join(shape)} failed\n{done.stderr}")
    return json.loads(done.stdout or "{}")


def ratio(padded, packed, fitting):
    """Returns how many times as fast packed steps are on average."""
    return padded / (fitting * packed + (1 - fitting) * padded)


def on_cpu(args, lengths):
    shape = [f"--model={args.model}", f"--batch={args.batch}", f"--seq={args.seq}", f"--predictions={args.seq * 3 // 20}",
             f"--steps={args.steps}", f"--lengths={lengths}", *args.flags.split()]
    runs = {"padded": [], "packed": []}
    for _ in range(args.rounds):
        runs["padded"].append(bench(args, shape))
        runs["packed"].append(bench(args, [*shape, "--packing"]))
    best = {kind: min(run["step_s_min"] for run in all_runs) for kind, all_runs in runs.items()}
    packed = runs["packed"][0]
    print(f"cpu, {' '.join([args.model, args.flags])}, {args.batch} x {args.seq}: padded {best['padded']:.3f} s, packed into {packed['packed_rows']} rows "
          f"{best['packed']:.3f} s; {100 * packed['fitting_batches']:.0f} % of batches fit: "
          f"{ratio(best['padded'], best['packed'], packed['fitting_batches']):.2f} times as fast", flush=True)


def on_tpu(args, chip, lengths):
    topology, devices = CHIPS[chip]
    shape = ["--model=base", "--batch=1024", f"--seq={args.seq}", f"--predictions={args.seq * 3 // 20}", f"--devices={devices}",
             "--precision=bf16", "--micro-batches=4", f"--lengths={lengths}", "--device=tpu"]
    seconds, packing = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, flags in {"padded": [], "packed": ["--packing"]}.items():
            program = Path(folder) / f"{kind}.mlir"
            packing = bench(args, [*shape, *flags, f"--emit={program}"])
            seconds[kind] = schedule(args.smelt, str(program), topology)["scheduled_seconds"]
    print(f"{chip} ({topology}), base, 1024 x {args.seq} in bf16: padded {seconds['padded']:.3f} s, packed into "
          f"{packing['packed_rows']} rows {seconds['packed']:.3f} s; {100 * packing['fitting_batches']:.0f} % of batches fit: "
          f"{ratio(seconds['padded'], seconds['packed'], packing['fitting_batches']):.2f} times as fast", flush=True)


def main():
    args = parse_flags()
    with tempfile.TemporaryDirectory() as folder:
        lengths = Path(args.lengths or Path(folder) / "lengths.txt").resolve()
        if not args.lengths:
            write_lengths(lengths, args.seq)
        for place in args.on.split(","):
            if place == "cpu":
                on_cpu(args, lengths)
            else:
                on_tpu(args, place, lengths)


if __name__ == "__main__":
    main()
