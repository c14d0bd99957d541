import doctest
import os
import pickle
import shutil
import subprocess
import sys
import types
import unittest
from unittest import mock

import data
import smelt_lm
from smelt_lm import _batches, _errors, _metrics, _model, _program, _run, _tokenizer

MODULES = (_errors, _program, _tokenizer, _batches, _model, _run, _metrics)


class Package(unittest.TestCase):
    def test_examples_in_docstrings_run(self):
        names = {"os": os, "VOCABULARY": data.vocabulary(), "RECORDS": data.RECORDS, "MASK_MODEL": data.model("mask"),
                 "CLASS_MODEL": data.model("classes"), "EMBEDDING_MODEL": data.embedding_model()[0],
                 "RECIPE": data.recipe("example"), "RUN": os.path.join(data.DATA, "example")}
        tried = 0
        for module in MODULES:  # runs before metrics, which reads the run
            result = doctest.testmod(module, extraglobs=names)
            self.assertEqual(result.failed, 0, module.__name__)
            tried += result.attempted
        self.assertGreater(tried, 20)

    def test_every_public_name_has_a_docstring(self):
        for name in smelt_lm.__all__:
            self.assertTrue(getattr(smelt_lm, name).__doc__, name)

    def test_versions_of_package_library_and_program_are_equal(self):
        told = subprocess.run([smelt_lm.program(), "--version"], capture_output=True, text=True).stdout.strip()
        self.assertEqual(smelt_lm.__version__, told)
        self.assertEqual(smelt_lm._library.library().smelt_version().decode(), told)

    def test_import_is_light(self):
        done = data.python("import sys, smelt_lm; print([m for m in ('numpy', 'pandas', 'tqdm', 'wandb') if m in sys.modules])")
        self.assertEqual(done.stdout, "[]\n", done.stderr)

    def test_without_numpy_the_error_has_a_hint(self):
        done = data.python(f"import sys; sys.modules['numpy'] = None; import smelt_lm; smelt_lm.Tokenizer({data.vocabulary()!r})")
        self.assertIn("UsageError: numpy is not installed\n  hint: pip install numpy", done.stderr)

    def test_another_program_named_smelt_is_refused(self):
        folder = os.path.join(data.DATA, "other")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(shutil.which("true"), os.path.join(folder, "smelt"))
        environment = {name: value for name, value in os.environ.items() if name != "SMELT"}
        done = data.python("import smelt_lm; smelt_lm.program()", env={**environment, "PATH": folder})
        self.assertIn("is another program named smelt", done.stderr)
        self.assertIn("hint: set the environment variable SMELT", done.stderr)
        done = data.python("import smelt_lm; smelt_lm.program()", env={**environment, "PATH": ""})
        self.assertIn("the program smelt was not found", done.stderr)

    def test_messages_name_arguments_instead_of_flags(self):
        for text, want in {
            "use --device cpu": 'use device="cpu"', "name it with --vocab": "name it with vocab",
            "lower --batch, --max-length or --beams": "lower batch_size, max_length or beams",
            "--set: unknown field 'x'": "set: unknown field 'x'", "use --normalize no": "use normalize=False",
            "add --set train.init_from=a, or not": 'add set={"train.init_from": "a"}, or not',
            "smelt convert X Y --to hf": "smelt convert X Y --to hf", "run `smelt run X --fresh`": "run `smelt run X --fresh`",
            "a--device and --no-such": "a--device and --no-such",
            "go on with --set out=gs://b/x.": 'go on with set={"out": "gs://b/x"}.',
            "(or --set model.matryoshka=128,64), too": '(or set={"model.matryoshka": "128,64"}), too',
            "it was '--set a.b=x'": "it was '--set a.b=x'", "--set a.b=1e-5, or so": 'set={"a.b": 1e-5}, or so',
            "with --set train.init_from=/r/a,b:c --set vocab.file=/v.txt": 'with set={"train.init_from": "/r/a,b:c"} set={"vocab.file": "/v.txt"}',
        }.items():
            self.assertEqual(_errors.argument_names(text), want)
        self.assertEqual(str(_errors.error_of("usage", "--top 0", "use --top 5")), "top=0\n  hint: use top=5")

    def test_colab_secret_reaches_the_program(self):
        colab = types.ModuleType("google.colab")
        colab.userdata = types.SimpleNamespace(get=lambda name: f"secret of {name}")
        with mock.patch.dict(sys.modules, {"google.colab": colab}), mock.patch.dict(os.environ):
            os.environ.pop("HF_TOKEN", None)
            self.assertEqual(_program.environment()["HF_TOKEN"], "secret of HF_TOKEN")
            colab.userdata.get = lambda name: 1 / 0  # the notebook may not read it
            self.assertNotIn("HF_TOKEN", _program.environment())
            os.environ["HF_TOKEN"] = "mine"
            self.assertEqual(_program.environment()["HF_TOKEN"], "mine")

    def test_errors_pickle(self):
        for kind in (smelt_lm.Error, smelt_lm.UsageError, smelt_lm.SystemFailure, smelt_lm.Stopped, smelt_lm.BugError):
            error = pickle.loads(pickle.dumps(kind("what", "hint")))
            self.assertEqual((type(error), str(error), error.hint), (kind, "what\n  hint: hint", "hint"))
        self.assertIsInstance(smelt_lm.SystemFailure("x"), OSError)

    def test_the_module_is_the_command(self):
        done = subprocess.run([sys.executable, "-m", "smelt_lm", "train"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("recipe", done.stderr)


if __name__ == "__main__":
    unittest.main()
