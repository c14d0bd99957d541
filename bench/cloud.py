#!/usr/bin/env python3
"""Times smelt with many workers, with a bucket and with many zones, all on the loopback interface.

ssh:    runs a command on one worker and on all of them at once, with real sshd processes (ssh_load of build/release,
        which this script builds).
upload: copies a folder to the storage emulator (tests/support/gcs_emulator.py) with `smelt storage cp -r`. Compares
        with reading the same files from the disk, and with a client that only sends them, all at the same time, in
        parts of 8 MiB like smelt (emulator) or each file in one request (emulator_at_once).
list:   runs `smelt cloud list` against an API that cannot list all zones at once and is slow to respond.
"""
import argparse
import http.client
import http.server
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from upload import ROOT, seconds_of, start_emulator

PART = 8 << 20  # part size of smelt's uploads


def parse_flags():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", nargs="*", default=["ssh", "upload", "list"])
    p.add_argument("--workers", type=int, default=32)
    p.add_argument("--commands", default="true,sleep 10", help="commands to run on the workers, separated by commas")
    p.add_argument("--megabytes", type=int, default=256, help="size of all files together")
    p.add_argument("--files", type=int, default=8)
    p.add_argument("--zones", type=int, default=20)
    p.add_argument("--answer", type=float, default=0.2, help="seconds that the API takes for each response")
    p.add_argument("--rounds", type=int, default=5, help="the median counts")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    p.add_argument("--python", default=str(ROOT / ".venv-oracle/bin/python"), help="a Python with the emulator")
    return p.parse_args()


def show(what, **figures):
    print(json.dumps({"what": what, "load": round(os.getloadavg()[0], 1)} | figures), flush=True)


def ssh(flags):
    build = subprocess.run(["cmake", "--build", "--preset", "release", "--target", "ssh_load"], cwd=ROOT,
                           capture_output=True, text=True)
    if build.returncode != 0:
        sys.exit(build.stdout + build.stderr)
    for command in flags.commands.split(","):
        out = subprocess.run([ROOT / "build/release/tests/ssh_load", str(flags.workers), command, str(flags.rounds)],
                             capture_output=True, text=True)
        if out.returncode != 0:
            sys.exit(out.stdout + out.stderr)
        found = dict(line.split() for line in out.stdout.splitlines())
        one, every = float(found["one_s"]), float(found["all_s"])
        show("ssh", workers=flags.workers, command=command, one_s=round(one, 2), all_s=round(every, 2),
             ratio=round(every / one, 2))


def forget(files):
    """Drops the files from the page cache, so that they are read from the disk again."""
    for file in files:
        with open(file, "rb") as open_file:
            os.fsync(open_file.fileno())
            os.posix_fadvise(open_file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def side_by_side(work, items):
    threads = [threading.Thread(target=work, args=(item,)) for item in items]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - start


def read(file):
    with open(file, "rb", buffering=0) as open_file:
        while open_file.read(1 << 20):
            pass


def send(port, file, part):
    """Uploads the file in a resumable session in parts of `part` bytes, as Google's client does; 0: in one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = memoryview(Path(file).read_bytes())
    name = f"/upload/storage/v1/b/bucket/o?name=client/{Path(file).name}"

    def ask(method, path, content, headers, status):
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != status:
            sys.exit(f"the emulator responds with status {answer.status}, expected {status}")
        return answer

    if not part:
        return ask("POST", f"{name}&uploadType=media", body, {"Content-Type": "application/octet-stream"}, 200)
    place = ask("POST", f"{name}&uploadType=resumable", b"{}", {"Content-Type": "application/json"}, 200).headers["Location"]
    place = place[place.index("/upload"):]
    for begin in range(0, len(body), part):
        end = min(begin + part, len(body))
        ask("PUT", place, body[begin:end], {"Content-Range": f"bytes {begin}-{end - 1}/{len(body)}"},
            200 if end == len(body) else 308)


def upload(flags):
    emulator, port = start_emulator(flags.python)
    try:
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            files = [f"{folder}/{i}.bin" for i in range(flags.files)]
            for file in files:
                Path(file).write_bytes(os.urandom(flags.megabytes * 10**6 // flags.files))
            environment = {**os.environ, "CLOUD_STORAGE_EMULATOR_ENDPOINT": f"http://127.0.0.1:{port}"}
            seconds = {"disk": [], "emulator": [], "emulator_at_once": [], "smelt": []}
            for _ in range(flags.rounds):
                forget(files)
                seconds["disk"].append(side_by_side(read, files))
                seconds["emulator"].append(side_by_side(lambda file: send(port, file, PART), files))
                seconds["emulator_at_once"].append(side_by_side(lambda file: send(port, file, 0), files))
                forget(files)
                seconds["smelt"].append(seconds_of([flags.smelt, "storage", "cp", "-r", folder, "gs://bucket/smelt/"],
                                                   environment))
    finally:
        emulator.terminate()
        emulator.wait()
    rates = {name: flags.megabytes / statistics.median(all_of) for name, all_of in seconds.items()}
    show("upload", megabytes=flags.megabytes, files=flags.files, **{f"{name}_mb_s": round(rate, 1) for name, rate in rates.items()},
         ratio=round(rates["smelt"] / min(rates["disk"], rates["emulator"]), 2))


class SlowApi(http.server.BaseHTTPRequestHandler):
    """The TPU API and the token server; the API cannot list all zones at once."""
    protocol_version = "HTTP/1.1"
    zones, seconds = [], 0.0

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, {"access_token": "x", "expires_in": 3600})

    def do_GET(self):
        time.sleep(self.seconds)
        path = self.path.split("?")[0].split("/")
        if path[-1] == "locations":
            return self.answer(200, {"locations": [{"locationId": zone} for zone in self.zones]})
        zone, kind = path[-2:]
        if zone == "-":
            return self.answer(404, {"error": {"code": 404, "message": "no such location"}})
        name = f"projects/p/locations/{zone}/{kind}/one"
        return self.answer(200, {kind: [{"name": name, "acceleratorType": "v3-8", "state": "READY"}]})

    def log_message(self, *_):
        pass


class SlowServer(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # with the default of 5, further clients wait a second each


def list_zones(flags):
    SlowApi.zones = [f"region-west{i}-a" for i in range(flags.zones)]
    SlowApi.seconds = flags.answer
    server = SlowServer(("127.0.0.1", 0), SlowApi)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder) / "key.json"
        key.touch(mode=0o600)
        key.write_text(json.dumps({"type": "authorized_user", "client_id": "a", "client_secret": "b",
                                   "refresh_token": "c", "token_uri": f"{url}/token"}))
        environment = {**os.environ, "GOOGLE_APPLICATION_CREDENTIALS": str(key),
                       "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": f"{url}/"}
        seconds = statistics.median(seconds_of([flags.smelt, "cloud", "list", "--project", "p"], environment)
                                    for _ in range(flags.rounds))
    server.shutdown()
    # requests for nodes and for the queue: "-", the names of zones, each zone
    in_turn = 2 * (2 + flags.zones) * flags.answer
    show("list", zones=flags.zones, answer_s=flags.answer, seconds=round(seconds, 2), in_turn_s=round(in_turn, 1))


def main():
    flags = parse_flags()
    for what in flags.what:
        {"ssh": ssh, "upload": upload, "list": list_zones}[what](flags)


if __name__ == "__main__":
    main()
