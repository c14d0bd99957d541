#!/usr/bin/env python3
"""kill_pod.py --kills N [--processes P] [--devices K] [--as cpu|tpu] [--most-seconds S] [--seed S] [--set FIELD=VALUE ...]

Shows that if one process of a pod is killed with -9, all others end within seconds and name that process, and that the
same command, started again, gives the same bits as an undisturbed run in one process. A small recipe is run in one
process, and in P processes of K devices each on the simulated pod of the tests (tools/pod). Then, N times, one process
of a run is killed at a random time. The results are listed by what the killed process was doing, as the others report
it. A run that ends before its kill, and the last run, must have written the same bytes: every file of the model folder
(checkpoints, best/, save/, evaluation results) and of the exported folder. With --as tpu the processes use the
simulated devices as TPUs and shard the model, with scanned layers. The bytes are then compared with an undisturbed run
of the pod, because one process trains with another form of the program.
"""
import argparse
import collections
import hashlib
import importlib.machinery
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONNECT = 10  # seconds for all processes to join; one may be killed before that
LOST = 76
STEPS = 240
SILENCE = 6  # seconds, in which a process sends eight heartbeats
NOT_COMPARED = ("text/", "data/", ".stages/", "recipe.yaml", "model/train/", "model/metrics.jsonl")
RECIPE = """
text: {input: %s/tests/golden/pretraining/english.txt, heldout: 0.2}
vocab: {size: 200}
data: {seq_length: 32, max_predictions: 5, dupe_factor: 20}
model: {hidden_size: 16, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 32,
        max_position_embeddings: 32, type_vocab_size: 2}
train: {batch_size: 16, steps: %d, optimizer.learning_rate: 1e-3, schedule.warmup_steps: 20, checkpoint.save_interval_steps: 10, checkpoint.max_to_keep: 3, checkpoint.keep_period: 80,
        checkpoint.best_metric: masked_lm_loss, early_stopping.patience: 6, ema_decay: 0.9}
eval: {batch_size: 16, every: 6, best: true}
""" % (ROOT, STEPS)


def tools_pod():
    loader = importlib.machinery.SourceFileLoader("pod", os.path.join(ROOT, "tools/pod"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("pod", loader))
    loader.exec_module(module)
    return module


class Run:
    """The processes of one start of the command."""

    def __init__(self, pod, command):
        self.pod = pod
        self.hub = f"127.0.0.1:{pod.tool.free_port()}"
        self.logs = [open(f"{pod.work}/said-{process}", "w+") for process in range(pod.size)]
        self.members = [self.start(process, command) for process in range(pod.size)]

    def start(self, process, command):
        more = {"POD_SOCKET": self.pod.socket, "POD_PROCESS": str(process), "POD_SIZE": str(self.pod.size),
                f"SMELT_{self.pod.platform.upper()}_PLUGIN": self.pod.shim, "SMELT_POD_CONNECT": str(CONNECT),
                "SMELT_POD_SILENCE": str(SILENCE)}
        words = [*command, "--processes", str(self.pod.size), "--process", str(process), "--hub", self.hub]
        return subprocess.Popen(words, env={**os.environ, **more}, stdin=subprocess.DEVNULL, stdout=self.logs[process],
                                stderr=subprocess.STDOUT)

    def said(self, process):
        self.logs[process].seek(0)
        return self.logs[process].read()

    def all_said(self):
        return "\n".join(f"--- process {process}: {member.poll()}\n{self.said(process)}"
                         for process, member in enumerate(self.members))

    def any_has_ended(self):
        return any(member.poll() is not None for member in self.members)

    def wait(self, seconds):
        """Waits until all processes have ended and returns the time it took, or None after `seconds`."""
        begin = time.monotonic()
        while any(member.poll() is None for member in self.members):
            if time.monotonic() - begin > seconds:
                return None
            time.sleep(0.01)
        return time.monotonic() - begin

    def close(self):
        for member in self.members:
            if member.poll() is None:
                member.kill()
            member.wait()
        for log in self.logs:
            log.close()


class Pod:
    def __init__(self, arguments, work):
        self.arguments, self.work, self.size = arguments, work, arguments.processes
        self.platform = arguments.platform
        self.want = None  # the files that a run must write
        self.tool = tools_pod()
        self.build = self.tool.built()
        self.smelt = os.path.join(self.build, "smelt")
        self.shim = os.path.join(self.build, self.tool.STAND_IN, "pod_shim.so")
        self.socket = work + "/pod"
        self.out, self.alone = work + "/out", work + "/alone"
        with open(work + "/r.yaml", "w") as file:
            file.write(RECIPE)
        self.server = self.tool.start_server(
            self.build, self.socket, argparse.Namespace(processes=self.size, devices=arguments.devices,
                                                          platform=self.platform))

    def command(self, out):
        devices = self.size * self.arguments.devices
        words = [self.smelt, "run", self.work + "/r.yaml", "--set", f"out={out}", "--set", f"train.devices={devices}",
                 "--set", f"train.device={self.platform}"]
        if self.platform == "tpu":
            words += ["--set", f"train.parallelism.mesh=fsdp={devices}", "--set", "train.memory.layers=scan"]
        for setting in self.arguments.set:
            words += ["--set", setting]
        return words

    def start(self):
        return Run(self, self.command(self.out))

    def by_one_process(self):
        done = subprocess.run(self.command(self.alone), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"the run in one process ended with status {done.returncode}:\n{done.stdout}")

    def whole(self):
        """Runs the command undisturbed. Returns the seconds it took, and whether it resumed an earlier run."""
        run = self.start()
        seconds = run.wait(600)
        if seconds is None or any(member.returncode != 0 for member in run.members):
            sys.exit(f"an undisturbed run failed:\n{run.all_said()}")
        resumed = "resuming from" in run.said(0)
        run.close()
        self.check_end()
        return seconds, resumed

    def check_end(self):
        found = files_of(self.out)
        if self.want is None:
            self.want = files_of(self.alone) if self.platform == "cpu" else found
        if other := sorted(name for name in {*found, *self.want} if found.get(name) != self.want.get(name)):
            sys.exit(f"{self.out}: these files differ from an undisturbed run: {', '.join(other)}")
        shutil.rmtree(self.out if random.random() < 0.5 else self.out + "/model")


def files_of(out):
    """Returns the checksums of a run's files by name, except files made before training and files that contain times."""
    found = {}
    for folder, _, names in os.walk(out):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, out)] = hashlib.sha256(file.read()).hexdigest()
    return {name: content for name, content in found.items() if not name.startswith(NOT_COMPARED)}


