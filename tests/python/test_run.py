import json
import os
import signal
import subprocess
import time
import unittest

import numpy as np

import data
import smelt_lm
from smelt_lm import Stopped, UsageError, loggers
from smelt_lm._metrics import follow
from test_model import ends


class Recorder(loggers.Sink):
    def __init__(self):
        self.calls = []

    def begin(self, record):
        self.calls.append(("begin", record["model"]))

    def log(self, step, numbers):
        self.calls.append((step, numbers))

    def end(self, failed):
        self.calls.append(("end", failed))


class Calls:
    """A stand-in for a module or an object: remembers all calls, and returns itself."""

    def __init__(self, name):
        self.__name__, self.calls = name, []

    def __getattr__(self, name):
        def call(*arguments, **options):
            self.calls.append((name, *arguments, *options.items()))
            return self

        call.update = lambda *arguments, **options: call("update", *arguments, **options)
        return call


class Loggers(unittest.TestCase):
    """Checks which methods of the libraries the loggers call. The loggers were tried with wandb 0.31, trackio 0.43 and mlflow 3.17."""

    RECORDS = [{"kind": "start", "step": 0, "time": 1, "settings": {"out": "m"}, "model": "bert"},
               {"kind": "line", "step": 2, "time": 2, "loss": 2.5, "spent": {"step": 1}},
               {"kind": "check", "step": 2, "time": 3, "train": {"masked_lm_loss": 2.5}, "valid": {"masked_lm_loss": 2.75}},
               {"kind": "filled", "step": 2, "time": 4, "texts": [{"text": "a [MASK]", "masks": [[["cat", 0.5], ["dog", 0.1]]]}]},
               {"kind": "end", "step": 2, "time": 5, "why": "failed", "message": "no disk"}]

    def setUp(self):
        self.folder = os.path.join(data.DATA, "logged")
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "metrics.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in self.RECORDS)

    def test_wandb(self):
        module = Calls("wandb")
        loggers.send(self.folder, loggers._Wandb(module, {"project": "p"})).wait()
        self.assertEqual(module.calls[:3], [("init", ("project", "p")), ("define_metric", "step"), ("define_metric", "*", ("step_metric", "step"))])
        self.assertEqual(module.calls[3][2], {"settings": {"out": "m"}, "model": "bert"})
        self.assertEqual(module.calls[4:6], [("log", {"step": 2, "train/loss": 2.5}), ("log", {"step": 2, "valid/masked_lm_loss": 2.75})])
        self.assertEqual(module.calls[6][2], ("data", [[2, "a [MASK]", "cat, dog"]]))
        self.assertEqual(module.calls[-1], ("finish", ("exit_code", 1)))

    def test_trackio(self):
        module = Calls("trackio")
        loggers.send(self.folder, loggers._Wandb(module, {"project": "p"})).wait()
        self.assertIn(("log", {"train/loss": 2.5}, ("step", 2)), module.calls)
        self.assertEqual(module.calls[-1], ("finish",))

    def test_mlflow(self):
        module = Calls("mlflow")
        module.info = module
        module.run_id = "7"
        loggers.send(self.folder, loggers._Mlflow(module, None, "r", None)).wait()
        self.assertIn(("create_run", "0", ("run_name", "r"), ("tags", None)), module.calls)
        self.assertIn(("log_metric", "7", "valid/masked_lm_loss", 2.75, ("step", 2)), module.calls)
        self.assertEqual(module.calls[-1], ("set_terminated", "7", "FAILED"))

    def test_a_missing_package_has_a_hint(self):
        with self.assertRaisesRegex(UsageError, "smelt_no_such is not installed\n  hint: pip install smelt_no_such"):
            loggers._module("smelt_no_such")

    def test_an_error_of_the_service_is_raised_by_wait(self):
        class Broken(loggers.Sink):
            def log(self, step, numbers):
                raise OSError("offline")

        with self.assertRaisesRegex(OSError, "offline"):
            loggers.send(self.folder, Broken()).wait()


