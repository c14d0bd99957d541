#!/usr/bin/env python3
"""What a step takes on a TPU by the compiler's own schedule, beside its estimate.

`smelt compile` adds up libtpu's `estimated_cycles`. Those of matrix products are close to what is scheduled for them, but
those of passes over numbers in VMEM are bytes over some 220 a cycle: a sum of exponentials that is scheduled in 27 thousand
cycles is told as 455, and on v2 products of integers, of which random bits are made, are told as if they were one
instruction. This reads the schedule itself: the bundles of instructions of each kernel, which take a cycle each, or what its
matrix units take, if that is more, those of a loop as often as it turns; and what a kernel moves between HBM and the core at
the chip's bandwidth, if that is more. It has neither what devices wait for one another nor what copies in advance take of
the bandwidth. Kernels without a schedule count by the estimate, and are told as unread.

    bench/tpu_schedule.py PROGRAM --topology v5e:4x8 [--top 30]

PROGRAM is StableHLO text, as `smelt bench --emit` writes it.
"""
import argparse
import json
import math
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BYTES = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "pred": 1, "s8": 1, "u8": 1}
# Bytes of HBM a cycle of one device: Google's figures of a chip, over its cores and by its clock.
BANDWIDTH = {"v2": 350e9 / 0.7e9, "v3": 450e9 / 0.94e9, "v5e": 819e9 / 1.503e9, "v6e": 1640e9 / 1.75e9}
BUNDLE = re.compile(r"\s*(?:0x[0-9a-f]+|0)\s+(?:(\w\w):)?\s*:?\s*((?:> ?)*)\{(.*)")
EMPTY = re.compile(r"( %\d+ = vnop)? *\}")
EXIT = re.compile(r"scmp\.\w+\.s32\.totalorder [^,;]+, (\d+) /\* loop exit test")
MATMUL = re.compile(r"= vmatmul([\w.]*)\.(mxu\d)")  # 8 rows of f32 or 16 of bf16, a cycle each
SHAPE = re.compile(r"(f32|bf16|u32|s32|pred|s8|u8)\[([\d,]*)\](\{[^}]*\})?")
INSTRUCTION = re.compile(r"\s*(?:ROOT )?(%[\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)")


def scheduled_cycles(path):
    """Of one kernel: its bundles, or what its busiest matrix unit takes, which a bundle only starts.

    Its loops nest by the number of '>' before a bundle."""
    loops = [[Counter(), 1]]  # of each: what one turn takes, turns

    def leave():
        own, turns = loops.pop()
        for what, count in own.items():
            loops[-1][0][what] += count * turns

    for line in path.open(errors="replace"):
        found = BUNDLE.match(line)
        if not found:
            continue
        label, marks, text = found.groups()
        depth = len(loops) - 1 if EMPTY.match(text) else marks.count(">")
        while len(loops) - 1 > depth or (label == "LB" and 0 < depth == len(loops) - 1):
            leave()
        while len(loops) - 1 < depth:
            loops.append([Counter(), 1])
        loops[-1][0]["bundles"] += 1
        for product, unit in MATMUL.findall(line):
            loops[-1][0][unit] += 16 if product.startswith(".bf16") else 8
        if turns := EXIT.search(line):
            loops[-1][1] = int(turns[1])
    while len(loops) > 1:
        leave()
    return max(loops[0][0].values(), default=0)


def hbm_bytes(shapes, turns):
    """Of shapes as text, those that lie in HBM; of a stack that a loop goes through, one turn's part."""
    total = 0
    for dtype, dims, layout in SHAPE.findall(shapes):
        if "S(1)" in layout:  # in VMEM
            continue
        sizes = [int(d) for d in dims.split(",") if d]
        if turns > 1 and sizes and sizes[0] == turns:
            sizes = sizes[1:]
        total += math.prod(sizes) * BYTES[dtype]
    return total


def moved_bytes(text, turns_of):
    """Bytes of HBM that each instruction of the optimized module reads and writes."""
    results, parts, moved = {}, {}, {}
    for line in text.splitlines():
        found = INSTRUCTION.match(line)
        if not found:
            continue
        name, shape, _, operands = found.groups()
        results[name] = shape
        parts[name] = [m[0] for m in SHAPE.finditer(shape)]
        turns = turns_of.get(name[1:], 1)
        total = hbm_bytes(shape, turns)
        for operand, part in re.findall(r"(%[\w.-]+)(?:#(\d+))?", operands):
            own = results.get(operand, "") if part == "" else "".join(parts.get(operand, [])[int(part):][:1])
            total += hbm_bytes(own, turns)
        moved[name[1:]] = total
    return moved


class DoesNotCompile(Exception):
    pass


def compile_program(smelt, program, topology, options, folder):
    env = dict(os.environ, TPU_SKIP_MDS_QUERY="1", XLA_FLAGS=f"--xla_dump_to={folder} --xla_dump_hlo_as_text",
               LIBTPU_INIT_ARGS=f"--xla_jf_dump_to={folder}/llo --xla_jf_dump_llo_text=true "
                                f"--xla_jf_dump_llo_pass_label_regex=final_bundles {options}")
    done = subprocess.run([smelt, "compile", program, "--json", "--top=10000", f"--topology={topology}"],
                          env=env, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise DoesNotCompile(done.stderr)
    return json.loads(done.stdout)


def schedule(smelt, program, topology, options=""):
    """What `smelt compile --json` tells, with "scheduled" beside "cycles", of the whole and of each of "top"."""
    with tempfile.TemporaryDirectory() as folder:
        told = compile_program(smelt, program, topology, options, folder)
        turns_of = {i["name"]: int(i["turns"]) for i in told["top"]}
        moved = moved_bytes(next(Path(folder).glob("*after_codegen.txt")).read_text(), turns_of)
        cycles = {re.fullmatch(r"\d+-(.*)-\d+-final_bundles\.txt", f.name)[1]: scheduled_cycles(f)
                  for f in Path(folder, "llo").glob("*-final_bundles.txt") if "schedule-analysis" not in f.name}
    alike = {}  # kernels that are the same are compiled once: those have the same estimate
    for i in told["top"]:
        if i["name"] in cycles:
            alike.setdefault(i["cycles"] / i["turns"], cycles[i["name"]])
    unread = 0
    for i in told["top"]:
        own = cycles.get(i["name"], alike.get(i["cycles"] / i["turns"]))
        i["hbm"] = moved.get(i["name"], 0) / BANDWIDTH[topology.split(":")[0]] * i["turns"]
        i["kernel"] = i["cycles"] if own is None else own * i["turns"]
        i["scheduled"] = i["cycles"] if own is None else max(i["kernel"], i["hbm"])
        unread += i["cycles"] if own is None else 0
    told["top"].sort(key=lambda i: -i["scheduled"])
    return {**told, "scheduled": sum(i["scheduled"] for i in told["top"]), "unread": unread}


def print_top(top):
    print("| million cycles | of the kernel | of HBM | estimate | turns | instruction | from |\n|---|---|---|---|---|---|---|")
    for i in top:
        millions = " | ".join(f"{i[key] / 1e6:.3f}" for key in ("scheduled", "kernel", "hbm", "cycles"))
        print(f"| {millions} | {i['turns']:.0f} | {i['name']} | {i['op_name']} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--topology", required=True, help=f"of {', '.join(BANDWIDTH)}: v5e:4x8")
    p.add_argument("--top", type=int, default=0, help="also the so many instructions that take longest")
    p.add_argument("--options", default="", help="of libtpu: --xla_tpu_…=…")
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
