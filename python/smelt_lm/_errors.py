"""Exceptions. Each has the message of the program and a hint: one action that helps."""
from __future__ import annotations

import importlib
from typing import Any, Dict, Tuple, Type


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


def error_of(kind: object, what: str, hint: str) -> Error:
    """Returns the exception for the name or the number of an exit code."""
    return _KINDS.get(kind, SystemFailure)(what, hint)
