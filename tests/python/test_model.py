import json
import os
import signal
import subprocess
import threading
import time
import unittest

import data
import smelt_lm
from smelt_lm import Model, UsageError, _server


def printed(*arguments):
    out = subprocess.run([smelt_lm.program(), *arguments, "--json"], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


class Predictions(unittest.TestCase):
    """Methods return what the commands print."""

    def test_fill_mask(self):
        with Model.load(data.model("mask")) as model:
            text = "word7 [MASK] word30"
            got = model.fill_mask(text, top=3)
            want = printed("fill", data.model("mask"), "--text", text, "--top", "3")[0]["masks"]
            self.assertEqual([[guess._asdict() for guess in mask] for mask in got], want)
            self.assertEqual(model.fill_mask([text], top=3), [got])
            self.assertEqual(model.fill_mask([]), [])

    def test_classify(self):
        model = Model.load(data.model("classes"), device="cpu")
        self.assertEqual((model.tasks, model.labels, model.problem), (["classify", "embed"], ["a", "b", "c"], "single_label"))
        got = model.classify(["cat w9", "dog"], ["bird", "w9"])
        want = printed("predict", data.model("classes"), "--text", "cat w9", "--pair", "bird", "--text", "dog", "--pair", "w9")
        for one, row in zip(got, want):
            self.assertEqual(one.label, row["prediction"])
            self.assertEqual(one.probability, max(one.probabilities.values()))
            for label, probability in row["probabilities"].items():
                self.assertAlmostEqual(one.probabilities[label], probability, places=6)
        seen = []
        model.classify(["cat"] * 100, batch_size=2, on_progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen, [(32, 100), (64, 100), (96, 100)])

    def test_token_labels(self):
        text = "cat  dög w9"
        got = Model.load(data.model("words")).token_labels(text)
        want = printed("predict", data.model("words"), "--text", text)[0]["prediction"]
        self.assertEqual([word.label for word in got], want)
        self.assertEqual([text[word.begin:word.end] for word in got], ["cat", "dög", "w9"])

    def test_answer(self):
        got = Model.load(data.model("answers")).answer("cat", "dog w10 bird", no_answer_threshold=1e6)
        want = printed("predict", data.model("answers"), "--text", "cat", "--pair", "dog w10 bird", "--no-answer-threshold", "1e6")[0]
        self.assertEqual((got.text, got.begin, got.end), (want["prediction"], want["begin"], want["end"]))

    def test_embed(self):
        folder, texts, want = data.embedding_model()
        with Model.load(folder, device="cpu") as model:
            got = model.embed(texts)
            self.assertEqual((got.dtype.name, got.shape), ("float32", (5, 8)))
            self.assertLess(abs(got - want).max(), 1e-5)
            self.assertTrue(got.flags.writeable)
            self.assertEqual(model.embed(texts[0], batch_size=1).shape, (8,))
            short = model.embed(texts, dimensions=3)
            self.assertLess(abs(short - got[:, :3] / (got[:, :3] ** 2).sum(1, keepdims=True) ** 0.5).max(), 1e-6)
        with self.assertRaises(UsageError) as caught:
            Model.load(data.model("mask")).embed("word7")
        self.assertIn("is not an embedding model", caught.exception.what)
        self.assertIn('pooling="mean"', caught.exception.hint)

    def test_detect(self):
        with Model.load(data.model("replaced")) as model:
            got = model.detect("word7 word9")
            want = printed("detect", data.model("replaced"), "--text", "word7 word9")[0]["tokens"]
            self.assertEqual([(token.text, token.begin, token.end) for token in got], [(token["text"], *token["offsets"]) for token in want])
            for token, row in zip(got, want):
                self.assertAlmostEqual(token.probability, row["probability"], places=6)
            self.assertEqual(model.detect(["word7 word9"]), [got])

    def test_generate(self):
        model = Model.load(data.model("text"))
        got = model.generate(["a", "b"], max_length=4, beams=2, answers=2)
        want = printed("generate", data.model("text"), "--text", "a", "--text", "b", "--max-length", "4", "--beams", "2", "--answers", "2")
        self.assertEqual([[(one.text, one.score) for one in found] for found in got],
                         [[(one["text"], one["score"]) for one in row["answers"]] for row in want])


class Process(unittest.TestCase):
    def test_errors_have_hints(self):
        model = Model.load(data.model("classes"))
        cases = [
            (lambda: Model.load(data.DATA + "/none"), "none", ""),
            (lambda: Model.load(data.model("classes"), "gpuu"), "gpuu", "gpu"),
            (lambda: Model.load(data.model("mask"), "tpu"), "device tpu: no TPU on this machine", 'use device="cpu"'),
            (lambda: model.fill_mask("[MASK]"), "", "classify"),
            (lambda: model.classify(["a", 3.5]), "texts[1] is float 3.5", "str()"),
            (lambda: model.classify(["a"], []), "0 pairs for 1 texts", "one pair"),
            (lambda: model.classify("\ud800"), "classify: a text has a surrogate", "UTF-8"),
            (lambda: model.answer("a", "b", no_answer_threshold=float("inf")), "answer: an option is infinite", "finite"),
            (lambda: model.token_labels("cat"), "token_labels()", "call classify()"),
        ]
        for call, what, hint in cases:
            with self.assertRaises(UsageError) as caught:
                call()
            self.assertIn(what, caught.exception.what)
            self.assertIn(hint, caught.exception.hint)
        model.close()
        with self.assertRaisesRegex(UsageError, "is closed\n  hint: load it again"):
            model.classify("cat")

    def test_threads_share_a_model(self):
        model = Model.load(data.model("classes"))
        texts = ["cat w9", "dog", "bird w7 w8", "w9"]
        want = [model.classify(text) for text in texts]
        got = [None] * 4

        def work(i):
            got[i] = [model.classify(texts[i]) for _ in range(20)]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [[one] * 20 for one in want])

    def test_a_forked_process_refuses_the_model_and_can_load_its_own(self):
        model = Model.load(data.model("classes"))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                model.classify("cat")
            except UsageError as error:
                status = 2 if "forked" in error.what and "Model.load" in error.hint else 3
            if status == 2:
                own = Model.load(data.model("classes"))
                status = 0 if own.classify("cat").label in "abc" else 4
                _server.server().close()
            os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIn(model.classify("cat").label, "abc")  # the fork has not closed this process's pipes

    def test_a_killed_server_is_started_again(self):
        model = Model.load(data.model("classes"))
        want = model.classify("cat w9")
        process = _server.server().process
        process.kill()
        process.wait()
        self.assertEqual(model.classify("cat w9"), want)

    def test_release_ends_the_server_until_a_model_is_used(self):
        model = Model.load(data.model("classes"))
        want = model.classify("cat w9")
        process = _server.server().process
        smelt_lm.release()
        self.assertIsNotNone(process.poll())
        self.assertEqual(model.classify("cat w9"), want)

    def test_a_call_that_waits_while_the_server_ends_is_sent_to_the_next(self):
        model = Model.load(data.model("classes"))
        server, got = _server.server(), []
        thread = threading.Thread(target=lambda: got.append(model.classify("cat w9")))
        with server._lock:  # as during a request of another thread
            thread.start()
            time.sleep(0.3)
            server.close()
        thread.join()
        self.assertEqual(got, [model.classify("cat w9")])

    def test_ctrl_c_stops_a_call_and_keeps_the_model(self):
        done = data.python(f"""
import os, signal, threading
from smelt_lm import Model, _server
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in a background process
model = Model.load({data.model("classes")!r})
pid = _server.server().process.pid
try:
    model.classify(["cat w9"] * 300000, batch_size=4,
                   on_progress=lambda done, total: done == 64 and os.kill(os.getpid(), signal.SIGINT))
    print("not stopped")
except KeyboardInterrupt:
    print("stopped", model.classify("cat").label in "abc", _server.server().process.pid == pid)
""")
        self.assertEqual(done.stdout, "stopped True True\n", done.stderr)

    def test_no_child_is_left_if_the_parent_is_killed(self):
        for work in ("time.sleep(60)", "model.classify(['cat w9'] * 300000, batch_size=4)"):
            parent = subprocess.Popen([os.sys.executable, "-c", f"""
import time
from smelt_lm import Model, _server
model = Model.load({data.model("classes")!r})
print(_server.server().process.pid, flush=True)
{work}
"""], stdout=subprocess.PIPE, text=True)
            child = int(parent.stdout.readline())
            os.kill(child, 0)
            time.sleep(0.3)
            parent.send_signal(signal.SIGKILL)
            parent.wait()
            parent.stdout.close()
            self.assertTrue(ends(child), work)


def ends(pid, seconds=15):
    """Returns whether a process, which need not be a child of this one, ends in time."""
    for _ in range(int(seconds / 0.05)):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    unittest.main()
