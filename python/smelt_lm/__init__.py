"""smelt from Python: tokenizers, training batches, inference, and runs of recipes.

    import smelt_lm

    run = smelt_lm.run("my.yaml", {"train.steps": 1000})    # text to a finished model; Ctrl-C saves
    run.metrics().plot(x="step", y="train/loss")            # a pandas DataFrame
    model = smelt_lm.Model.load("my-bert")
    model.fill_mask("the [MASK] sees a dog")

Errors are subclasses of Error and carry a hint. Messages of the log go to ``logging.getLogger("smelt_lm")``.
docs/guides/python.md is the guide.
"""
from ._batches import Batches
from ._errors import BugError, Error, Stopped, SystemFailure, UsageError
from ._hub import Pushed, push
from ._metrics import metrics, read_records
from ._model import Answer, Generated, Guess, Model, Prediction, Token, Word
from ._program import program
from ._run import Run, convert, finetune, plan, run, start
from ._server import release
from ._tokenizer import Encoding, Ragged, Tokenizer
from . import loggers  # needs the modules above

__version__ = "0.1.0"

__all__ = [
    "Answer", "Batches", "BugError", "Encoding", "Error", "Generated", "Guess", "Model", "Prediction", "Pushed", "Ragged", "Run",
    "Stopped", "SystemFailure", "Token", "Tokenizer", "UsageError", "Word", "convert", "finetune", "loggers", "metrics", "plan", "program",
    "push", "read_records", "release", "run", "start",
]
