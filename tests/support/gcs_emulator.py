"""gcs_emulator.py PORT [FAULTS]: gcp-storage-emulator with a bucket called "bucket", in memory.

As it comes it serves one connection after the other, so that a reader which opens a second one before the first
is at its end waits for ever; and it speaks HTTP/1.0, in which a client that asks whether it may send a body hears
no answer and waits a second, as do those beyond the fifth that connect at once. Here each connection has a thread, HTTP is
1.1, 128 may wait and answers are sent at once; and it does
not write down what it holds after each request, which takes longer with every object and fails when threads do it at once.
It also knows no preconditions, and takes content that is JSON apart: here ifGenerationMatch is kept to by uploads.

FAULTS is a file that may come and go: a JSON list of {"match": a pattern of "METHOD path", "skip": so many requests
that match, "times": then so many, "do": what}. What is "delay 0.5", "status 403", "cut": half of the body is
received, or of the answer sent, and the connection closed; or "cut answer", also where there is a body.
"""
import collections
import http.server
import json
import os
import re
import sys
import threading
import time

from gcp_storage_emulator.exceptions import NotFound
from gcp_storage_emulator.handlers import objects

insert_anyway, one_upload = objects.insert, threading.Lock()


def generation_of(storage, bucket, name):
    try:
        return storage.get_file_obj(bucket, name)["generation"]
    except NotFound:
        return "0"


def insert(request, response, storage, *args, **kwargs):
    wanted = request.query.get("ifGenerationMatch")
    if not wanted:
        return insert_anyway(request, response, storage, *args, **kwargs)
    with one_upload:
        if generation_of(storage, request.params["bucket_name"], request.query["name"][0]) == wanted[0]:
            return insert_anyway(request, response, storage, *args, **kwargs)
    _ = request.data  # which is still to be read
    response.status = http.HTTPStatus.PRECONDITION_FAILED
    return response.json({"error": {"code": 412, "message": "At least one of the pre-conditions did not hold."}})


objects.insert = insert  # before the server's table takes it
from gcp_storage_emulator import server  # noqa: E402
from gcp_storage_emulator.__main__ import main  # noqa: E402
from gcp_storage_emulator.storage import Storage  # noqa: E402

read_data = server._read_data
server._read_data = lambda handler, query: (
    server._decode_raw_data(server._read_raw_data(handler), handler)
    if query.get("uploadType") == ["media"] else read_data(handler, query))

Storage._write_config_to_file = lambda self: None
http.server.HTTPServer = http.server.ThreadingHTTPServer
http.server.HTTPServer.request_queue_size = 128
http.server.BaseHTTPRequestHandler.protocol_version = "HTTP/1.1"
http.server.BaseHTTPRequestHandler.disable_nagle_algorithm = True

met, lock = collections.Counter(), threading.Lock()


def fault_of(request):
    """What is to be done to this request, or None."""
    if len(sys.argv) < 3 or not os.path.exists(sys.argv[2]):
        return None
    with lock, open(sys.argv[2]) as file:
        for rule in json.load(file):
            if re.search(rule["match"], request):
                key = json.dumps(rule)
                met[key] += 1
                if rule.get("skip", 0) < met[key] <= rule.get("skip", 0) + rule.get("times", 1):
                    return rule["do"]
    return None


class HalfOfAnAnswer:
    """Holds back what is written and sends the first half of it."""

    def __init__(self, file):
        self.file, self.held = file, b""

    def write(self, data):
        self.held += bytes(data)
        return len(data)

    def flush(self):
        pass

    def send(self):
        self.file.write(self.held[: len(self.held) // 2])
        self.file.flush()


def with_faults(method):
    def handle(self):
        fault = fault_of(f"{self.command} {self.path}")
        length = int(self.headers.get("Content-Length") or 0)
        if fault is None:
            return method(self)
        if fault.startswith("delay"):
            time.sleep(float(fault.split()[1]))
            return method(self)
        self.close_connection = True
        if fault.startswith("status"):
            self.rfile.read(length)
            body = json.dumps({"error": {"code": int(fault.split()[1]), "message": "as the test wants it"}}).encode()
            self.send_response(int(fault.split()[1]))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            return self.wfile.write(body)
        if length > 0 and fault == "cut":
            self.rfile.read(length // 2)
            return None
        whole, self.wfile = self.wfile, HalfOfAnAnswer(self.wfile)
        method(self)
        self.wfile.send()
        self.wfile = whole
        return None

    return handle


for name in ("do_GET", "do_POST", "do_PUT", "do_DELETE"):
    setattr(server.RequestHandler, name, with_faults(getattr(server.RequestHandler, name)))
main(["start", "--host", "127.0.0.1", "--port", sys.argv[1], "--in-memory", "--default-bucket", "bucket"])