class Runs(unittest.TestCase):
    def test_run_reports_events_and_metrics_and_makes_a_model(self):
        events = []
        run = smelt_lm.run(data.recipe("run"), {"track.fill": ["the [MASK] sees"], "eval": {"every": 1}},
                           on_event=events.append, progress=False)
        self.assertEqual(run.status, "finished")
        names = [event["event"] for event in events]
        self.assertEqual((names[0], names[-1]), ("begin", "result"))
        self.assertIn("checkpoint", names)
        self.assertEqual(run.wait()["step"], 2)
        self.assertEqual(run.folder, os.path.join(data.DATA, "run"))
        rows = [(r["step"], sorted(numbers)) for r in smelt_lm.read_records(run.folder)
                if (numbers := smelt_lm._metrics.numbers_of(r)) and r["kind"] == "line"]
        self.assertEqual([step for step, _ in rows], [1, 2])
        table = run.metrics()
        table = table if isinstance(table, list) else table.to_dict("records")
        self.assertTrue(any("valid/masked_lm_loss" in row for row in table), table)
        model = run.model("cpu")
        self.assertEqual(len(model.fill_mask("the [MASK] sees", top=2)[0]), 2)
        # The recipe is unchanged: a second call has nothing to do.
        again = smelt_lm.run(data.recipe("run"), {"track.fill": ["the [MASK] sees"], "eval": {"every": 1}}, progress=False)
        self.assertEqual(again.wait()["step"], 2)

        recorder = Recorder()
        loggers.send(run.folder, recorder).wait()
        self.assertEqual((recorder.calls[0], recorder.calls[-1]), (("begin", "bert"), ("end", False)))
        steps = [call for call in recorder.calls if isinstance(call[0], int)]
        self.assertEqual([step for step, numbers in steps if "train/learning_rate" in numbers], [1, 2])
        self.assertTrue(any("valid/masked_lm_loss" in numbers for _, numbers in steps))

    def test_errors_of_the_program_are_exceptions_with_hints(self):
        with self.assertRaises(UsageError) as caught:
            smelt_lm.run(data.recipe("bad"), {"train.stepps": 3}, progress=False)
        self.assertIn("stepps", caught.exception.what)
        self.assertIn("steps", caught.exception.hint)
        with self.assertRaises(UsageError) as caught:
            smelt_lm.run("no-such.yaml", progress=False)
        self.assertIn("no-such.yaml", caught.exception.what)
        with self.assertRaisesRegex(UsageError, "nowhere has no metrics.jsonl"):
            smelt_lm.metrics("nowhere")
        with self.assertRaisesRegex(UsageError, "gs://b/run is not a folder of this machine\n  hint: copy"):
            smelt_lm.metrics("gs://b/run")

    def test_follow_yields_records_once_although_the_file_is_replaced(self):
        path = os.path.join(data.DATA, "metrics.jsonl")

        def write(name, *steps):
            with open(name, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"kind": "line", "step": step, "time": step + len(name)}) + "\n" for step in steps)

        write(path, 1, 2, 3)
        seen, rounds = [], iter([False, False, True])
        for record in follow(path, lambda: next(rounds), 0.01):
            seen.append(record["step"])
            if len(seen) == 3:
                write(path + ".new", 1, 2)  # a loss spike: back to step 2
                with open(path + ".new", "a", encoding="utf-8") as file:
                    file.write(json.dumps({"kind": "line", "step": 3, "time": 99}) + "\n{\"kind\": \"li")
                time.sleep(0.01)
                with open(path) as old, open(path + ".new") as new:
                    lines = old.readlines()[:2] + new.readlines()[2:]
                with open(path + ".new", "w") as file:
                    file.writelines(lines)
                os.replace(path + ".new", path)
        self.assertEqual(seen, [1, 2, 3, 3])

    def test_tables_become_files(self):
        class Frame:  # what smelt_lm uses of a DataFrame
            columns = ["text"]

            def to_dict(self):
                return {}

            def to_json(self, orient, lines, force_ascii):
                assert (orient, lines, force_ascii) == ("records", True, False)
                return '{"text":"the cät"}\n'

        flags = smelt_lm._run._set_flags({"text": {"input": Frame()}, "train.steps": 3, "eval.averaged": True, "x": [1, 2],
                                          "track.fill": ["a [MASK]", "b, [MASK]"]})
        self.assertEqual(flags[2:], ["--set", "train.steps=3", "--set", "eval.averaged=true", "--set", "x=1,2",
                                     "--set", "track.fill=a [MASK]|b, [MASK]"])
        path = flags[1].partition("=")[2]
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), '{"text":"the cät"}\n')
        os.remove(path)

    def test_finetune_compares_settings(self):
        rows = os.path.join(data.DATA, "rows.tsv")
        with open(rows, "w", encoding="utf-8") as file:
            file.write("label\ttext\n" + "".join(f"{i % 2}\t{('cat', 'dog')[i % 2]} w{8 + i}\n" for i in range(12)))
        recipe = {"out": os.path.join(data.DATA, "tuned"), "data": {"train": rows, "seq_length": 8, "validation_share": 0.3},
                  "model": {"type": "classify"}, "eval": {"batch_size": 4},
                  "train": {"init_from": data.model("classes"), "batch_size": 4, "steps": 2, "logging_steps": 4}}
        rates = np.array([1e-4, 1e-3])
        done = smelt_lm.finetune(recipe, {"train.steps": 1}, seeds=1, grid={"train.optimizer.learning_rate": rates})
        self.assertEqual((done["metric"], len(done["trials"])), ("accuracy", 2))
        self.assertTrue(os.path.isdir(done["best_folder"]), done)
        with self.assertRaises(UsageError) as caught:
            smelt_lm.finetune(recipe, metric="acuracy", against={"train.init_from": ""})
        self.assertIn("acuracy", caught.exception.what)
        for values, what in (("1e-5,3e-5", "expected a list of values"), (3, "expected a list"), (["a,b"], "a,b has a comma")):
            with self.assertRaises(UsageError) as caught:
                smelt_lm.finetune(recipe, grid={"train.init_from": values})
            self.assertIn(what, caught.exception.what)
            self.assertIn("pass {" if "list" in what else "with set", caught.exception.hint)

    def test_plan(self):
        rows = smelt_lm.plan(os.path.join(data.SOURCE, "recipes", "demo.yaml"), "v2-8")["rows"]
        self.assertEqual(len(rows), 1)


