"""Models of the Hugging Face Hub, which is tests/support/fake_hub.py."""
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import data
import smelt_lm
from smelt_lm import Model, UsageError


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Hub(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.mkdir(os.path.join(self.folder.name, "seed"))
        port, cdn = free_port(), free_port()
        names = [os.path.join(self.folder.name, name) for name in ("seed", "requests", "faults")]
        server = subprocess.Popen([sys.executable, os.path.join(data.SOURCE, "tests", "support", "fake_hub.py"), str(port), str(cdn), *names])
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        environment = {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HOME": os.path.join(self.folder.name, "home"), "HF_TOKEN": "hf_writer"}
        change = mock.patch.dict(os.environ, environment)
        change.start()
        self.addCleanup(change.stop)
        smelt_lm.release()  # the next server has this environment
        self.addCleanup(smelt_lm.release)

    def test_push_and_load(self):
        folder, texts, want = data.embedding_model()
        first = smelt_lm.push(folder, "lab/vectors", license="mit")
        self.assertTrue(first.is_new and "model.safetensors" in first.sent and first.uploaded_bytes > 1000, first)
        again = smelt_lm.push(folder, "lab/vectors")
        self.assertEqual((again.sent, again.commit, again.is_new), ([], first.commit, False))

        here = os.getcwd()
        os.chdir(self.folder.name)  # after the server has started: paths are relative to this process
        self.addCleanup(os.chdir, here)
        with self.assertLogs("smelt_lm", "INFO") as log:
            model = Model.load("lab/vectors", device="cpu")
        self.assertIn("no local folder lab/vectors; reading hf://lab/vectors from the Hugging Face Hub", "".join(log.output))
        self.assertEqual(model.source, f"hf://lab/vectors@{first.commit}")
        self.assertLess(abs(model.embed(texts) - want).max(), 1e-5)
        os.makedirs("lab")
        os.symlink(data.model("classes"), "lab/vectors")
        self.assertEqual(Model.load("lab/vectors").labels, ["a", "b", "c"])  # a local folder is first

    def test_load_finds_a_commit_that_was_made_meanwhile(self):
        folder, _, _ = data.embedding_model()
        first = smelt_lm.push(folder, "lab/vectors", license="mit")
        self.assertEqual(Model.load("hf://lab/vectors").source, f"hf://lab/vectors@{first.commit}")
        held = Model.load("lab/vectors")
        second = smelt_lm.push(folder, "lab/vectors", license="apache-2.0", language="de")
        self.assertNotEqual(first.commit, second.commit)
        self.assertEqual(Model.load("hf://lab/vectors").source, f"hf://lab/vectors@{second.commit}")
        smelt_lm.release()
        held.embed("a")  # loaded again, but the same weights
        self.assertEqual(held.source, f"hf://lab/vectors@{first.commit}")

    def test_load_uses_a_token_that_was_set_meanwhile(self):
        folder, _, _ = data.embedding_model()
        smelt_lm.push(folder, "lab/private")
        token = os.environ.pop("HF_TOKEN")
        other = Model.load(data.model("classes"))
        with self.assertRaisesRegex(UsageError, "no such repository, or it is private"):
            Model.load("lab/private")
        os.environ["HF_TOKEN"] = token
        self.assertEqual(Model.load("lab/private").tasks, ["embed"])
        self.assertIn(other.classify("cat").label, "abc")  # it is loaded again
        del os.environ["HF_TOKEN"]
        smelt_lm.release()
        with self.assertRaisesRegex(UsageError, "no such repository, or it is private"):
            Model.load("lab/private")
        os.environ["HUGGING_FACE_HUB_TOKEN"] = token  # the older name
        self.assertEqual(Model.load("lab/private").tasks, ["embed"])

    def test_errors_have_hints(self):
        with self.assertRaises(UsageError) as caught:
            Model.load("lab/none")
        self.assertIn("hf://lab/none: the Hub has no such repository", caught.exception.what)
        self.assertIn("the path of a local folder", caught.exception.hint)
        with open(os.path.join(self.folder.name, "requests")) as requests:
            self.assertEqual(requests.read().count("/models/lab/none/revision/main"), 1)
        with self.assertRaises(UsageError) as caught:
            smelt_lm.push(data.model("classes"), "mine")
        self.assertIn("expected a repository, ORGANIZATION/NAME", caught.exception.what)
        os.environ["HF_TOKEN"] = "hf_wrong"
        with self.assertRaises(UsageError) as caught:
            smelt_lm.push(data.embedding_model()[0], "lab/vectors")
        self.assertIn("rejects the access token from HF_TOKEN", caught.exception.what)
        self.assertNotIn("hf_wrong", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
