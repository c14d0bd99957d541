#!/usr/bin/env python3
"""kill_runs.py --smelt PROGRAM --kills N [--seed S] [--places one,eight,mesh,bucket] [RECIPE] [--set FIELD=VALUE ...]

Shows that a training that is killed again and again ends as one that nobody disturbs. In each place (one device, eight
devices, two that split the model, with layers in a scan, as on a TPU or a GPU; one device with everything in a bucket
of an emulator, which needs the tests' Python) RECIPE, or a tiny one of its own, is trained once undisturbed; then runs of it are killed with -9, N times over all places, at random instants of
their time or, every other time, while a checkpoint is being written. A run that ends before it is killed must have
recorded the undisturbed run's losses of every step, to the last bit, and left the same bytes in its last checkpoint; so
must each place's last run, which is left alone.
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
train: {batch_size: 8, steps: 240, learning_rate: 1e-3, warmup_steps: 20, save_every: 7, keep: 3}
eval: {batch_size: 8}
""" % ROOT


# What a place adds to the recipe. Two devices: a sum of two is the same in either order, of more it is not, and a mesh
# that splits the model adds in order of arrival on a CPU.
SETTINGS = {
    "eight": ["train.devices=8"],
    "mesh": ["train.devices=2", "train.mesh=fsdp=2", "train.layers=scan", "train.save=products",
             "model.num_hidden_layers=2"],
}

OF_TIME = {"time", "spent", "sequences_per_second", "tokens_per_second", "mfu", "input_share", "seconds_left"}


class Folder:
    """A place on the disk."""

    records_every_step = True

    def __init__(self, path):
        self.out = path

    def members(self, step):
        """Name and content of the files of a checkpoint."""
        found = {}
        for path in glob.glob(f"{self.out}/model/checkpoint-{step}/*"):
            with open(path, "rb") as file:
                found[os.path.basename(path)] = file.read()
        return found

    def metrics(self):
        path = self.out + "/model/metrics.jsonl"
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            return file.read()

    def unfinished(self):
        """Checkpoints that are being written, or were when a run was killed."""
        return set(glob.glob(self.out + "/model/*.partial-*"))

    def clear(self):
        shutil.rmtree(self.out + "/model", ignore_errors=True)


class Bucket:
    """A folder of the emulator's bucket."""

    records_every_step = False  # an object is not written anew for each

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

    def members(self, step):
        quoted = {name: urllib.parse.quote(name, safe="") for name in self.names(f"model/checkpoint-{step}/")}
        return {name.split("/")[-1]: self.ask(f"/download/storage/v1/b/bucket/o/{path}?alt=media")
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
        for name in self.names("model/"):
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
    def __init__(self, arguments, place, settings):
        self.arguments, self.place, self.settings = arguments, place, settings
        self.log = tempfile.TemporaryFile("w+")
        self.losses = {}  # of the undisturbed run, by step

    def start(self, command, *more):
        words = [self.arguments.smelt, command, self.arguments.recipe, "--set", f"out={self.place.out}",
                 "--set", "train.log_every=1"]
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
        """What the run has recorded of each step, without what time has to do with."""
        lines = {}
        for text in self.place.metrics().splitlines():
            try:
                record = json.loads(text)
            except ValueError:  # the last one, cut short by a kill
                continue
            if record.get("kind") == "line":
                lines[record["step"]] = {name: value for name, value in record.items() if name not in OF_TIME}
        return lines

    def final(self):
        members = self.place.members(self.last)
        if "COMMIT" not in members:
            sys.exit(f"{self.place.out}: no checkpoint of step {self.last}")
        return {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}

    def undisturbed(self):
        self.whole("run", "train.steps=1")  # makes text, vocabulary and data
        self.place.clear()
        self.whole("pretrain")  # puts the program into the cache of compiled ones
        self.place.clear()
        start = time.monotonic()
        self.whole("pretrain")
        self.seconds = time.monotonic() - start
        self.losses = self.recorded()
        self.last = max(self.losses)
        self.want = self.final()
        self.place.clear()

    def check_losses(self):
        for step, record in self.recorded().items():
            if record != self.losses[step]:
                sys.exit(f"{self.place.out}: step {step} has\n  {record}\nundisturbed\n  {self.losses[step]}")

    def check_end(self):
        if self.final() != self.want:
            sys.exit(f"{self.place.out}: the last checkpoint has other bytes than the undisturbed run's")
        if self.place.records_every_step and len(self.recorded()) != len(self.losses):
            sys.exit(f"{self.place.out}: {len(self.recorded())} steps recorded, undisturbed {len(self.losses)}")
        self.place.clear()

    def kill_one(self, during_a_save):
        """Whether it was killed before its end; and whether it had resumed."""
        before = self.place.unfinished()
        process = self.start("pretrain")
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
        self.check_losses()
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
    proof.whole("pretrain")
    resumed += "resuming from" in proof.said()
    proof.check_losses()
    proof.check_end()
    print(f"{proof.place.out}: killed {killed} times, {resumed} runs had resumed, {ended + 1} came to their end: "
          f"losses of {len(proof.losses)} steps and the last checkpoint are the undisturbed run's", flush=True)


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
            prove(Proof(arguments, where, SETTINGS.get(place, [])), kills)


main()
