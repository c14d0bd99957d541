"""The child process ``smelt serve``, which runs inference (docs/reference/serve.md)."""
from __future__ import annotations

import atexit
import collections
import json
import os
import queue
import signal
import subprocess
import threading
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

from ._errors import Error, SystemFailure, UsageError, error_of, surrogate_error
from ._program import environment, error_from_log, log_line, start

PROTOCOL = 1
Progress = Callable[[int, int], None]
# An answer and its arrays: (dtype, shape, bytes) by name.
Reply = Tuple[Dict[str, Any], Dict[str, Tuple[str, List[int], bytearray]]]


class _Pipe:
    """Reads lines and blocks of bytes from a file descriptor, without locks: a fork may happen at any time."""

    def __init__(self, fd: int) -> None:
        self._fd, self._waiting = fd, bytearray()

    def _more(self) -> bool:
        part = os.read(self._fd, 1 << 20)
        self._waiting += part
        return len(part) > 0

    def line(self) -> Optional[bytearray]:
        searched = 0
        while (at := self._waiting.find(b"\n", searched)) < 0:
            searched = len(self._waiting)
            if not self._more():
                return None
        return self._take(at + 1)

    def block(self, size: int) -> Optional[bytearray]:
        while len(self._waiting) < size:
            if not self._more():
                return None
        return self._take(size)

    def _take(self, size: int) -> bytearray:
        out = self._waiting[:size]
        del self._waiting[:size]
        return out


# The variables besides HF_… from which the program finds the token and the cache (io/hub/hub_settings.cpp).
_HUB_VARIABLES = {"HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_OFFLINE", "XDG_CACHE_HOME", "HOME"}


def hub_environment() -> Dict[str, str]:
    return {name: value for name, value in environment().items() if name.startswith("HF_") or name in _HUB_VARIABLES}


class Gone(Exception):
    """The server ended before it received the request, so the request may be sent to another server."""


