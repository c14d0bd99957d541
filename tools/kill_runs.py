#!/usr/bin/env python3
"""kill_runs.py --smelt PROGRAM --kills N [--seed S] [--places one,eight,mesh,bucket] [RECIPE] [--set FIELD=VALUE ...]

Shows that a run that is killed repeatedly gives the same results as an undisturbed run. In each place RECIPE (by
default a tiny one) is run once undisturbed. Then runs of it are killed with -9, N times over all places: at a random
time or, every second time, while a checkpoint is being written. A run that ends before it is killed, and the last run
of each place, which is not killed, must give the bits of the undisturbed run: the records of every step and evaluation,
every file of the model folder (checkpoints, best/, save/, evaluation results), the stored recipe and the exported
folder.

Places:
  one                   one device
  eight                 eight devices
  mesh                  two devices that shard the model, with scanned layers, as on a TPU or GPU
  bucket                one device, with everything in a bucket of an emulator, which needs the tests' Python
One device with options that keep state between steps:
  best                  evaluations, best checkpoint, patience, keep_period, moving averages, filled texts, histograms
  rewind, skip          loss spikes
  prune                 pruning of a classifier
  distill, epochs       distillation; a length in epochs
Several devices with such options: eight-best, mesh-rewind
"""
import argparse
import contextlib
import glob
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECIPE = """
text: {input: %s/tests/golden/pretraining/english.txt, heldout: 0.2}
vocab: {size: 200}
data: {seq_length: 32, max_predictions: 5, dupe_factor: 20}
model: {hidden_size: 16, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 32,
        max_position_embeddings: 32, type_vocab_size: 2}
train: {batch_size: 8, steps: 240, optimizer.learning_rate: 1e-3, schedule.warmup_steps: 20, checkpoint.save_interval_steps: 7, checkpoint.max_to_keep: 3}
eval: {batch_size: 8}
""" % ROOT

# A classifier that starts from the weights of a run in WORK/base.
CLASSIFY = """
data: {train: WORK/rows.tsv, seq_length: 16, validation_share: 0.2}
model: {type: classify}
train: {init_from: WORK/base/model, batch_size: 8, steps: 240, optimizer.learning_rate: 1e-3, schedule.warmup_steps: 20, checkpoint.save_interval_steps: 7, checkpoint.max_to_keep: 3}
eval: {batch_size: 8}
"""

# Recipe settings of each place. Meshes have two devices: on a CPU, devices that share a model add in order of arrival,
# and only the sum of two values is the same in any order.
EIGHT = ["train.devices=8"]
MESH = ["train.devices=2", "train.parallelism.mesh=fsdp=2", "train.memory.layers=scan", "train.memory.remat_policy=products", "model.num_hidden_layers=2"]
BEST = ["eval.every=5", "train.checkpoint.best_metric=masked_lm_loss", "eval.best=true", "train.early_stopping.patience=6", "train.checkpoint.keep_period=14",
        "train.ema_decay=0.9"]
SPIKES = ["train.loss_spike.window=8", "train.loss_spike.sigmas=2.5"]
REWIND = [*BEST, *SPIKES, "train.loss_spike.skip_batches=3", "train.loss_spike.action=rewind"]
SETTINGS = {
    "eight": EIGHT,
    "mesh": MESH,
    "best": [*BEST, "train.gradient_accumulation_steps=2", "track.fill=the [MASK] of | a [MASK]", "track.histograms_every=9",
             "track.gradients=true"],
    "rewind": REWIND,
    "skip": [*BEST, *SPIKES, "train.loss_spike.action=skip"],
    "prune": ["eval.every=5", "train.checkpoint.best_metric=accuracy", "train.pruning.sparsity=0.5", "train.pruning.method=movement"],
    "distill": [*BEST, "distill.ce=0.5"],
    "epochs": ["train.epochs=2", "eval.every_epochs=0.25", "train.checkpoint.best_metric=masked_lm_loss", "train.early_stopping.patience=9"],
    "eight-best": [*EIGHT, *BEST],
    "mesh-rewind": [*MESH, *REWIND],
}

# Fields of records that are not compared: they depend on time, or are means since the last evaluation, which may belong
# to another start.
OF_TIME = {"time", "spent", "sequences_per_second", "tokens_per_second", "mfu", "input_share", "seconds_left", "train"}
KINDS = {"line", "check", "filled"}  # kinds of records that a resumed run writes again
# Files of a run's folder that are not compared: they are made before training, or contain times.
NOT_COMPARED = ("text/", "data/", ".stages/", "model/train/", "model/metrics.jsonl")


