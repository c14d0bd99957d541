#!/usr/bin/env python3
"""Measures what the training loop adds to the bare step: input, metrics and log, but no saves and evaluations.

Needs build/release/smelt (scripts/build). Two programs run alternately with the same model and sizes: `smelt bench`
times the step on a batch in memory, and `smelt train` trains with its default settings on records from a file and logs
the time of its steps. The median of each run and the fastest run of each program count. The share of time spent waiting
for input is that of the worst run.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Batch, tokens, predictions, steps of the loop, steps of the bare step, model settings.
SIZES = {
    "base": (8, 128, 20, 12, 6, {}),
    "demo": (32, 64, 10, 2000, 500, {
        "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512,
        "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}),
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout


def recipe(size, out):
    batch, seq, predictions, steps, _, model = size
    return json.dumps({
        "out": str(out), "text": {"input": str(ROOT / "tests/golden/pretraining/english.txt"), "heldout": 0.2},
        "vocab": {"size": 30522, "unused": 30322},
        "data": {"seq_length": seq, "max_predictions": predictions, "dupe_factor": 40}, "model": model,
        "train": {"batch_size": batch, "steps": steps, "checkpoint": {"save_interval_steps": 10 * steps}, "logging_steps": max(1, steps // 10)},
        "eval": {"batch_size": 2, "steps": 1}})


def loop_step(folder, batch):
    """Returns the median seconds per step and the mean share of time waiting for input, without the first log line."""
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    lines = [r for r in records if r["kind"] == "line"][1:]
    return (statistics.median(batch / r["sequences_per_second"] for r in lines),
            statistics.mean(r["input_share"] for r in lines))


def measure(args, size):
    batch, seq, predictions, _, bare_steps, _ = size
    bare, loop, waiting = [], [], []
    with tempfile.TemporaryDirectory() as work:
        yaml, out = Path(work) / "r.yaml", Path(work) / "out"
        yaml.write_text(recipe(size, out))
        run(args.smelt, "run", yaml, "--set", "train.steps=1", "--set", "model.num_hidden_layers=1")
        for _ in range(args.rounds):
            run(args.smelt, "train", yaml, "--fresh", "--overwrite")
            seconds, share = loop_step(out / "model", batch)
            loop.append(seconds)
            waiting.append(share)
            said = run(args.smelt, "bench", "--model", out / "model/bert_config.json", "--batch", batch, "--seq", seq,
                       "--predictions", predictions, "--steps", bare_steps)
            bare.append(json.loads(said.splitlines()[-1])["step_s_median"])
    return {"bare_step_s": round(min(bare), 5), "loop_step_s": round(min(loop), 5),
            "loop_over_bare": round(min(loop) / min(bare), 4), "waiting_for_input": round(max(waiting), 5)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sizes", default="base,demo")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    args = p.parse_args()
    for name in args.sizes.split(","):
        print(json.dumps({"size": name, **measure(args, SIZES[name]), "load": round(os.getloadavg()[0], 1)}))


if __name__ == "__main__":
    main()
