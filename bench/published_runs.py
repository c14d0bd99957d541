#!/usr/bin/env python3
"""Plans published runs of encoders and T5s with `smelt plan` and writes tests/golden/published_runs.json.

    bench/published_runs.py [--only NAME]…

The list contains every run whose machine, model, length, batch size and time are public, if smelt can train such a
model and plan for such a machine; docs/explanation/cost-model.md says which runs were left out and why. For each run
the file gets the reported seconds per step, and the planned seconds of computation (work), of communication (told) and
of communication that cannot overlap with it (behind). tests/cost_model/published_runs_test.cpp fits the factors of
src/cost_model/estimate.h to one half of the runs, counts how many runs of the other half are within the ranges, and
writes the table in docs/explanation/cost-model.md (SMELT_UPDATE_GOLDEN=1). The halves, of TPUs and of GPUs each, follow
from the SHA-256 of the names, so that nobody can choose the half of a run.

Steps on TPUs are planned with unrolled layers, as in the original programs, for two and for four layers, and
extrapolated linearly, which takes a third of the time of compiling whole models. Steps on GPUs are planned for the
whole model with layers in a loop. Evaluation is omitted. Everything takes one to two hours on two cores; compiled
programs are cached.
"""
import argparse
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests/golden/published_runs.json"
BERT, ELECTRA, T5 = "recipes/bert-from-scratch.yaml", "recipes/electra-small.yaml", "recipes/t5-base.yaml"
LARGE = ["model.hidden_size=1024", "model.num_attention_heads=16", "model.intermediate_size=4096", "train.optimizer.type=lamb"]
BF16 = ["train.precision.compute=bf16"]
S512 = ["data.seq_length=512"]
HOUR, DAY = 3600, 24 * 3600


def bert(predictions, vocab=30522):
    return [f"data.max_predictions={predictions}", f"vocab.size={vocab}"]


@dataclass
class Phase:
    settings: list
    batch: int  # sequences per step
    steps: int = 1


@dataclass
class Run:
    name: str
    source: str
    on: str
    recipe: str
    layers: int
    phases: list
    seconds: float        # for all steps
    # True: steps or sequences per second from a log; False: the time of the whole run, reported in hours or days.
    measured: bool = True

    def steps(self):
        return sum(phase.steps for phase in self.phases)


def dle(name, on, batch, rate, settings, tables):
    """Returns the run of one line of a table; `rate` is in sequences per second."""
    source = f"NVIDIA/DeepLearningExamples: {tables} README, training performance on DGX A100"
    recipe, layers = (ELECTRA, 12) if "ELECTRA" in name else (BERT, 24)
    return Run(name, source, on, recipe, layers, [Phase(settings, batch)], batch / rate)


MLPERF = LARGE + BF16 + S512 + bert(76)
LOGS = "mlcommons/training_results_v0.7 Google/results"
ELECTRA_BASE = ["model.size=base"] + S512
ELECTRA_AMP = ["model.size=base"] + BF16
T5_11 = BF16 + ["data.inputs_length=1024", "model.d_ff=2048", "model.feed_forward_proj=gated-gelu", "model.tie_word_embeddings=false",
                "model.dropout_rate=0"]

