"""Exceptions. Each has the message of the program and a hint: one action that helps."""
from __future__ import annotations

import importlib
import json
import re
from typing import Any, Dict, Match, Tuple, Type


class Error(Exception):
    """An error of smelt.

    ``what`` is the message, ``hint`` an action that may help ("" if there is none).

    >>> error = Error("steps is 0", "set steps to at least 1")
    >>> print(error)
    steps is 0
      hint: set steps to at least 1
    """

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\n  hint: {self.hint}" if self.hint else self.what

    def __reduce__(self) -> Tuple[Type["Error"], Tuple[str, str]]:
        return type(self), (self.what, self.hint)


class UsageError(Error, ValueError):
    """An argument, a recipe, a file or a model is wrong. Trying again does not help."""


def surrogate_error(what: str) -> UsageError:
    return UsageError(f"{what} has a surrogate, which is not a character",
                      "read the file as UTF-8, or use text.encode('utf-8', 'replace').decode()")


class SystemFailure(Error, OSError):
    """The disk, the network, memory or a device failed."""


class Stopped(Error):
    """A signal or another thread stopped the work. What is finished is saved."""


class BugError(Error):
    """A bug in smelt. Please report it."""


for _class in (Error, UsageError, SystemFailure, Stopped, BugError):
    _class.__module__ = "smelt_lm"  # the name that messages show


def optional(name: str) -> Any:
    """Returns a module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# The names and the codes of docs/reference/exit_codes.md.
_KINDS: Dict[object, Type[Error]] = {
    "usage": UsageError, 2: UsageError,
    "below_threshold": UsageError, 3: UsageError,
    "bug": BugError, 70: BugError,
    "stopped": Stopped, 75: Stopped,
}


# Flags of the program whose names differ from those of the arguments here. Others only lose their dashes.
_ARGUMENTS = {"--batch": "batch_size", "--text": "texts", "--pair": "pairs", "--public": "private=False",
              "--keep-weights": "keep_weights=True", "--fresh": "fresh=True", "--overwrite": "overwrite=True",
              "--small": "small=True", "--against-fresh": "against_fresh=True", "--sample": "sample=True"}
_SAME_NAME = {"--device", "--precision", "--vocab", "--max-length", "--min-length", "--max-inputs", "--beams", "--answers",
              "--top", "--pooling", "--normalize", "--dimensions", "--no-answer-threshold", "--length-penalty",
              "--early-stopping", "--temperature", "--top-k", "--top-p", "--seed", "--prefix", "--seeds", "--grid", "--against",
              "--metric", "--license", "--language", "--message", "--on", "--set"}
_VALUES = {"yes": True, "no": False}
_FLAG = re.compile(r"(?<![\w-])(?:--set ([a-z][\w.]*)=(\S*)"
                   r"|(--[a-z]+(?:-[a-z]+)*)(?: (cpu|gpu|tpu|auto|f32|f32_exact|mean|cls|yes|no|-?[\d.]*\d)(?!\w))?)")


def _argument(found: Match[str]) -> str:
    field, setting, flag, value = found.groups()
    flag = flag or "--set"
    name = _ARGUMENTS.get(flag) or (flag[2:].replace("-", "_") if flag in _SAME_NAME else None)
    before = re.split(r"[,;:]", found.string[:found.start()])[-1]
    if name is None or before.count("`") % 2 == 1 or before.endswith(("'", '"')) or re.search(r"\bsmelt [a-z]", before):
        return found[0]  # not an argument here, quoted, or a part of a command
    if field:
        text = setting.rstrip(".,;:)'`")
        return f"set={{{json.dumps(field)}: {_literal(text)}}}{setting[len(text):]}"
    return name if value is None else f"{name}={_literal(value)}"


def _literal(value: str) -> str:
    if re.fullmatch(r"-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", value):
        return value
    return repr(_VALUES[value]) if value in _VALUES else json.dumps(value, ensure_ascii=False)


def argument_names(text: str) -> str:
    """Replaces flags of the program by the arguments of this package's functions, except in commands.

    >>> argument_names("run on a TPU VM, or use --device cpu")
    'run on a TPU VM, or use device="cpu"'
    >>> argument_names("lower --batch, or `smelt run X --fresh`; raise it with --set train.steps=9")
    'lower batch_size, or `smelt run X --fresh`; raise it with set={"train.steps": 9}'
    """
    return _FLAG.sub(_argument, text)


def error_of(kind: object, what: str, hint: str) -> Error:
    """Returns the exception for the name or the number of an exit code."""
    return _KINDS.get(kind, SystemFailure)(argument_names(what), argument_names(hint))
