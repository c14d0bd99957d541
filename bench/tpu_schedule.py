#!/usr/bin/env python3
"""Prints the cycles of a step on a TPU by the compiler's schedule, next to its estimate, for each instruction.

`smelt compile` counts the bundles of instructions that libtpu has scheduled (src/pjrt/schedule.h). A bundle takes one
cycle; a kernel takes longer if the matrix units or its transfers between HBM and the core do. libtpu's
`estimated_cycles` are close to this for matmuls. For passes over values in VMEM, however, the estimate is about 220
bytes per cycle: a sum of exponentials that is scheduled in 27 thousand cycles is estimated as 455, and on v2 integer
multiplications, from which random bits are made, are estimated as if they were one instruction. Neither number includes
waiting for other devices or the bandwidth of prefetches. Kernels without a schedule count with their estimate; their
sum is printed as "unread".

    bench/tpu_schedule.py PROGRAM --topology v5e:4x8 [--top 30] [--options=--xla_tpu_…=…]

PROGRAM is StableHLO text, as `smelt bench --emit` writes it.
"""
import argparse
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class DoesNotCompile(Exception):
    pass


def schedule(smelt, program, topology, options=""):
    """Returns the output of `smelt compile --json`."""
    done = subprocess.run([smelt, "compile", program, "--json", "--top=10000", f"--topology={topology}"],
                          env=dict(os.environ, LIBTPU_INIT_ARGS=options), capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise DoesNotCompile(done.stderr)
    return json.loads(done.stdout)


def print_top(top):
    print("| million cycles | estimate | MB of HBM | turns | instruction | from |\n|---|---|---|---|---|---|")
    for i in top:
        print(f"| {i['scheduled'] / 1e6:.3f} | {i['cycles'] / 1e6:.3f} | {i['hbm_bytes'] / 1e6:.1f} | {i['turns']:.0f} | "
              f"{i['name']} | {i['op_name']} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--topology", required=True, help="libtpu's name of the topology, such as v5e:4x8")
    p.add_argument("--top", type=int, default=0, help="also print this many of the slowest instructions")
    p.add_argument("--options", default="", help="options of libtpu: --xla_tpu_…=…")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    args = p.parse_args()
    try:
        told = schedule(args.smelt, os.path.abspath(args.program), args.topology, args.options)
    except DoesNotCompile as problem:
        raise SystemExit(str(problem))
    print(f"scheduled {told['scheduled'] / 1e6:.2f} million cycles (unread {told['unread'] / 1e6:.2f}), "
          f"estimated {told['cycles'] / 1e6:.2f}; temporaries {told['temporary_bytes'] / 1e9:.2f} GB, "
          f"peak {told['peak_bytes'] / 1e9:.2f} GB, compiled in {told['compile_s']:.0f} s\n")
    print_top(told["top"][:args.top])


if __name__ == "__main__":
    main()
