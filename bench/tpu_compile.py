#!/usr/bin/env python3
"""Compiles training steps of smelt and plain JAX (by default BERT-base) for TPUs, without a TPU; prints a table.

Needs build/release/smelt (scripts/build) and .venv-oracle (scripts/test). Both sides write StableHLO text over a Shardy
mesh, and libtpu compiles the texts alternately. All numbers are per device. Flops are those of the matmuls in the
program before compilation; cycles are those of the compiler's schedule (bench/tpu_schedule.py), and next to them the
compiler's own estimate. For all of these a loop's body counts once per iteration, and waiting for other devices does
not count. Bytes accessed are the compiler's number, which counts a loop's body only once and is therefore meaningless
for a scan. Time and share of the matrix units' peak follow from the schedule. Results: docs/explanation/performance.md.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from flops import FlopCounter
from tpu_schedule import DoesNotCompile, print_top, schedule

ROOT = Path(__file__).resolve().parents[1]
FORMS = {  # name: flags of smelt, flags of JAX (None: has no such form)
    "jax unrolled": (None, ["--layers=loop"]),
    "jax unrolled rbg": (None, ["--layers=loop", "--prng=rbg"]),  # JAX's other generator, XLA's own
    # dropout by a hash like smelt's, which JAX does not offer
    "jax unrolled hash": (None, ["--layers=loop", "--prng=hash"]),
    "jax scan": (None, ["--layers=scan"]),
    "jax scan remat": (None, ["--layers=scan", "--remat"]),
    "unrolled": (["--layers=unrolled"], None),
    "scan all": (["--layers=scan", "--save=all"], None),
    "scan products": (["--layers=scan", "--save=products"], None),
    "scan layer": (["--layers=scan", "--save=layer"], None),
    "scan layer blocks": (["--layers=scan", "--save=layer", "--attention-rows=128"], None),
    "scan layer 256": (["--layers=scan", "--save=layer", "--attention-rows=256"], None),
    "unrolled layer 256": (["--layers=unrolled", "--save=layer", "--attention-rows=256"], None),
}
CASES = {  # name: topology, devices, batch, sequence, masked tokens
    "v2": ("v2:4x4", 32, 256, 512, 76),
    "v5e": ("v5e:4x8", 32, 256, 512, 76),
    "v3-32": ("v3:4x4", 32, 256, 512, 76),
    "v6e": ("v6e:4x8", 32, 256, 512, 76),
    "v2-128": ("v2:4x4", 32, 1024, 128, 20),
    "v5e-128": ("v5e:4x8", 32, 1024, 128, 20),
    "v5e-1": ("v5e:1x1", 1, 32, 128, 20),
    "v3": ("v3:2x2", 8, 128, 512, 114),  # lengths of T5
    "v5e-8": ("v5e:2x4", 8, 128, 512, 114),
    "v3-1024": ("v3:2x2", 8, 64, 1024, 0),  # ModernBERT, which masks a share of the tokens
    "v5e-1024": ("v5e:2x4", 8, 64, 1024, 0),
    "v3-8192": ("v3:2x2", 8, 8, 8192, 0),
    "v5e-8192": ("v5e:2x4", 8, 8, 8192, 0),
}
BYTES_PER_GB = 1e9


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cases", default="v2,v5e,v5e-1", help=f"of {', '.join(CASES)}")
    p.add_argument("--precisions", default="f32,bf16")
    p.add_argument("--dropouts", default="0.1,0")
    p.add_argument("--forms", default="jax unrolled,jax unrolled rbg,jax scan remat,unrolled,scan products,scan layer",
                   help=f"of {', '.join(FORMS)}")
    p.add_argument("--model", default="base", help="tiny, small, base or large; t5-small or t5-v1_1-small: --cases v3,v5e-8; "
                   "modernbert-base or -small: --cases v3-1024,v5e-1024,v3-8192,v5e-8192, without forms of JAX")
    p.add_argument("--depth", type=int, default=0, help="number of layers, if not that of the model")
    p.add_argument("--top", type=int, default=0, help="also print this many of the slowest instructions of each")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="a Python with jax")
    p.add_argument("--json", metavar="FILE", help="also write all numbers to this file")
    return p.parse_args()


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return done.stdout if done.returncode == 0 else None, done.stderr


def figures(args, case, form, precision, dropout, folder):
    topology, devices, batch, seq, predictions = CASES[case]
    program = str(Path(folder) / "program.mlir")
    shape = [f"--model={args.model}", f"--batch={batch}", f"--seq={seq}", *([f"--predictions={predictions}"] if predictions else []),
             f"--devices={devices}", f"--dropout={dropout}", f"--precision={precision}"] + ([f"--depth={args.depth}"] if args.depth else [])
    smelt, jax = FORMS[form]
    out, why = run([args.smelt, "bench", *shape, *smelt, "--device=tpu", f"--emit={program}"] if smelt else
                   [args.python, str(ROOT / "bench" / ("jax_t5.py" if args.model.startswith("t5") else "jax_bert.py")), *shape, *jax, "--platform=tpu", f"--hlo-out={program}"])
    if out is None:
        raise SystemExit(f"error: {form}: no program was written\n{why}")
    flops = FlopCounter(Path(program).read_text()).count() / devices
    try:
        got = schedule(args.smelt, program, topology)
    except DoesNotCompile as problem:
        why = str(problem)
        return {"flops": flops, "error": (re.search(r"Used [^.]*\.\d*\w* of [^.]*\.\d*\w*", why) or [why.strip()[:60]])[0]}
    peak = got["cycle_flops"] or float("nan")
    return {**got, "top": got["top"][:args.top], "flops": flops, "share": flops / (got["scheduled"] * peak),
            "estimated_share": flops / (got["cycles"] * peak), "seconds": got["scheduled_seconds"]}


def row(name, got, bases):
    if "error" in got:
        return f"| {name} | does not compile: {got['error']} | | | | | | | | |"
    ratio = lambda key: f" ({', '.join(f'{got[key] / b[key]:.2f}' for b in bases)})" if bases else ""
    accessed = f"{got['bytes_accessed']:.3g}" + ("" if "scan" in name else ratio("bytes_accessed"))
    return (f"| {name} | {got['scheduled'] / 1e6:.1f}{ratio('scheduled')} | {1e3 * got['seconds']:.1f} ms | {got['share']:.0%} | "
            f"{got['cycles'] / 1e6:.1f}{ratio('cycles')}, {got['estimated_share']:.0%} | "
            f"{got['compile_s']:.0f} s{ratio('compile_s')} | {accessed} | "
            f"{got['temporary_bytes'] / BYTES_PER_GB:.2f} GB{ratio('temporary_bytes')} | {got['code_bytes'] / 1e6:.0f} MB | "
            f"{got['flops']:.4g}{ratio('flops')} |")


def main():
    args = parse_flags()
    everything = []
    with tempfile.TemporaryDirectory() as folder:
        for case in args.cases.split(","):
            for precision in args.precisions.split(","):
                for dropout in args.dropouts.split(","):
                    topology, devices, batch, seq, _ = CASES[case]
                    print(f"\n**{topology}, {batch} x {seq} over {devices}, {precision}, dropout {dropout}** "
                          f"(load {os.getloadavg()[0]:.1f}; in brackets: relative to unrolled JAX)\n")
                    print("| | million cycles | time | share | estimated | compile | bytes accessed | temporaries | code | flops |\n"
                          "|---|---|---|---|---|---|---|---|---|---|")
                    bases, tops = [], {}
                    for form in args.forms.split(","):
                        if form.endswith(("rbg", "hash")) and float(dropout) == 0:
                            continue  # without dropout it equals JAX's default
                        got = figures(args, case, form, precision, dropout, folder)
                        if form.startswith("jax unrolled") and "error" not in got:
                            bases.append(got)
                        everything.append({"case": case, "precision": precision, "dropout": dropout, "form": form, **got})
                        print(row(form, got, bases), flush=True)
                        tops[form] = got.get("top", [])
                    for form, top in tops.items():
                        if top:
                            print(f"\n{form}:\n")
                            print_top(top)
    if args.json:
        Path(args.json).write_text(json.dumps(everything, indent=1))


main()
