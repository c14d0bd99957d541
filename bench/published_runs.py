#!/usr/bin/env python3
"""Published runs of encoders beside what `smelt plan` says of them before they are made: docs/plan.md's table.

Each is planned as a recipe of its own: its model, sequences, batch of a step and precision. Runs marked "fit" are those by
which src/plan/estimate.h's factors were set; the others check them: the printed range should hold at least 80 % of these.

    bench/published_runs.py [--only v3-32,a100-80gb] [--json FILE]

Steps of the DeepLearningExamples' runs add up gradients over many batches before one update; here each batch has one.
"""
import argparse
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGE = ["model.hidden_size=1024", "model.num_hidden_layers=24", "model.num_attention_heads=16",
         "model.intermediate_size=4096", "train.optimizer=lamb", "vocab.size=30522"]
MLPERF = LARGE + ["train.layers=unrolled", "data.seq_length=512", "data.max_predictions=76", "train.precision=bf16"]
LARGE_512 = LARGE + ["data.seq_length=512", "data.max_predictions=80"]
BERT, ELECTRA = "recipes/bert-from-scratch.yaml", "recipes/electra-small.yaml"
ELECTRA_BASE = ["model.size=base", "train.precision=bf16"]
# Who says so; the machine; what is trained; settings; sequences of a step, a second as reported; whether the factors know it.
RUNS = [
    ("MLPerf v0.7, Google", "v3-32", "BERT-large, 512, bf16", BERT, MLPERF, 448, 973, "fit"),
    ("MLPerf v0.7, Google", "v4-16", "BERT-large, 512, bf16", BERT, MLPERF, 256, 1097, "fit"),
    ("NVIDIA, TF2", "a100-80gb", "BERT-large, 128, AMP", BERT, LARGE + ["train.precision=bf16"], 312, 485.59, "fit"),
    ("NVIDIA, TF2", "a100-80gb", "BERT-large, 128, TF32", BERT, LARGE, 176, 282.98, "check"),
    ("NVIDIA, TF2", "a100-80gb", "BERT-large, 512, AMP", BERT, LARGE_512 + ["train.precision=bf16"], 40, 96.52, "check"),
    ("NVIDIA, TF2", "a100-80gb", "BERT-large, 512, TF32", BERT, LARGE_512, 22, 54.92, "fit"),
    ("NVIDIA, TF2", "a100-80gbx8", "BERT-large, 128, AMP", BERT, LARGE + ["train.precision=bf16"], 2496, 3799.24, "check"),
    ("NVIDIA, TF2", "a100-80gb", "ELECTRA-base, 128, AMP", ELECTRA, ELECTRA_BASE, 176, 955, "check"),
    ("NVIDIA, TF2", "a100-80gb", "ELECTRA-base, 512, AMP", ELECTRA, ELECTRA_BASE + ["data.seq_length=512"], 24, 171, "check"),
]


def planned(smelt, on, recipe, settings, batch):
    words = [w for s in settings + [f"train.batch_size={batch}", "train.reduction=global"] for w in ("--set", s)]
    done = subprocess.run([smelt, "plan", recipe, "--on", on, "--json", "--minutes=60", *words],
                          capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)["rows"][0]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="machines, comma separated")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    p.add_argument("--json", metavar="FILE", help="write every plan here, too")
    args = p.parse_args()
    print("| run | on | model | sequences of a step | reported | planned | of reported | |\n|---|---|---|---|---|---|---|---|")
    plans, held, checked = [], 0, 0
    for who, on, what, recipe, settings, batch, rate, part in RUNS:
        if args.only and on not in args.only.split(","):
            continue
        row = planned(args.smelt, on, recipe, settings, batch)
        plans.append(row)
        own = row["tried"][0]
        if not own["step_seconds"]:
            print(f"| {who} | {on} | {what} | {batch} | {1e3 * batch / rate:.0f} ms | {row.get('problem', '')} | | {part} |", flush=True)
            continue
        step, reported = own["step_seconds"], batch / rate
        inside = step["low"] <= reported <= step["high"]
        if part == "check":
            held, checked = held + inside, checked + 1
        print(f"| {who} | {on} | {what} | {batch} | {1e3 * reported:.0f} ms | {1e3 * step['likely']:.0f} ms "
              f"({1e3 * step['low']:.0f} to {1e3 * step['high']:.0f}) | {step['likely'] / reported:.2f} | "
              f"{part}{'' if inside else ', outside'} |", flush=True)
    print(f"\nOf {checked} runs that were not fitted the range holds {held}.")
    if args.json:
        Path(args.json).write_text(json.dumps(plans, indent=1))


main()
