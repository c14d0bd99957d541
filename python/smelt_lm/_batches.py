"""Batches of training examples."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence

from ._errors import UsageError
from ._library import Handle, arrays_of, check, json_of, library, options_json

if TYPE_CHECKING:
    from ._library import Array


class Batches:
    """The batches of training, by step.

    For the same files, seed and batch size, ``batches[step]`` has the rows that ``smelt run`` trains on in that step. A
    batch is a dict of read-only arrays, by the name of the feature, with the examples as first dimension.

    ``input`` names TFRecord files, token stores or patterns, separated by commas. Iteration begins with ``start_step``
    and does not end with ``order="training"``; with ``order="file"`` it makes one pass in the order of the files, without
    an incomplete last batch. ``features`` selects features; ``window`` is the number of tokens of an example from a
    token store (512). ``lengths`` and ``tokens`` group batches by length, as data.lengths of a recipe. ``host`` of
    ``hosts`` reads a part of each batch.

    Objects can be shared by threads, pickled, and used after a fork, for example by the workers of a DataLoader.

    >>> batches = Batches(RECORDS, batch_size=4, seed=1)
    >>> batches.examples
    13
    >>> batch = batches[100]
    >>> batch["input_ids"].shape
    (4, 8)
    """

    def __init__(self, input: str, batch_size: int, *, seed: int = 12345, start_step: int = 0, order: str = "training",
                 features: Optional[Sequence[str]] = None, lengths: Optional[Sequence[int]] = None,
                 tokens: Optional[str] = None, window: Optional[int] = None, host: Optional[int] = None,
                 hosts: Optional[int] = None) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size is {batch_size}", "pass at least 1")
        if start_step < 0:
            raise UsageError(f"start_step is {start_step}", "pass at least 0")
        self.batch_size, self.start_step = batch_size, start_step
        self._options = {"input": str(input), "seed": seed, "order": order, "window": window, "host": host, "hosts": hosts,
                         "tokens": tokens, "features": None if features is None else list(features),
                         "lengths": None if lengths is None else list(lengths)}
        self._handle = Handle("smelt_batches_free")
        check(library().smelt_batches_open(options_json(**self._options), ctypes.byref(self._handle.pointer)))
        facts = json_of(lambda out: library().smelt_batches_describe(self._handle.pointer, out))
        #: number of examples in the files
        self.examples: int = facts["examples"]
        #: number of examples of a training epoch
        self.epoch_examples: int = facts["epoch_examples"]
        #: name, dtype and shape of each feature of an example
        self.features: List[Dict[str, Any]] = facts["features"]
        self.files: List[str] = facts["files"]
        #: how the files were made (docs/reference/formats/description.md), or None
        self.description: Optional[Dict[str, Any]] = facts["description"]

    def __getitem__(self, step: int) -> "Dict[str, Array]":
        if step < 0:
            raise UsageError(f"step is {step}", "steps begin with 0")
        return arrays_of(lambda out: library().smelt_batch(self._handle.pointer, step, self.batch_size, None, out))

    def __iter__(self) -> "Iterator[Dict[str, Array]]":
        step = self.start_step
        while self._options["order"] == "training" or (step + 1) * self.batch_size <= self.examples:
            yield self[step]
            step += 1

    def __reduce__(self) -> Any:
        return _reopen_batches, (self._options, self.batch_size, self.start_step)

    def __repr__(self) -> str:
        return f"Batches({self._options['input']!r}, {self.examples} examples, batches of {self.batch_size})"


def _reopen_batches(options: Dict[str, Any], batch_size: int, start_step: int) -> Batches:
    return Batches(**options, batch_size=batch_size, start_step=start_step)
