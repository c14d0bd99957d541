"""Runs recipes, and shows their plan."""
from __future__ import annotations

import collections
import hashlib
import json
import os
import signal
import sys
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Union

from ._errors import Error, UsageError, error_of, optional
from ._metrics import follow, metrics, numbers_of
from ._model import Model
from ._program import error_from_log, output_of, start as start_program

Event = Dict[str, Any]
Recipe = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Settings = Optional[Mapping[str, Any]]


def _stored(content: bytes, suffix: str) -> str:
    """Writes a file to the cache under a name that depends on its content. Returns its path."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "smelt", "python")
    path = cache / f"{hashlib.sha256(content).hexdigest()[:32]}{suffix}"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.part")
        part.write_bytes(content)
        part.replace(path)
    return str(path)


def _value(value: Any, name: str = "") -> Any:
    """Replaces a table (a pandas DataFrame or datasets.Dataset) by a JSONL file with its rows, and a list by one text, as
    in a recipe's file: JSON for data.labels, separated by | for track.fill, else by commas."""
    if isinstance(value, Mapping):
        return {key: _value(one, str(key)) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_value(one) for one in value]
        if name.split(".")[-1] == "labels":
            return json.dumps(parts, ensure_ascii=False)
        return ("|" if name.split(".")[-1] == "fill" else ",").join(
            part if isinstance(part, str) else json.dumps(part) for part in parts)
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # DataFrame
        return _stored(value.to_json(orient="records", lines=True, force_ascii=False).encode(), ".jsonl")
    if hasattr(value, "to_json") and hasattr(value, "column_names"):  # datasets.Dataset
        rows = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in value)
        return _stored(rows.encode(), ".jsonl")
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _recipe_path(recipe: Recipe) -> str:
    if isinstance(recipe, Mapping):
        return _stored(json.dumps(_value(recipe), indent=1, ensure_ascii=False).encode(), ".yaml")  # JSON is YAML
    return os.fspath(recipe)


def _set_flags(settings: Settings) -> List[str]:
    """Returns --set flags: {"train.steps": 10} or {"train": {"steps": 10}}."""
    flags: List[str] = []

    def add(prefix: str, values: Mapping[str, Any]) -> None:
        for name, given in values.items():
            value = _value(given, name)
            if isinstance(value, Mapping):
                add(f"{prefix}{name}.", value)
            else:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                flags.extend(["--set", f"{prefix}{name}={text}"])

    add("", settings or {})
    return flags