class Server:
    """One child process. Requests of several threads are sent one after the other."""

    def __init__(self) -> None:
        self.process = start(["serve"])
        self.pid = os.getpid()
        self.hub_environment = hub_environment()
        self._lock = threading.Lock()
        self._replies: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._log: Deque[str] = collections.deque(maxlen=50)
        self._next = 0
        #: numbers of models that nothing refers to any more; the next request closes them first
        self.abandoned: Deque[int] = collections.deque()
        self._readers = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_log)]
        for reader in self._readers:
            reader.start()
        try:
            hello = self._replies.get()
        except BaseException:  # Ctrl-C: nobody refers to the process
            self.process.kill()
            raise
        if not isinstance(hello, dict) or hello.get("protocol") != PROTOCOL:
            self.close()
            raise self._ended() if hello is None else SystemFailure(
                f"the program speaks protocol {hello.get('protocol')}, this package {PROTOCOL}",
                "install the program and the package of the same version of smelt-lm")

    def _read(self) -> None:
        assert self.process.stdout
        pipe = _Pipe(self.process.stdout.fileno())
        try:
            while (line := pipe.line()) is not None:
                message = json.loads(line)
                blocks = [pipe.block(array["bytes"]) for array in message.get("arrays", [])]
                if None in blocks:
                    break
                message["blocks"] = blocks
                self._replies.put(message)
        except (OSError, ValueError) as error:
            self._log.append(f"unreadable answer: {error}")
        self._replies.put(None)

    def _read_log(self) -> None:
        assert self.process.stderr
        pipe = _Pipe(self.process.stderr.fileno())
        try:
            while (line := pipe.line()) is not None:
                text = line.decode(errors="replace").rstrip("\n")
                self._log.append(text)
                log_line(text)
        except OSError:
            pass

    def _ended(self) -> Exception:
        try:
            code = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:  # it runs, but its answers cannot be read
            self.process.kill()
            code = self.process.wait()
        self._readers[1].join(1)
        return error_from_log(code, "\n".join(self._log))

    def is_usable(self) -> bool:
        return self.pid == os.getpid() and self.process.poll() is None

    def ask(self, do: str, progress: Optional[Progress] = None, **fields: Any) -> Reply:
        """Sends a request and waits for its answer. Ctrl-C stops it; the models stay loaded.

        Raises Gone if another thread ended the server before.
        """
        with self._lock:
            if not self.is_usable():
                raise Gone
            while self.abandoned:
                self._request("close", None, {"model": self.abandoned.popleft()})
            return self._request(do, progress, fields)

    def _request(self, do: str, progress: Optional[Progress], fields: Dict[str, Any]) -> Reply:
        self._next += 1
        number = self._next
        request = {"id": number, "do": do, **{name: value for name, value in fields.items() if value is not None}}
        try:
            data = json.dumps(request, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        except UnicodeEncodeError:
            raise surrogate_error(f"{do}: a text") from None
        except ValueError:
            raise UsageError(f"{do}: an option is infinite or not a number", "pass a finite number") from None
        try:
            self._send(data)
        except KeyboardInterrupt:
            self.process.kill()  # it has only a part of the request; the next call starts another
            self.process.wait()
            raise
        try:
            return self._reply(number, progress)
        except KeyboardInterrupt:
            self._stop_request(number)
            raise

    def _send(self, data: bytes) -> None:
        assert self.process.stdin
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.process.stdin.fileno(), view):]
        except (BrokenPipeError, ValueError):  # ValueError: it died, and another thread has closed its pipes
            raise self._ended() from None

    def _reply(self, number: int, progress: Optional[Progress]) -> Reply:
        while (message := self._replies.get()) is not None:
            if message.get("id") not in (number, None):  # None: the request was not valid JSON
                continue  # of a request that was given up
            if "event" in message:
                if progress:
                    try:
                        progress(message["done"], message["total"])
                    except Exception:  # the caller's; without this the next call would wait for the rest
                        self._stop_request(number)
                        raise
            elif "error" in message:
                error = message["error"]
                raise error_of(error["kind"], error["what"], error["hint"])
            else:
                arrays = {array["name"]: (array["dtype"], array["shape"], block)
                          for array, block in zip(message.get("arrays", []), message["blocks"])}
                return message["answer"], arrays
        self._replies.put(None)  # for other calls
        raise self._ended()

    def _stop_request(self, number: int) -> None:
        """Stops the current request after its batch; a second Ctrl-C ends the process."""
        try:
            received: List[Any] = []
            while not self._replies.empty():
                received.append(self._replies.get())
            ends = [message for message in received if message is None or ("event" not in message and message.get("id") == number)]
            for message in ends:
                self._replies.put(message)
            if not ends:  # otherwise the process is idle, and SIGINT would end it
                self.process.send_signal(signal.SIGINT)
            answer, _ = self._reply(number, None)
            if "model" in answer:  # loaded, but the caller does not receive its number
                self.abandoned.append(answer["model"])
        except KeyboardInterrupt:
            self.process.kill()
            self.process.wait()
            raise
        except Error:
            pass

    def close(self) -> None:
        """Ends the process: at once if it is idle, else after its current request, for which it waits 10 s."""
        if self.pid != os.getpid():
            return
        try:
            assert self.process.stdin
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for reader in self._readers:
            reader.join(1)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    def end(self) -> None:
        """Ends the process between two requests; a request that takes more than 10 s is ended with it."""
        is_idle = self._lock.acquire(timeout=10)
        try:
            if not is_idle:
                self.process.kill()
            self.close()
        finally:
            if is_idle:
                self._lock.release()

    def forget(self) -> None:
        """In a forked process: closes the pipes of the parent's server, so that it ends with the parent."""
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()
        self.process.returncode = 0  # the process is no child of this one


_server: Optional[Server] = None
_server_lock = threading.Lock()


def server(of_hub: bool = False) -> Server:
    """Returns the running server of this process, or starts one.

    Pass ``of_hub`` to load a model from the Hub. If the running server was started with another access token or cache, it is
    then replaced, and its models are loaded again when they are used.
    """
    global _server
    with _server_lock:
        if _server is not None and of_hub and _server.is_usable() and _server.hub_environment != hub_environment():
            with _server._lock:  # not during a request
                _server.close()
        if _server is None or not _server.is_usable():
            if _server is not None:
                _server.close()
            _server = Server()
        return _server


def release() -> None:
    """Ends the process that holds the loaded models, which frees their memory and their TPU or GPU.

    A model that is used afterwards is loaded again.
    """
    with _server_lock:
        if _server is not None and _server.is_usable():
            _server.end()


def _close_at_exit() -> None:
    if _server is not None and _server.is_usable():
        _server.end()


def _after_fork() -> None:
    global _server, _server_lock
    _server_lock = threading.Lock()
    if _server is not None:
        _server.forget()
        _server = None


atexit.register(_close_at_exit)
os.register_at_fork(after_in_child=_after_fork)
