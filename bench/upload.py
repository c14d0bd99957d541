#!/usr/bin/env python3
"""Times uploads to a gs:// bucket with slow connections: smelt and Google's Python client.

Starts a storage emulator (tests/support/gcs_emulator.py) behind a proxy that limits each connection to --rate megabytes
per second, as a real store does. `smelt data bert --shards 8` writes its files there; then the client uploads the same
files one after the other. Prints the seconds and megabytes per second of both, and the ratio. smelt's seconds include
the generation of the files, which is also timed locally for comparison.
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--text", required=True, help="text file, one sentence per line, blank lines between documents")
    p.add_argument("--vocab", required=True)
    p.add_argument("--rate", type=float, default=4, help="megabytes per second of each connection")
    p.add_argument("--shards", type=int, default=8)
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="one that has the emulator and the client")
    return p.parse_args()


def pump(source, sink, rate):
    """Copies bytes from one socket to the other, at most `rate` per second; 0: without a limit."""
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
            if rate:
                time.sleep(len(data) / rate)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def slow_proxy(target, rate):
    """Starts a proxy to port `target` that limits each upload, and returns its port on 127.0.0.1."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server = socket.create_connection(("127.0.0.1", target))
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=pump, args=(client, server, rate), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, 0), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def start_emulator(python):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([python, ROOT / "tests/support/gcs_emulator.py", str(port)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process, port
        except OSError:
            time.sleep(0.1)
    sys.exit("the emulator does not listen")


def seconds_of(command, environment=None):
    start = time.monotonic()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def make(flags, out, environment=None):
    return seconds_of([flags.smelt, "data", "bert", "--input", flags.text, "--vocab", flags.vocab, "--out", out,
                       "--shards", str(flags.shards)], environment)


def main():
    flags = parse_flags()
    emulator, port = start_emulator(flags.python)
    try:
        endpoint = f"127.0.0.1:{slow_proxy(port, flags.rate * 1e6)}"
        with tempfile.TemporaryDirectory() as folder:
            local = make(flags, f"{folder}/train.tfrecord")
            files = sorted(Path(folder).glob("*.tfrecord"))
            megabytes = sum(file.stat().st_size for file in files) / 1e6
            smelt = make(flags, "gs://bucket/smelt/train.tfrecord",
                         {**os.environ, "CLOUD_STORAGE_EMULATOR_ENDPOINT": f"http://{endpoint}"})
            client = sum(seconds_of([flags.python, ROOT / "tests/support/gcs_client.py", f"http://{endpoint}", "bucket",
                                     "put", f"client/{file.name}", file]) for file in files)
    finally:
        emulator.terminate()
        emulator.wait()
    print(json.dumps({"megabytes": round(megabytes, 1), "rate_of_a_connection": flags.rate,
                      "smelt_local_seconds": round(local, 2), "smelt_seconds": round(smelt, 2),
                      "client_seconds": round(client, 2), "smelt_mb_s": round(megabytes / smelt, 1),
                      "client_mb_s": round(megabytes / client, 1), "ratio": round(client / smelt, 2)}, indent=1))


if __name__ == "__main__":
    main()