def where_it_was(run, victim):
    """Returns what the killed process was doing, from the logs of the others; exits if they do not name it."""
    for process, member in enumerate(run.members):
        if process != victim and f"host {victim}" not in run.said(process):
            sys.exit(f"process {process} does not name host {victim}:\n{run.all_said()}")
    survivor = run.said(1 if victim == 0 else 0)
    found = re.search(r"is gone at (.*?): ", survivor)
    if found:
        return re.sub(r"\d+", "n", found.group(1))
    return "start" if "is gone" in survivor else "connect"


def kill_one(pod, seconds, tally):
    """Returns whether a process was killed before the run ended, and whether the run resumed an earlier one."""
    run = pod.start()
    victim = random.randrange(pod.size)
    until = time.monotonic() + random.uniform(0, 1) * seconds
    while not run.any_has_ended() and time.monotonic() < until:
        time.sleep(0.002)
    if run.any_has_ended():
        if run.wait(60) is None or any(member.returncode != 0 for member in run.members):
            sys.exit(f"a run failed before a process was killed:\n{run.all_said()}")
        resumed = "resuming from" in run.said(0)
        run.close()
        pod.check_end()
        return False, resumed
    run.members[victim].send_signal(signal.SIGKILL)
    took = run.wait(pod.arguments.most_seconds + CONNECT)
    if took is None:
        sys.exit(f"host {victim} was killed, but other processes still run:\n{run.all_said()}")
    codes = {member.returncode for process, member in enumerate(run.members) if process != victim}
    resumed = "resuming from" in run.said(0)
    if codes == {0}:  # the killed process had sent bye and only had to exit
        run.close()
        pod.check_end()
        tally["its end"].append(took)
        return True, resumed
    where = where_it_was(run, victim)
    if where != "connect" and (took > pod.arguments.most_seconds or codes != {LOST}):
        sys.exit(f"host {victim} was killed; after {took:.1f} s the others ended with {codes}:\n{run.all_said()}")
    tally[where].append(took)
    run.close()
    return True, resumed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--devices", type=int, default=1, help="devices of each process")
    parser.add_argument("--as", choices=["cpu", "tpu"], default="cpu", dest="platform")
    parser.add_argument("--most-seconds", type=float, default=10, help="limit until all others have ended")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    tally = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as work:
        pod = Pod(arguments, work)
        try:
            if arguments.platform == "cpu":
                pod.by_one_process()
            pod.whole()  # fills the compile cache
            seconds, _ = pod.whole()
            killed = resumed = ended = 0
            while killed < arguments.kills:
                was_killed, had_resumed = kill_one(pod, seconds, tally)
                killed += was_killed
                ended += not was_killed
                resumed += had_resumed
            _, had_resumed = pod.whole()
        finally:
            pod.server.kill()
            pod.server.wait()
    for where in sorted(tally):
        print(f"  killed at {where}: {len(tally[where])} times, the others ended within {max(tally[where]):.2f} s")
    print(f"{arguments.processes} processes with {arguments.devices} devices each: {killed} runs were killed, "
          f"{resumed + had_resumed} resumed, {ended + 1} completed with an undisturbed run's bytes ({seconds:.1f} s)")


main()
