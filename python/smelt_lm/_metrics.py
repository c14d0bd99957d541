"""Reads the metrics that a run logs to metrics.jsonl (docs/reference/formats/metrics.md)."""
from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

from ._errors import UsageError, optional

Record = Dict[str, Any]
_NOT_METRICS = ("kind", "step", "time", "spent", "examples")


def check_local(path: "Union[str, os.PathLike[str]]") -> None:
    """Raises UsageError for a path such as gs://bucket/run."""
    if "://" in os.fspath(path):
        raise UsageError(f"{os.fspath(path)} is not a folder of this machine", "copy its metrics.jsonl to this machine and name the copy")


def metrics_file(folder: "Union[str, os.PathLike[str]]") -> Path:
    """Returns the metrics.jsonl of a run's folder or of its model folder. Raises UsageError if it does not exist."""
    check_local(folder)
    for path in (Path(folder), Path(folder, "metrics.jsonl"), Path(folder, "model", "metrics.jsonl")):
        if path.is_file():
            return path
    raise UsageError(f"{os.fspath(folder)} has no metrics.jsonl", "name the folder of a run that has begun to train")


def _record(line: bytes) -> Optional[Record]:
    """Returns the record of a line, or None: a killed run may leave an incomplete last line."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "kind" in record else None


def read_records(folder: "Union[str, os.PathLike[str]]") -> List[Record]:
    """Returns all records of a run, as dicts with ``kind``, ``step`` and ``time``."""
    with open(metrics_file(folder), "rb") as file:
        return [record for line in file if (record := _record(line)) is not None]


def numbers_of(record: Record) -> Dict[str, float]:
    """Returns the numbers of a record: of the kind line as {"train/loss": 2.5}, of check as {"valid/masked_lm_loss": 2.7}."""
    if record["kind"] == "check":
        part, values = "valid", record.get("valid") or {}
    else:
        part, values = "train", {name: value for name, value in record.items() if name not in _NOT_METRICS}
    return {f"{part}/{name}": float(value) for name, value in values.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)}


def metrics(folder: "Union[str, os.PathLike[str]]") -> Any:
    """Returns the metrics of a run: one row for each line of the log and for each evaluation.

    The columns are ``step``, ``time`` (seconds since 1970) and the metrics: ``train/loss``, ``valid/masked_lm_loss`` and so on.
    Returns a pandas DataFrame if pandas is installed, otherwise a list of dicts.

    >>> len(metrics(RUN))
    2
    """
    rows = [{"step": record["step"], "time": record["time"], **numbers_of(record)}
            for record in read_records(folder) if record["kind"] in ("line", "check")]
    pandas = optional("pandas")
    return rows if pandas is None else pandas.DataFrame(rows)


def follow(path: "Union[str, os.PathLike[str]]", is_over: Callable[[], bool], seconds: float = 0.5) -> Iterator[Record]:
    """Yields each record of the file once, when it appears, until ``is_over()`` and the end of the file.

    A run that returns to an earlier step replaces the file. Records that were yielded before are then skipped.
    """
    seen: Set[Tuple[Any, ...]] = set()
    inode, offset, over = 0, 0, False
    while True:
        try:
            with open(path, "rb") as file:
                state = os.fstat(file.fileno())
                if state.st_ino != inode or state.st_size < offset:
                    inode, offset = state.st_ino, 0
                file.seek(offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    offset += len(line)
                    record = _record(line)
                    if record is None:
                        continue
                    key = (record["kind"], record.get("step"), record.get("time"))
                    if key not in seen:
                        seen.add(key)
                        yield record
        except FileNotFoundError:
            pass
        if over:
            return
        over = is_over()  # then the file is read once more
        if not over:
            time.sleep(seconds)
