"""Sends the metrics of a run to Weights & Biases, MLflow or Trackio, while it trains or afterwards.

    run = smelt_lm.start("my.yaml")
    logger = smelt_lm.loggers.wandb(run, project="my-bert")    # in the background
    run.wait()
    logger.wait()

    smelt_lm.loggers.mlflow("my-bert", experiment="my-bert").wait()    # a finished run

Each needs its package (``pip install wandb``, ``mlflow`` or ``trackio``). Metrics have the names ``train/loss``,
``valid/masked_lm_loss`` and so on; the recipe becomes the configuration.
"""
from __future__ import annotations

import json
import os
import threading
from typing import Any, Callable, Dict, List, Optional, Union

from ._errors import UsageError, optional
from ._metrics import Record, follow, metrics_file, numbers_of
from ._run import Run

Source = Union[Run, str, "os.PathLike[str]"]


class Sink:
    """Where records go. Subclass it to send metrics elsewhere: ``send(run, MySink())``."""

    def begin(self, record: Record) -> None:
        """Called with the record of the kind ``start`` when the run begins or resumes."""

    def log(self, step: int, numbers: Dict[str, float]) -> None:
        """Called with the metrics of a step."""

    def texts(self, step: int, texts: List[Dict[str, Any]]) -> None:
        """Called with the filled masks of an evaluation (``track.fill`` of the recipe)."""

    def end(self, failed: bool) -> None:
        """Called once at the end."""


class Logger:
    """Sends the records of a run on a thread."""

    def __init__(self, source: Source, sink: Sink) -> None:
        self._source, self._sink = source, sink
        self._failure: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()

    def _guarded(self) -> None:
        try:
            self._send()
        except BaseException as error:
            self._failure = error

    def _send(self) -> None:
        source, sink = self._source, self._sink
        failed = False
        try:
            if isinstance(source, Run):
                records = follow(source.metrics_file, lambda: source.status != "running")
            else:
                records = follow(metrics_file(source), lambda: True)
            for record in records:
                step = int(record.get("step") or 0)
                if record["kind"] == "start":
                    sink.begin(record)
                elif record["kind"] in ("line", "check"):
                    sink.log(step, numbers_of(record))
                elif record["kind"] == "filled":
                    sink.texts(step, record.get("texts") or [])
                elif record["kind"] == "end":
                    failed = record.get("why") == "failed"
        except BaseException:
            failed = True
            raise
        finally:
            sink.end(failed)

    def wait(self) -> None:
        """Waits until everything is sent. Raises the error of the service if sending failed."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure


def send(source: Source, sink: Sink) -> Logger:
    """Sends the records of a run, or of a run's folder, to a sink."""
    return Logger(source, sink)


def _module(name: str) -> Any:
    module = optional(name)
    if module is None:
        raise UsageError(f"{name} is not installed", f"pip install {name}")
    return module


class _Wandb(Sink):
    """Weights & Biases, and Trackio, which has the same functions."""

    def __init__(self, module: Any, options: Dict[str, Any]) -> None:
        self._module = module
        self._run = module.init(**options)
        # The service drops values whose step does not grow, as after a loss spike. So the step is a metric, too.
        define = getattr(self._run, "define_metric", None)
        if define is not None:
            define("step")
            define("*", step_metric="step")

    def begin(self, record: Record) -> None:
        config = getattr(self._run, "config", None)
        settings = {name: record[name] for name in ("settings", "model", "batch_size", "device", "devices", "parameters", "examples")
                    if name in record}
        if isinstance(config, dict):  # of Trackio
            config.update(settings)
        elif config is not None:
            config.update(settings, allow_val_change=True)

    def log(self, step: int, numbers: Dict[str, float]) -> None:
        self._module.log({"step": step, **numbers})

    def texts(self, step: int, texts: List[Dict[str, Any]]) -> None:
        rows = [[step, text["text"], ", ".join(guess[0] for guess in mask)] for text in texts for mask in text["masks"]]
        if rows and hasattr(self._module, "Table"):
            self._module.log({"step": step, "filled": _table(self._module.Table, rows)})

    def end(self, failed: bool) -> None:
        if getattr(self._run, "define_metric", None) is not None:
            self._run.finish(exit_code=1 if failed else 0)
        else:
            self._module.finish()


def _table(make: Callable[..., Any], rows: List[List[Any]]) -> Any:
    columns = ["step", "text", "guesses"]
    try:
        return make(columns=columns, data=rows)
    except TypeError:  # Trackio takes a DataFrame
        return make(dataframe=_module("pandas").DataFrame(rows, columns=columns))


class _Mlflow(Sink):
    def __init__(self, module: Any, experiment: Optional[str], options: Dict[str, Any]) -> None:
        self._module = module
        if experiment is not None:
            module.set_experiment(experiment)
        self._run = module.start_run(**options)
        self._client = module.MlflowClient()

    def begin(self, record: Record) -> None:
        # Parameters of MLflow cannot be changed and are limited in length: the recipe is an artifact.
        self._client.log_text(self._run.info.run_id, json.dumps(record.get("settings"), indent=1, ensure_ascii=False), "settings.json")
        for name in ("model", "batch_size", "device", "devices", "parameters"):
            if name in record:
                self._client.set_tag(self._run.info.run_id, name, str(record[name]))

    def log(self, step: int, numbers: Dict[str, float]) -> None:
        for name, value in numbers.items():
            self._client.log_metric(self._run.info.run_id, name, value, step=step)

    def texts(self, step: int, texts: List[Dict[str, Any]]) -> None:
        self._client.log_text(self._run.info.run_id, json.dumps(texts, indent=1, ensure_ascii=False), f"filled/{step}.json")

    def end(self, failed: bool) -> None:
        self._module.end_run("FAILED" if failed else "FINISHED")


def wandb(source: Source, **options: Any) -> Logger:
    """Sends a run to Weights & Biases. ``options`` are those of ``wandb.init``: project, name, tags and so on."""
    return Logger(source, _Wandb(_module("wandb"), options))


def trackio(source: Source, **options: Any) -> Logger:
    """Sends a run to Trackio. ``options`` are those of ``trackio.init``: project, name and so on."""
    return Logger(source, _Wandb(_module("trackio"), options))


def mlflow(source: Source, experiment: Optional[str] = None, **options: Any) -> Logger:
    """Sends a run to MLflow. ``options`` are those of ``mlflow.start_run``: run_name, tags and so on."""
    return Logger(source, _Mlflow(_module("mlflow"), experiment, options))