TPUS = [
    Run("MLPerf v0.7, BERT-large, v3-32", f"{LOGS}/tpu-v3-32-TF2.0", "v3-32", BERT, 24, [Phase(MLPERF, 448)], 448 / 973),
    Run("MLPerf v0.7, BERT-large, v4-16", f"{LOGS}/tpu-v4-16-TF", "v4-16", BERT, 24, [Phase(MLPERF, 256)], 256 / 1097),
    Run("MLPerf v0.7, BERT-large, v4-128", f"{LOGS}/tpu-v4-128-TF: blocks of 163 steps and 4 of evaluation", "v4-128", BERT, 24,
        [Phase(MLPERF, 3072)], 53.92 / 163),
    Run("MLPerf v0.7, BERT-large, v4-512", f"{LOGS}/tpu-v4-512-TF: blocks of 163 steps and 4 of evaluation", "v4-512", BERT, 24,
        [Phase(MLPERF, 3072)], 18.17 / 163),
    Run("BERT-base, the paper's", "Devlin et al. 2018, A.2: 4 days on 16 chips; 90 % of steps at 128", "v2-32", BERT, 12,
        [Phase(bert(20), 256, 900_000), Phase(S512 + bert(77), 256, 100_000)], 4 * DAY, False),
    Run("BERT-large, the paper's", "Devlin et al. 2018, A.2: 4 days on 64 chips; 90 % of steps at 128", "v2-128", BERT, 24,
        [Phase(LARGE + ["train.optimizer.type=bert_adamw"] + bert(20), 256, 900_000),
         Phase(LARGE + ["train.optimizer.type=bert_adamw"] + S512 + bert(77), 256, 100_000)], 4 * DAY, False),
    Run("ELECTRA-base, the paper's", "Clark et al. 2020, tables 1 and 6: 4 days on 16 TPUv3s", "v3-32", ELECTRA, 12,
        [Phase(ELECTRA_BASE + ["vocab.size=30522"], 256, 766_000)], 4 * DAY, False),
    Run("bert-japanese, BERT-base", "cl-tohoku/bert-japanese v1 README, issue 16: about 7 days", "v3-8", BERT, 12,
        [Phase(S512 + bert(80, 32000), 256, 1_000_000)], 7 * DAY, False),
    Run("turkish-bert, BERT-base", "stefan-it/turkish-bert CHEATSHEET.md, issue 4: 7 days for 2M steps", "v3-8", BERT, 12,
        [Phase(S512 + bert(75, 32000), 128, 2_000_000)], 7 * DAY, False),
    Run("AraBERT v1, BERT-base", "aubmindlab/bert-base-arabertv02 model card: 4 days", "v2-8", BERT, 12,
        [Phase(bert(20, 64000), 512, 900_000), Phase(S512 + bert(80, 64000), 128, 300_000)], 4 * DAY, False),
    Run("AraBERT v0.2, BERT-large", "aubmindlab/bert-base-arabertv02 model card: 7 days", "v3-128", BERT, 24,
        [Phase(LARGE + bert(20, 64000), 13440, 250_000), Phase(LARGE + S512 + bert(80, 64000), 2056, 300_000)], 7 * DAY, False),
    Run("KoELECTRA-base", "monologg/KoELECTRA README_EN.md: about 7 days", "v3-8", ELECTRA, 12,
        [Phase(ELECTRA_BASE + ["vocab.size=32200"], 256, 700_000)], 7 * DAY, False),
    Run("KoELECTRA-small", "monologg/KoELECTRA README_EN.md: about 3 days", "v3-8", ELECTRA, 12,
        [Phase(S512 + ["vocab.size=32200", "model.generator_hidden_size=1.0"], 512, 300_000)], 3 * DAY, False),
    Run("Chinese-ELECTRA-base", "ymcui/Chinese-ELECTRA issue 23: 7 minutes for 1000 steps on a TPUv3", "v3-8", ELECTRA, 12,
        [Phase(ELECTRA_BASE + ["vocab.size=21128"], 256, 1000)], 7 * 60),
    Run("AraELECTRA-base", "aubmindlab/araelectra-base-discriminator model card: 24 days", "v3-8", ELECTRA, 12,
        [Phase(ELECTRA_BASE + ["vocab.size=64000"], 256, 2_000_000)], 24 * DAY, False),
    Run("t5-base-dutch", "yhavinga/t5-base-dutch model card: 2 days 9 hours", "v3-8", T5, 12,
        [Phase(BF16, 128, 528_481)], 57 * HOUR, False),
    Run("t5-v1.1-base-dutch-uncased", "yhavinga/t5-base-dutch model card: 5 days 5 hours", "v3-8", T5, 12,
        [Phase(T5_11, 64, 1_014_525)], 125 * HOUR, False),
]
TF1, TF2, TF2E = "TensorFlow BERT", "TensorFlow2 BERT", "TensorFlow2 ELECTRA"
L128, L512 = LARGE + bert(20), LARGE + S512 + bert(80)
GPUS = [
    dle("BERT-large, 128, AMP, A100 80 GB", "a100-80gb", 312, 485.59, L128 + BF16, TF2),
    dle("BERT-large, 128, TF32, A100 80 GB", "a100-80gb", 176, 282.98, L128, TF2),
    dle("BERT-large, 512, AMP, A100 80 GB", "a100-80gb", 40, 96.52, L512 + BF16, TF2),
    dle("BERT-large, 512, TF32, A100 80 GB", "a100-80gb", 22, 54.92, L512, TF2),
    dle("BERT-large, 128, AMP, 8 A100 80 GB", "a100-80gbx8", 2496, 3799.24, L128 + BF16, TF2),
    dle("ELECTRA-base, 128, AMP, A100 80 GB", "a100-80gb", 176, 955, ELECTRA_AMP, TF2E),
    dle("ELECTRA-base, 512, AMP, A100 80 GB", "a100-80gb", 24, 171, ELECTRA_AMP + S512, TF2E),
    dle("BERT-large, 128, AMP, A100 40 GB", "a100-40gb", 64, 356.845, L128 + BF16, TF1),
    dle("BERT-large, 128, TF32, A100 40 GB", "a100-40gb", 64, 238.10, L128, TF1),
    dle("BERT-large, 512, AMP, A100 40 GB", "a100-40gb", 16, 70.856, L512 + BF16, TF1),
    dle("BERT-large, 512, TF32, A100 40 GB", "a100-40gb", 8, 39.96, L512, TF1),
    dle("BERT-large, 128, AMP, 8 A100 40 GB", "a100-40gbx8", 512, 2871.89, L128 + BF16, TF1),
]


