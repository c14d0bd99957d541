#!/usr/bin/env python3
"""Measures what several processes cost a run: four with two devices each, and one with eight, on simulated devices.

tools/pod starts both, so both compute in one server and send it the same tensors; the difference is the coordination of
the processes. From a short and a long run it prints the time to start and stop, the time of a step, and how a save is
shared among the processes (the bytes of each process's files). The simulated devices share this machine's cores, so no
number is valid for a real TPU slice.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PODS = {"one": (1, 8), "four": (4, 2)}
RECIPE = f"""
text: {{input: {ROOT}/tests/golden/pretraining/english.txt, heldout: 0.2}}
vocab: {{size: 400}}
data: {{seq_length: 64, max_predictions: 10, dupe_factor: 20}}
model: {{hidden_size: 256, num_hidden_layers: 4, num_attention_heads: 4, intermediate_size: 1024,
        max_position_embeddings: 64}}
train: {{devices: 8, batch_size: 16, steps: 2, schedule.warmup_steps: 1, checkpoint.save_interval_steps: 100000, logging_steps: 1000}}
eval: {{batch_size: 16, steps: 1}}
"""


def run(work, pod, out, steps, platform, command="train"):
    processes, devices = PODS[pod]
    begin = time.monotonic()
    ended = subprocess.run([ROOT / "tools/pod", "--as", platform, str(processes), str(devices), "--", "smelt", command,
                            work / "r.yaml", "--set", f"out={out}", "--set", f"train.device={platform}",
                            "--set", f"train.steps={steps}"], capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if ended.returncode != 0:
        raise SystemExit(ended.stdout + ended.stderr)
    return seconds


def bytes_by_process(out):
    """Returns the sizes of the files of the newest checkpoint that are larger than 4096 bytes."""
    manifest = max(out.glob("model/checkpoint-*/manifest.json"), key=lambda p: p.stat().st_mtime)
    return {f.name: f.stat().st_size for f in sorted(manifest.parent.iterdir()) if f.stat().st_size > 4096}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--as", dest="platform", choices=["cpu", "tpu"], default="tpu")
    args = p.parse_args()
    work = Path(tempfile.mkdtemp(prefix="smelt-bench-pod-"))
    try:
        (work / "r.yaml").write_text(RECIPE)
        run(work, "one", work / "made", 2, args.platform, "run")  # makes texts, vocabulary and examples
        shutil.rmtree(work / "made/model")
        figures = {pod: {"start_stop_s": [], "step_ms": []} for pod in PODS}
        for round_ in range(args.rounds):
            for pod in PODS:
                short, long = (work / f"{pod}-{round_}-{steps}" for steps in ("short", "long"))
                for out in (short, long):
                    shutil.copytree(work / "made", out)
                start = run(work, pod, short, 2, args.platform)
                step = (run(work, pod, long, 2 + args.steps, args.platform) - start) / args.steps
                figures[pod]["start_stop_s"].append(start - 2 * step)
                figures[pod]["step_ms"].append(1e3 * step)
                figures[pod]["saved"] = bytes_by_process(long)
        for pod, found in figures.items():
            print(json.dumps({"load": round(os.getloadavg()[0], 1), "processes": PODS[pod][0], "devices": PODS[pod][1]}
                             | {k: round(statistics.median(found[k]), 2) for k in ("start_stop_s", "step_ms")}
                             | {"saved": found["saved"]}))
        ratio = {k: statistics.median(figures["four"][k]) / statistics.median(figures["one"][k])
                 for k in ("start_stop_s", "step_ms")}
        print(json.dumps({"four_by_one": {k: round(v, 2) for k, v in ratio.items()}}))
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