class Run:
    """A run of a recipe in a child process, made by start() and run().

    If this process ends in any way, the run saves a checkpoint and ends, too.
    """

    def __init__(self, arguments: List[str]) -> None:
        self._process = start_program(["run", *arguments, "--json", "--stop-with-input"])
        self._events: List[Event] = []
        self._log: Deque[str] = collections.deque(maxlen=50)
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._log_reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        self._log_reader.start()
        _runs.add(self)

    def _read(self) -> None:
        assert self._process.stdout
        with os.fdopen(os.dup(self._process.stdout.fileno()), "rb") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:  # cut off by kill -9, or printed by a plugin
                    self._log.append(line.decode(errors="replace").rstrip("\n"))
                    continue
                with self._changed:
                    self._events.append(event)
                    self._changed.notify_all()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        with self._changed:
            self._changed.notify_all()

    def _read_log(self) -> None:
        assert self._process.stderr
        with os.fdopen(os.dup(self._process.stderr.fileno()), "rb") as lines:
            for line in lines:
                self._log.append(line.decode(errors="replace").rstrip("\n"))
        self._process.stderr.close()

    def _first(self, name: str) -> Optional[Event]:
        return next((event for event in list(self._events) if event["event"] == name), None)

    @property
    def status(self) -> str:
        """ "running", "finished", "stopped" (a checkpoint is saved; the same call resumes) or "failed"."""
        if self._process.poll() is None:
            return "running"
        return {0: "finished", 75: "stopped"}.get(self._process.returncode, "failed")

    @property
    def pid(self) -> int:
        """The process id of the run."""
        return self._process.pid

    def events(self) -> Iterator[Event]:
        """Yields the events of the run from its beginning, each when it happens, until the run ends.

        An event is a dict with ``event``, ``time`` and the fields that docs/reference/json.md lists.
        """
        at = 0
        while True:
            with self._changed:
                while len(self._events) <= at:
                    if not self._reader.is_alive():  # it ends after the last event; in a forked process it does not live
                        return
                    self._changed.wait(0.2)
                event = self._events[at]
            yield event
            at += 1

    @property
    def log(self) -> List[str]:
        """The newest lines of the log."""
        return list(self._log)

    def _begin(self) -> Event:
        for event in self.events():
            if event["event"] == "begin":
                return event
        raise self._error() or UsageError("the run ended before it began", "read run.log")

    @property
    def folder(self) -> str:
        """The folder of the run. Waits until the recipe is read."""
        return str(self._begin()["out"])

    @property
    def metrics_file(self) -> str:
        """The path of metrics.jsonl, which may not exist yet. Waits until the recipe is read."""
        return str(self._begin()["metrics"])

    def metrics(self) -> Any:
        """Returns the metrics so far, as metrics() does."""
        return metrics(self.metrics_file)

    def model(self, device: str = "auto") -> Model:
        """Loads the newest checkpoint for inference."""
        return Model.load(self.folder, device)

    def stop(self) -> None:
        """Asks the run to save a checkpoint and to end, and waits for it. Does nothing if it has ended."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)  # SIGINT may be ignored, as in a script's background process
        self._join()

    def _join(self) -> None:
        self._reader.join()
        self._log_reader.join(1)

    def _error(self) -> Optional[Exception]:
        code = self._process.returncode
        if code == 0:
            return None
        told = self._first("error")
        if told is not None:
            return error_of(told["kind"], told["message"], told["hint"])
        return error_from_log(code, "\n".join(self._log))

    def wait(self) -> Event:
        """Waits for the end of the run. Returns its result: ``out``, ``step``, ``metrics``, ``verdict``, ``paths``.

        Raises the error of the run, Stopped if it was stopped. On Ctrl-C, the run saves a checkpoint and ends, and
        KeyboardInterrupt goes on; a second Ctrl-C ends the run at once.
        """
        try:
            self._join()
        except KeyboardInterrupt:
            self._interrupt()
            raise
        error = self._error()
        if error is not None:
            raise error
        return self._first("result") or {}

    def _interrupt(self) -> None:
        try:
            self.stop()
        except KeyboardInterrupt:
            self._process.kill()
            raise

    def __repr__(self) -> str:
        return f"Run({self.status}, {len(self._events)} events)"


_runs: "weakref.WeakSet[Run]" = weakref.WeakSet()


def _after_fork() -> None:
    """Closes the pipes in a forked process. Otherwise a run would not notice the end of the process that started it."""
    for forked in list(_runs):
        if forked._process.stdin is not None:
            forked._process.stdin.close()
        forked._process.returncode = forked._process.returncode or 0  # it is no child of the forked process
    _runs.clear()


os.register_at_fork(after_in_child=_after_fork)


def start(recipe: Recipe, set: Settings = None, *, small: bool = False, fresh: bool = False, overwrite: bool = False) -> Run:
    """Starts a run in the background, or resumes it, and returns at once.

    ``recipe`` is the path of a recipe, a run's folder, or a dict with a recipe's sections. ``set`` replaces fields:
    ``{"train.steps": 1000}``. A pandas DataFrame or a datasets.Dataset as a field's value (``text.input``,
    ``data.train``) is written to a JSONL file in the cache first. ``small`` tries the recipe with a small model and at
    most 300 steps. ``fresh`` starts a new run, an error if there is a checkpoint; with ``overwrite`` it is deleted.
    """
    flags = [flag for flag, given in (("--small", small), ("--fresh", fresh), ("--overwrite", overwrite)) if given]
    return Run([_recipe_path(recipe), *flags, *_set_flags(set)])


def run(recipe: Recipe, set: Settings = None, *, on_event: Optional[Callable[[Event], None]] = None,
        progress: Optional[bool] = None, small: bool = False, fresh: bool = False, overwrite: bool = False) -> Run:
    """Runs a recipe from text to a finished model, or resumes it. Arguments as for start().

    ``on_event`` is called with each event. ``progress``: whether to show steps and loss, with tqdm if it is installed;
    by default on a terminal and in a notebook. Ctrl-C, or the stop button of a notebook, saves a checkpoint and raises
    KeyboardInterrupt; the same call resumes the run. Raises the error of the run otherwise.

    >>> done = run(RECIPE, {"out": RUN, "train.steps": 2})
    >>> done.status
    'finished'
    """
    started = start(recipe, set, small=small, fresh=fresh, overwrite=overwrite)
    shown = _Shown(started) if (_is_interactive() if progress is None else progress) else None
    try:
        for event in started.events():
            if on_event is not None:
                on_event(event)
        started.wait()
    except BaseException as error:
        if started.status == "running":
            if isinstance(error, KeyboardInterrupt):
                print("smelt: saving a checkpoint; interrupt again to end at once", file=sys.stderr)
            started._interrupt()
        raise
    finally:
        if shown is not None:
            shown.end()
    return started


def _is_interactive() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class _Shown:
    """Shows the steps and the loss of a run while it trains."""

    def __init__(self, started: Run) -> None:
        self._run = started
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._thread.start()

    def _show(self) -> None:
        try:
            begin = self._run._begin()
        except Error:
            return
        bar = self._bar(begin["steps"])
        for record in follow(begin["metrics"], lambda: self._run.status != "running"):
            if record["kind"] != "line" or record["time"] < begin["time"]:
                continue
            loss = numbers_of(record).get("train/loss", float("nan"))
            if bar is None:
                of = f" of {begin['steps']}" if begin["steps"] else ""  # unknown if the length is a time
                print(f"step {record['step']}{of}, loss {loss:.4g}", file=sys.stderr)
            else:
                bar.set_postfix(loss=f"{loss:.4g}", refresh=False)
                bar.update(record["step"] - bar.n)
        if bar is not None:
            bar.close()

    @staticmethod
    def _bar(steps: Optional[int]) -> Any:
        tqdm = optional("tqdm.auto")
        return None if tqdm is None else tqdm.tqdm(total=steps, unit="step")

    def end(self) -> None:
        self._thread.join(2)


def plan(recipe: Recipe, on: Union[str, List[str], None] = None, set: Settings = None) -> Dict[str, Any]:
    """Estimates time, memory and cost of a recipe on accelerators, without using them.

    ``on`` names accelerators, such as ``["v3-8", "v5litepod-8"]``; default: those that `smelt plan` chooses. Returns a
    dict with ``rows``, one for each accelerator, ``cheapest`` and ``fastest``.
    """
    machines = [on] if isinstance(on, str) else list(on or [])
    flags = ["--on", ",".join(machines)] if machines else []
    return dict(json.loads(output_of(["plan", _recipe_path(recipe), "--json", *flags, *_set_flags(set)])))


def _values_to_try(name: str, values: Any) -> str:
    """Formats the values of a field, a list or a numpy array, for --grid: "1e-5,3e-5"."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UsageError(f"grid: {name} is {values!r}, expected a list of values", f"pass {{{json.dumps(name)}: [{values!r}]}}")
    out: List[str] = []
    for value in values:
        value = value.item() if hasattr(value, "item") else value  # a number of numpy
        text = value if isinstance(value, str) else json.dumps(value)
        if "," in text:
            raise UsageError(f"grid: {name}: the value {text} has a comma, which separates values", "run it alone, with set")
        out.append(text)
    return ",".join(out)


