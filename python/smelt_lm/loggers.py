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
from typing import Any, Dict, List, Optional, Union

from ._errors import UsageError, optional
from ._metrics import Record, check_local, follow, metrics_file, numbers_of
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
                check_local(source.metrics_file)
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
            if isinstance(source, Run) and source.status == "failed":
                failed = True  # also if it was killed, so that it could not log its end
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
    """A run of Weights & Biases, or of Trackio, which has the same functions.

    Only methods of the run are called, because the modules' functions look for a run of the calling thread.
    """

    def __init__(self, module: Any, options: Dict[str, Any]) -> None:
        self._module = module
        self._run = module.init(**options)
        self._is_wandb = module.__name__ == "wandb"
        if self._is_wandb:
            # The service drops values whose step does not grow, as after a loss spike. So the step is a metric, too.
            self._run.define_metric("step")
            self._run.define_metric("*", step_metric="step")

    def begin(self, record: Record) -> None:
        settings = {name: record[name] for name in ("settings", "model", "batch_size", "device", "devices", "parameters", "examples")
                    if name in record}
        if self._is_wandb:
            self._run.config.update(settings, allow_val_change=True)
        else:
            self._run.config.update(settings)

    def log(self, step: int, numbers: Dict[str, float]) -> None:
        if self._is_wandb:
            self._run.log({"step": step, **numbers})
        else:
            self._run.log(numbers, step=step)

    def texts(self, step: int, texts: List[Dict[str, Any]]) -> None:
        if not self._is_wandb:
            return  # Trackio's tables need pandas
        rows = [[step, text["text"], ", ".join(str(guess[0]) for guess in mask)] for text in texts for mask in text["masks"]]
        self._run.log({"step": step, "filled": self._module.Table(columns=["step", "text", "guesses"], data=rows)})

    def end(self, failed: bool) -> None:
        if self._is_wandb:
            self._run.finish(exit_code=1 if failed else 0)
        else:
            self._run.finish()


class _Mlflow(Sink):
    """A run of MLflow, written by its client, so that the active run of the caller's thread does not change."""

    def __init__(self, module: Any, experiment: Optional[str], run_name: Optional[str], tags: Optional[Dict[str, Any]]) -> None:
        self._client = module.MlflowClient()
        number = "0"
        if experiment is not None:
            known = self._client.get_experiment_by_name(experiment)
            number = known.experiment_id if known is not None else self._client.create_experiment(experiment)
        self._id = self._client.create_run(number, run_name=run_name, tags=tags).info.run_id

    def begin(self, record: Record) -> None:
        # Parameters of MLflow cannot be changed and are limited in length: the recipe is an artifact.
        self._client.log_text(self._id, json.dumps(record.get("settings"), indent=1, ensure_ascii=False), "settings.json")
        for name in ("model", "batch_size", "device", "devices", "parameters"):
            if name in record:
                self._client.set_tag(self._id, name, str(record[name]))

    def log(self, step: int, numbers: Dict[str, float]) -> None:
        for name, value in numbers.items():
            self._client.log_metric(self._id, name, value, step=step)

    def texts(self, step: int, texts: List[Dict[str, Any]]) -> None:
        self._client.log_text(self._id, json.dumps(texts, indent=1, ensure_ascii=False), f"filled/{step}.json")

    def end(self, failed: bool) -> None:
        self._client.set_terminated(self._id, "FAILED" if failed else "FINISHED")


def wandb(source: Source, **options: Any) -> Logger:
    """Sends a run to Weights & Biases. ``options`` are those of ``wandb.init``: project, name, tags and so on."""
    return Logger(source, _Wandb(_module("wandb"), options))


def trackio(source: Source, **options: Any) -> Logger:
    """Sends a run to Trackio. ``options`` are those of ``trackio.init``: project, name and so on."""
    return Logger(source, _Wandb(_module("trackio"), options))


def mlflow(source: Source, experiment: Optional[str] = None, *, run_name: Optional[str] = None,
           tags: Optional[Dict[str, Any]] = None) -> Logger:
    """Sends a run to MLflow, to the tracking server that MLFLOW_TRACKING_URI or mlflow.set_tracking_uri() names."""
    return Logger(source, _Mlflow(_module("mlflow"), experiment, run_name, tags))
