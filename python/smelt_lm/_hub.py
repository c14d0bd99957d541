"""Publishes models on the Hugging Face Hub."""
from __future__ import annotations

import json
import os
from typing import List, NamedTuple, Optional, Union

from ._program import output_of
from ._run import Run


class Pushed(NamedTuple):
    """A commit on the Hub. ``sent``, ``unchanged`` and ``deleted`` are paths in the repository."""

    url: str
    repo: str
    commit: str
    is_new: bool
    sent: List[str]
    unchanged: List[str]
    deleted: List[str]
    uploaded_bytes: int


def push(folder: "Union[str, os.PathLike[str], Run]", repo: str, *, message: Optional[str] = None, private: bool = True,
         license: Optional[str] = None, language: Optional[str] = None, keep_weights: bool = False) -> Pushed:
    """Publishes a model on the Hugging Face Hub, as one commit.

    ``folder`` is a Hugging Face folder, or a run or its folder, which has one. ``repo`` is "ORG/NAME"; it is created if it
    does not exist, and is then visible to everyone unless ``private``. A model card is made from the run. ``license``, such
    as "apache-2.0", and ``language``, such as "de", go into the card. ``keep_weights`` keeps weights in the repository that
    the folder does not have.

    The access token is $HF_TOKEN, the one of `hf auth login`, or Colab's secret HF_TOKEN. An interrupted push can be
    repeated: uploaded files are not sent again. Raises UsageError without a token or the right to write, if a file has a
    token or a private key in it, and if another commit was made meanwhile.
    """
    path = folder.folder if isinstance(folder, Run) else os.fspath(folder)
    flags: List[str] = [] if private else ["--public"]
    for name, value in (("--message", message), ("--license", license), ("--language", language)):
        flags += [] if value is None else [name, value]
    flags += ["--keep-weights"] if keep_weights else []
    done = json.loads(output_of(["hub", "push", path, repo, "--json", *flags]))
    return Pushed(done["url"], done["repo"], done["commit"], done["new"], done["sent"], done["unchanged"], done["deleted"],
                  done["uploaded_bytes"])