class Stops(unittest.TestCase):
    def test_a_stopped_run_saves_and_resumes(self):
        recorder = Recorder()
        run = smelt_lm.start(data.recipe("stopped", steps=100000), {"train.checkpoint.save_interval_steps": 100000})
        logger = loggers.send(run, recorder)  # live
        for record in follow(run.metrics_file, lambda: run.status != "running", 0.05):
            if record["kind"] == "line":
                break
        run.stop()
        self.assertEqual(run.status, "stopped", run.log)
        with self.assertRaises(Stopped):
            run.wait()
        logger.wait()
        self.assertEqual(recorder.calls[-1], ("end", False))
        step = max(call[0] for call in recorder.calls if isinstance(call[0], int))
        self.assertGreater(step, 0)
        done = smelt_lm.run(data.recipe("stopped", steps=step + 2), progress=False)
        self.assertGreater(done.wait()["step"], step)
        self.assertTrue(any("resum" in line for line in done.log), done.log)

    def test_ctrl_c_saves_a_checkpoint(self):
        parent = subprocess.Popen([os.sys.executable, "-c", f"""
import json, signal, smelt_lm
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in a background process
recipe = json.loads({json.dumps(json.dumps(data.recipe("interrupted", steps=100000)))})
try:
    smelt_lm.run(recipe, {{"train.checkpoint.save_interval_steps": 100000}}, progress=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in parent.stderr:  # the progress: it trains
            if "step" in line or "loss" in line:
                break
        parent.send_signal(signal.SIGINT)
        out, _ = parent.communicate(timeout=30)
        self.assertEqual(out, "interrupted\n")
        kinds = [record["kind"] for record in smelt_lm.read_records(os.path.join(data.DATA, "interrupted"))]
        self.assertEqual(kinds[-1], "end")
        self.assertIn("save", kinds)

    def test_a_killed_parent_ends_the_run_with_a_checkpoint(self):
        parent = subprocess.Popen([os.sys.executable, "-c", f"""
import json, smelt_lm
from smelt_lm._metrics import follow
recipe = json.loads({json.dumps(json.dumps(data.recipe("orphan", steps=1000000)))})
run = smelt_lm.start(recipe, {{"train.checkpoint.save_interval_steps": 1000000}})
for record in follow(run.metrics_file, lambda: run.status != "running", 0.05):
    if record["kind"] == "line":
        print(run.pid, flush=True)
        break
run.wait()
"""], stdout=subprocess.PIPE, text=True)
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
        self.assertTrue(ends(child))
        records = smelt_lm.read_records(os.path.join(data.DATA, "orphan"))
        self.assertEqual((records[-1]["kind"], records[-1]["why"]), ("end", "stopped"))
        self.assertIn("save", [record["kind"] for record in records])


if __name__ == "__main__":
    unittest.main()
