"""Loads libsmelt.so (include/smelt.h) and converts its arrays and errors."""
from __future__ import annotations

import ctypes
import functools
import itertools
import json
import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, TypeVar

from ._errors import SystemFailure, UsageError, error_of, optional
from ._program import LOG, PACKAGE, program

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

T = TypeVar("T")
ABI = 1
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)


class _ArrayView(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("dtype", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64))]


_LOG_RECEIVER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
_FUNCTIONS = {  # name: (result, arguments)
    "smelt_abi": (ctypes.c_uint32, ()),
    "smelt_version": (ctypes.c_char_p, ()),
    "smelt_error_text": (ctypes.c_char_p, ()),
    "smelt_error_hint": (ctypes.c_char_p, ()),
    "smelt_on_log": (None, (_LOG_RECEIVER, ctypes.c_void_p)),
    "smelt_stop_new": (ctypes.c_void_p, ()),
    "smelt_stop_raise": (None, (ctypes.c_void_p,)),
    "smelt_stop_free": (None, (ctypes.c_void_p,)),
    "smelt_arrays_at": (ctypes.POINTER(_ArrayView), (ctypes.c_void_p, ctypes.c_int64)),
    "smelt_arrays_free": (None, (ctypes.c_void_p,)),
    "smelt_tokenizer_open": (ctypes.c_int, (ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))),
    "smelt_tokenizer_free": (None, (ctypes.c_void_p,)),
    "smelt_tokenizer_describe": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))),
    "smelt_tokenizer_tokens": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))),
    "smelt_encode": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p,
                                    ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))),
    "smelt_decode": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p,
                                    ctypes.POINTER(ctypes.c_void_p))),
    "smelt_batches_open": (ctypes.c_int, (ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))),
    "smelt_batches_free": (None, (ctypes.c_void_p,)),
    "smelt_batches_describe": (ctypes.c_int, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))),
    "smelt_batch": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_void_p,
                                   ctypes.POINTER(ctypes.c_void_p))),
}


def _receive_log(_context: Any, level: int, text: Any, size: int) -> None:
    try:
        LOG.log(_LEVELS[min(level, 3)], "%s", ctypes.string_at(text, size).decode(errors="replace"))
    except Exception:  # an exception cannot pass through C
        pass


_receive = _LOG_RECEIVER(_receive_log)  # kept alive, because the library keeps the pointer


def _library_path() -> Path:
    chosen = os.environ.get("SMELT_LIBRARY")
    if chosen:
        return Path(chosen)
    places = [PACKAGE / "lib" / "smelt"]
    try:
        beside = Path(program()).resolve().parent
        places += [beside.parent / "lib" / "smelt", beside]
    except UsageError:
        pass
    for place in places:
        if (place / "libsmelt.so").is_file():
            return place / "libsmelt.so"
    raise UsageError(f"libsmelt.so was not found in {', '.join(map(str, places))}",
                     "install the wheel smelt-lm, or set SMELT_LIBRARY to its path")


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Loads the library once. Raises UsageError if it is missing or of another version."""
    path = _library_path()
    try:
        loaded = ctypes.CDLL(str(path))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise SystemFailure(f"{path} cannot be loaded: {error}", "install smelt-lm again") from None
    if loaded.smelt_abi() != ABI:
        raise UsageError(f"{path} has interface {loaded.smelt_abi()}, but this package needs {ABI}",
                         "install the package and the library of the same version of smelt-lm")
    loaded.smelt_on_log(_receive, None)
    return loaded


def numpy() -> Any:
    """Imports numpy, which only the functions that return arrays need."""
    module = optional("numpy")
    if module is None:
        raise UsageError("numpy is not installed", "pip install numpy")
    return module


def check(code: int) -> None:
    """Raises the exception of a call that has failed on this thread."""
    if code != 0:
        lib = library()
        raise error_of(code, lib.smelt_error_text().decode(errors="replace"), lib.smelt_error_hint().decode(errors="replace"))


class Handle:
    """Owns a pointer of the library and frees it once."""

    def __init__(self, free: str) -> None:
        self.pointer = ctypes.c_void_p()
        self._free = getattr(library(), free)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._free(self.pointer)
            self.pointer = ctypes.c_void_p()


class _Owned:
    """The memory of an array, for numpy; keeps its owner alive."""

    def __init__(self, owner: Handle, interface: Dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


_DTYPES = {1: "<i4", 2: "<i8", 3: "<f4", 4: "|u1"}


def arrays_of(call: Callable[[Any], int]) -> Dict[str, Array]:
    """Calls a function that returns arrays. Returns read-only views of them, by name."""
    np = numpy()
    handle = Handle("smelt_arrays_free")
    check(call(ctypes.byref(handle.pointer)))
    out: Dict[str, Array] = {}
    for index in itertools.count():  # not len(out): two arrays may have the same name
        found = library().smelt_arrays_at(handle.pointer, index)
        if not found:
            break
        view = found.contents
        shape = tuple(view.shape[i] for i in range(view.rank))
        if 0 in shape:
            array = np.empty(shape, _DTYPES[view.dtype])
            array.flags.writeable = False
        else:
            array = np.asarray(_Owned(handle, {"version": 3, "shape": shape, "typestr": _DTYPES[view.dtype],
                                               "data": (view.data, True)}))
        out[view.name.decode()] = array
    return out


def json_of(call: Callable[[Any], int]) -> Any:
    """Calls a function that returns one array of JSON text."""
    return json.loads(arrays_of(call)["json"].tobytes())


def options_json(**options: Any) -> bytes:
    """Returns the options that are not None as JSON."""
    return json.dumps({name: value for name, value in options.items() if value is not None}).encode()


def text_list(texts: Array, starts: Array) -> List[str]:
    data, bounds = texts.tobytes(), starts.tolist()
    return [data[begin:end].decode(errors="replace") for begin, end in zip(bounds, bounds[1:])]


def interruptible(work: Callable[[Optional[int]], T], is_long: bool) -> T:
    """Calls work(stop). If it may take long and this is the main thread, Ctrl-C stops it.

    Python handles signals only between two of its own instructions, so a long call of the library would delay
    Ctrl-C until its end. Such a call therefore runs on another thread.
    """
    if not is_long or threading.current_thread() is not threading.main_thread():
        return work(None)
    lib = library()
    stop = lib.smelt_stop_new()
    result: List[T] = []
    failure: List[BaseException] = []

    def run() -> None:
        try:
            result.append(work(stop))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        lib.smelt_stop_raise(stop)
        thread.join()
        raise
    finally:
        if not thread.is_alive():  # else a second Ctrl-C has ended join(), and the call still uses the flag
            lib.smelt_stop_free(stop)
    if failure:
        raise failure[0]
    return result[0]
