"""Finds and starts the program smelt."""
from __future__ import annotations

import collections
import functools
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Deque, Dict, List, NoReturn

from ._errors import SystemFailure, UsageError, argument_names, error_of

PACKAGE = Path(__file__).resolve().parent
LOG = logging.getLogger("smelt_lm")


@functools.lru_cache(maxsize=None)
def _checked(path: str) -> str:
    """Returns the path if it is this project's program. On PATH there may be another one of the same name."""
    try:
        told = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise SystemFailure(f"the program {path} does not start: {error}", "install smelt-lm again") from None
    if told.returncode != 0 or not re.fullmatch(r"\d+\.\d+\.\d+", told.stdout.strip()):
        raise UsageError(f"{path} is another program named smelt, not that of smelt-lm",
                         "set the environment variable SMELT to the path of this project's program")
    return path


def program() -> str:
    """Returns the path of the program: $SMELT, the one in this package, or the one on PATH.

    Raises UsageError if there is none.

    >>> os.path.basename(program()).startswith("smelt")
    True
    """
    chosen = os.environ.get("SMELT")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise UsageError(f"SMELT: {chosen} is not a program", "correct the variable, or unset it")
        return _checked(chosen)
    inside = PACKAGE / "bin" / "smelt"
    if inside.is_file():
        return str(inside)
    on_path = shutil.which("smelt")
    if on_path is None:
        raise UsageError("the program smelt was not found in this package, in $SMELT or on PATH",
                         "install the wheel smelt-lm, or set SMELT to the path of the program")
    return _checked(on_path)


def environment() -> Dict[str, str]:
    """Returns the environment variables for the program: those of this process, and in Colab the secret HF_TOKEN.

    Only the notebook's kernel can read the secret, so the program could not read it itself.
    """
    out = dict(os.environ)
    colab = sys.modules.get("google.colab")
    if colab is None or out.get("HF_TOKEN"):
        return out
    try:
        token = colab.userdata.get("HF_TOKEN")
    except Exception:  # there is no such secret, or this notebook may not read it
        return out
    return {**out, "HF_TOKEN": str(token)} if token else out


def start(arguments: List[str]) -> "subprocess.Popen[bytes]":
    """Starts the program in a new session, so that Ctrl-C reaches only this process."""
    try:
        return subprocess.Popen([program(), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, bufsize=0, start_new_session=True, env=environment())
    except OSError as error:
        raise SystemFailure(f"the program {program()} does not start: {error}", "install smelt-lm again") from None


def log_line(line: str) -> None:
    """Passes a line of the program's log to this package's logger."""
    level = logging.WARNING if " warning: " in line else logging.ERROR if " error: " in line else logging.INFO
    LOG.log(level, "%s", argument_names(line.partition(" ")[2] or line))


def output_of(arguments: List[str]) -> str:
    """Runs the program and returns what it prints. Raises its error. Ctrl-C stops it, a second one kills it."""
    process = start(arguments)
    assert process.stdin and process.stdout and process.stderr
    errors: Deque[str] = collections.deque(maxlen=50)

    def read_log(lines: Any) -> None:
        for line in lines:
            errors.append(line.decode(errors="replace"))
            log_line(errors[-1].rstrip("\n"))

    reader = threading.Thread(target=read_log, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        printed = process.stdout.read()
        code = process.wait()
    except BaseException:
        try:
            process.send_signal(signal.SIGTERM)
            process.wait()
        except BaseException:
            process.kill()
            raise
        raise
    finally:
        for pipe in (process.stdin, process.stdout):
            pipe.close()
        reader.join(1)
        if not reader.is_alive():
            process.stderr.close()
    if code == 0:
        return (printed or b"").decode()
    raise error_from_log(code, "".join(errors))


def error_from_log(code: int, log: str) -> Exception:
    """Returns the exception for the message that the program printed last."""
    found = re.search(r"^(?:error|bug|stopped): (.*?)(?:\n  hint: (.*?))?\s*\Z", log, re.M | re.S)
    if found:
        return error_of(code, found[1].strip(), (found[2] or "").strip())
    last = " / ".join(log.strip().splitlines()[-3:]) or "it printed nothing"
    name = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return error_of(code, f"smelt ended with {name}: {last}",
                    "look for the cause in the log; exit code 137 or SIGKILL often means too little memory")


def main() -> NoReturn:
    """The command ``smelt``: becomes the program."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program that it becomes would go on to
    inside = PACKAGE / "bin" / "smelt"
    try:
        path = str(inside) if inside.is_file() else program()  # first, because $SMELT may name this command itself
    except (UsageError, SystemFailure) as error:
        sys.exit(f"error: {error}")
    os.execv(path, ["smelt", *sys.argv[1:]])