def plan(smelt, run, phase, layers):
    """Returns work, told and behind for the variant of the step that the plan tries first."""
    depth = "model.num_layers" if run.recipe == T5 else "model.num_hidden_layers"
    form = "scan" if run in GPUS else "unrolled"
    words = phase.settings + [f"{depth}={layers}", f"train.batch_size={phase.batch}", f"train.memory.layers={form}",
                              "train.parallelism.reduction=global"]
    done = subprocess.run([smelt, "plan", run.recipe, "--on", run.on, "--json", "--minutes=60", "--steps-only",
                           *(w for s in words for w in ("--set", s))], capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    row = json.loads(done.stdout)["rows"][0]
    own = row["tried"][0]
    if not own["step_seconds"]:
        raise SystemExit(f"{run.name}: {row.get('problem', own['problem'])}")
    return {"work": own["work_seconds"], "told": own["told_seconds"], "behind": own["told_behind_seconds"]}


def planned(smelt, run):
    """Returns the same for the run, averaged over the steps of its phases."""
    out = dict.fromkeys(("work", "told", "behind"), 0.0)
    for phase in run.phases:
        if run in GPUS:
            whole = plan(smelt, run, phase, run.layers)
        else:
            two, four = (plan(smelt, run, phase, layers) for layers in (2, 4))
            whole = {k: two[k] + (four[k] - two[k]) * (run.layers - 2) / 2 for k in out}
        for k in out:
            out[k] += whole[k] * phase.steps / run.steps()
    return {k: float(f"{v:.4g}") for k, v in out.items()}


def shape(run):
    return " and ".join(f"{p.batch} x {next((s.split('=')[1] for s in p.settings if 'length' in s), 512 if run.recipe == T5 else 128)}"
                        for p in run.phases)


def described(run):
    return {"name": run.name, "source": run.source, "on": run.on, "sequences": shape(run), "measured": run.measured,
            "reported": float(f"{run.seconds / run.steps():.4g}")}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", metavar="NAME", default=[], action="append", help="run to plan; may be repeated")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    args = p.parse_args()
    known = {run["name"]: run for run in json.loads(FILE.read_text())["runs"]} if FILE.exists() else {}
    for run in TPUS + GPUS:  # runs that were never planned are listed without figures
        if "work" not in known.get(run.name, {}):
            known[run.name] = described(run)
    for run in TPUS + GPUS:
        if args.only and run.name not in args.only:
            continue
        known[run.name] = described(run) | planned(args.smelt, run)
        print(json.dumps(known[run.name]), flush=True)
        FILE.write_text(json.dumps({"script": "bench/published_runs.py", "runs": [known[r.name] for r in TPUS + GPUS]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