class Folder:
    """A run folder on the local disk."""

    records_every_step = True

    def __init__(self, path):
        self.out = path

    def files(self):
        """Returns the contents of all files by name."""
        found = {}
        for folder, _, names in os.walk(self.out):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.out)] = file.read()
        return found

    def metrics(self):
        path = self.out + "/model/metrics.jsonl"
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            return file.read()

    def unfinished(self):
        """Returns checkpoints that are being written, or were being written when a run was killed."""
        return {*glob.glob(self.out + "/model/*.partial-*"), *glob.glob(self.out + "/model/*/*.partial-*")}

    def clear(self):
        for folder in ("model", "huggingface"):
            shutil.rmtree(f"{self.out}/{folder}", ignore_errors=True)


class Bucket:
    """A folder of the emulator's bucket."""

    records_every_step = False  # the object is not rewritten for each step

    def __init__(self, endpoint, name):
        self.endpoint, self.name, self.out = endpoint, name, f"gs://bucket/{name}"

    def ask(self, path, method="GET"):
        request = urllib.request.Request(self.endpoint + path, method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def names(self, prefix):
        query = urllib.parse.quote(f"{self.name}/{prefix}", safe="")
        items = json.loads(self.ask(f"/storage/v1/b/bucket/o?prefix={query}")).get("items", [])
        return [item["name"] for item in items]

    def files(self):
        quoted = {name: urllib.parse.quote(name, safe="") for name in self.names("")}
        return {name[len(self.name) + 1:]: self.ask(f"/download/storage/v1/b/bucket/o/{path}?alt=media")
                for name, path in quoted.items()}

    def metrics(self):
        name = f"{self.name}/model/metrics.jsonl"
        if name not in self.names("model/metrics.jsonl"):
            return ""
        path = urllib.parse.quote(name, safe="")
        return self.ask(f"/download/storage/v1/b/bucket/o/{path}?alt=media").decode()

    def unfinished(self):
        folders = {}
        for name in self.names("model/checkpoint-"):
            folders.setdefault(name.split("/")[-2], []).append(name.split("/")[-1])
        return {folder for folder, members in folders.items() if "COMMIT" not in members}

    def clear(self):
        for name in [*self.names("model/"), *self.names("huggingface/")]:
            self.ask(f"/storage/v1/b/bucket/o/{urllib.parse.quote(name, safe='')}", "DELETE")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Emulator:
    def __enter__(self):
        port = free_port()
        python = os.path.join(ROOT, ".venv-oracle/bin/python")
        self.process = subprocess.Popen([python, ROOT + "/tests/support/gcs_emulator.py", str(port)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.endpoint = f"http://127.0.0.1:{port}"
        os.environ["CLOUD_STORAGE_EMULATOR_ENDPOINT"] = self.endpoint
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return self
            except OSError:
                time.sleep(0.1)
        sys.exit("the emulator does not listen")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Proof:
    def __init__(self, arguments, place, settings, recipe=None):
        self.arguments, self.place, self.settings = arguments, place, settings
        self.recipe = recipe or arguments.recipe
        self.log = tempfile.TemporaryFile("w+")
        self.records = {}  # records of the undisturbed run, by kind and step

    def start(self, command, *more):
        words = [self.arguments.smelt, command, self.recipe, "--set", f"out={self.place.out}",
                 "--set", "train.logging_steps=1"]
        for setting in [*self.settings, *self.arguments.set, *more]:
            words += ["--set", setting]
        self.log.seek(0)
        self.log.truncate()
        return subprocess.Popen(words, stdout=self.log, stderr=self.log)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def whole(self, command, *more):
        status = self.start(command, *more).wait()
        if status != 0:
            sys.exit(f"{command} in {self.place.out} ended with {status}:\n{self.said()}")

    def recorded(self):
        """Returns the records of the run by kind and step, without the fields that depend on time."""
        records = {}
        for text in self.place.metrics().splitlines():
            try:
                record = json.loads(text)
            except ValueError:  # the last record, truncated by a kill
                continue
            if record.get("kind") in KINDS:
                records[record["kind"], record["step"]] = {name: value for name, value in record.items()
                                                           if name not in OF_TIME}
        return records

    def final(self):
        return {name: hashlib.sha256(content).hexdigest() for name, content in self.place.files().items()
                if not name.startswith(NOT_COMPARED)}

    def undisturbed(self):
        self.whole("run", "train.epochs=0", "train.steps=1")  # writes text, vocabulary and examples
        self.place.clear()
        self.whole("run")  # fills the compile cache
        self.place.clear()
        start = time.monotonic()
        self.whole("run")
        self.seconds = time.monotonic() - start
        self.rollbacks = "train: back to" in self.said()
        self.records = self.recorded()
        self.want = self.final()
        self.place.clear()

    def check_records(self):
        for key, record in self.recorded().items():
            if record != self.records.get(key):
                sys.exit(f"{self.place.out}: {key} has\n  {record}\nundisturbed\n  {self.records.get(key)}")

    def check_end(self):
        self.check_records()
        found = self.final()
        if other := sorted(name for name in {*found, *self.want} if found.get(name) != self.want.get(name)):
            sys.exit(f"{self.place.out}: these files differ from the undisturbed run: {', '.join(other)}")
        if self.place.records_every_step and len(self.recorded()) != len(self.records):
            sys.exit(f"{self.place.out}: {len(self.recorded())} records, the undisturbed run has {len(self.records)}")
        self.place.clear()

    def kill_one(self, during_a_save):
        """Returns whether the run was killed before it ended, and whether it resumed an earlier one."""
        before = self.place.unfinished()
        process = self.start("run")
        until = time.monotonic() + random.uniform(0.1, 1) * self.seconds
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        while during_a_save and process.poll() is None and self.place.unfinished() <= before:
            time.sleep(random.uniform(0, 0.002))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        status = process.wait()
        if status not in (0, -signal.SIGKILL):
            sys.exit(f"{self.place.out}: ended with {status}:\n{self.said()}")
        if not self.rollbacks:  # otherwise records may be of steps that are rolled back later
            self.check_records()
        if status == 0:
            self.check_end()
        return status != 0, "resuming from" in self.said()


def prove(proof, kills):
    proof.undisturbed()
    killed = resumed = ended = 0
    while killed < kills:
        was_killed, had_resumed = proof.kill_one(during_a_save=killed % 2 == 1)
        killed += was_killed
        ended += not was_killed
        resumed += had_resumed
    proof.whole("run")
    resumed += "resuming from" in proof.said()
    proof.check_end()
    print(f"{proof.place.out}: killed {killed} times, {resumed} runs resumed, {ended + 1} completed: "
          f"{len(proof.records)} records and {len(proof.want)} files are those of the undisturbed run", flush=True)


def classification(arguments, work):
    """Writes a recipe of a classifier and the rows and weights that it needs; returns the recipe's path."""
    Proof(arguments, Folder(f"{work}/base"), []).whole("run", "train.steps=9", "train.checkpoint.save_interval_steps=9")
    with open(f"{work}/rows.tsv", "w") as file:
        file.write("label\ttext\n")
        for i in range(100):
            file.write(f"{'cats' if i % 2 else 'dogs'}\tthe {'cat' if i % 2 else 'dog'} of number {i}\n")
    with open(f"{work}/classify.yaml", "w") as file:
        file.write(CLASSIFY.replace("WORK", work))
    return f"{work}/classify.yaml"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=ROOT + "/build/release/smelt")
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--places", default="one,eight,mesh,bucket")
    parser.add_argument("recipe", nargs="?")
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    places = arguments.places.split(",")
    in_bucket = Emulator() if "bucket" in places else contextlib.nullcontext()
    with tempfile.TemporaryDirectory() as work, in_bucket as emulator:
        if arguments.recipe is None:
            arguments.recipe = work + "/tiny.yaml"
            with open(arguments.recipe, "w") as file:
                file.write(RECIPE)
        for number, place in enumerate(places):
            kills = arguments.kills // len(places) + (number < arguments.kills % len(places))
            where = Bucket(emulator.endpoint, "run") if place == "bucket" else Folder(f"{work}/{place}")
            settings = SETTINGS.get(place, [])
            recipe = None
            if place == "distill":
                Proof(arguments, Folder(f"{work}/teacher"), []).whole("run", "train.steps=9", "train.checkpoint.save_interval_steps=9")
                settings = [*settings, f"distill.teacher={work}/teacher/model"]
            if place == "prune":
                recipe = classification(arguments, work)
            prove(Proof(arguments, where, settings, recipe), kills)


main()