def finetune(recipe: Recipe, set: Settings = None, *, seeds: Optional[int] = None,
             grid: Optional[Mapping[str, Iterable[Any]]] = None, against: Settings = None, against_fresh: bool = False,
             metric: Optional[str] = None) -> Dict[str, Any]:
    """Trains several seeds and settings of a recipe and compares them, as `smelt finetune` does.

    ``seeds`` is the number of runs per setting. ``grid`` has fields with the values to try:
    ``{"train.optimizer.learning_rate": [1e-5, 3e-5]}``. Each run can be compared with a baseline: one with the settings
    ``against``, such as ``{"train.init_from": "other-model"}``, or with ``against_fresh`` the same model trained from random
    weights. ``metric`` defaults to that of the task. Returns a dict with ``metric``, ``trials``, ``best`` and
    ``best_folder``, and with a baseline ``against`` and ``margins``. Ctrl-C saves a checkpoint; the same call resumes.
    """
    flags = [] if seeds is None else ["--seeds", str(seeds)]
    for name, values in (grid or {}).items():
        flags += ["--grid", f"{name}={_values_to_try(name, values)}"]
    for flag, setting in zip(*[iter(_set_flags(against))] * 2):
        flags += [flag.replace("--set", "--against"), setting]
    flags += ["--against-fresh"] if against_fresh else []
    flags += [] if metric is None else ["--metric", metric]
    return dict(json.loads(output_of(["finetune", _recipe_path(recipe), "--json", "--stop-with-input", *flags, *_set_flags(set)])))


def convert(source: "Union[str, os.PathLike[str]]", target: "Union[str, os.PathLike[str]]", to: Optional[str] = None, *,
            task: Optional[str] = None, vocab: "Union[str, os.PathLike[str], None]" = None) -> Dict[str, Any]:
    """Converts a model to another format, as `smelt convert` does. ``target`` must not exist.

    ``source`` is a model that Model.load reads. ``to`` is "hf" (a Hugging Face folder), "onnx", "tf" or "smelt"; by default
    it follows from the name of ``target``. ``task`` of an ONNX model: "auto" (a fine-tuned head, else the masked-LM head,
    else the encoder), "fill-mask" or "feature-extraction". Returns a dict with ``path`` and ``form``.

    >>> convert(CLASS_MODEL, os.path.join(os.path.dirname(RUN), "class.onnx"))["form"]
    'onnx'
    """
    flags = [] if to is None else ["--to", to]
    flags += [] if task is None else ["--task", task]
    flags += [] if vocab is None else ["--vocab", os.fspath(vocab)]
    return dict(json.loads(output_of(["convert", os.fspath(source), os.fspath(target), "--json", *flags])))
