"""gcs_emulator.py PORT [FAULTS]: gcp-storage-emulator with one bucket called "bucket", in memory.

This script changes the emulator as follows:
- Each connection has a thread. The emulator serves one connection after the other, so a client that opens a second
  one before it has read the first to its end waits forever.
- It speaks HTTP/1.1, accepts 128 waiting connections and sends responses at once. With HTTP/1.0, a client that asks
  whether it may send a body gets no reply and waits a second, and so does a client beyond the fifth that connects at
  the same time.
- It does not write its contents to a file after each request, which takes longer with every object and fails if
  several threads do it at once.
- Uploads respect the precondition ifGenerationMatch, and JSON content is stored as it is.
- An object with Content-Encoding gzip is decompressed for clients that do not accept gzip, and their Range is then
  ignored, as the Cloud Storage page on transcoding describes.

FAULTS is a file that may be created or removed at any time: a JSON list of {"match": a pattern of "METHOD path",
"skip": the number of matching requests before the fault, "times": the number of requests that get it (1 by default),
"do": the fault}. Faults: "delay 0.5"; "status 403"; "cut", which receives half of the body, or sends half of the
response if there is no body, and closes the connection; "cut answer", which sends half of the response in any case;
"refuse NAME", which returns one of REFUSALS, as Google words it; and "requester pays", which returns the refusal
"pays" unless the request names a project that pays.
"""
import collections
import gzip
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
    _ = request.data  # the request's body must be read
    response.status = http.HTTPStatus.PRECONDITION_FAILED
    return response.json({"error": {"code": 412, "message": "At least one of the pre-conditions did not hold."}})


download_anyway = objects.download


def download(request, response, storage, *args, **kwargs):
    download_anyway(request, response, storage, *args, **kwargs)
    if response.status not in (http.HTTPStatus.OK, http.HTTPStatus.PARTIAL_CONTENT):
        return
    name = (request.params["bucket_name"], request.params["object_id"])
    about = storage.get_file_obj(*name)
    if about.get("contentEncoding") != "gzip":
        return
    if "no-transform" in about.get("cacheControl", "") or "gzip" in (request.get_header("accept-encoding") or ""):
        response["Content-Encoding"] = "gzip"
        return
    response.status = http.HTTPStatus.OK
    response._headers.pop("Content-Range", None)
    response.write_file(gzip.decompress(storage.get_file(*name)), content_type=about.get("contentType"))


objects.download = download
objects.insert = insert  # before the import of server, which copies these functions into its table
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

# name: (status, reason, message), as Cloud Storage writes them.
REFUSALS = {
    "permission": (403, "forbidden", "me@example.com does not have storage.objects.get access to the Google Cloud Storage "
                   "object. Permission 'storage.objects.get' denied on resource (or it may not exist)."),
    "billing": (403, "accountDisabled", "The billing account for the owning project is disabled in state absent"),
    "api": (403, "accessNotConfigured", "Cloud Storage API has not been used in project 42 before or it is disabled."),
    "policy": (403, "vpcServiceControls", "Request is prohibited by organization's policy."),
    "pays": (400, "required", "Bucket is a requester pays bucket but no user project provided."),
}

met, lock = collections.Counter(), threading.Lock()


def fault_of(request):
    """Returns the fault for this request, or None."""
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
    """Buffers the response and sends only its first half."""

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
        if fault == "requester pays":
            if "userProject=" in self.path or self.headers.get("X-Goog-User-Project"):
                return method(self)
            fault = "refuse pays"
        if fault.startswith("delay"):
            time.sleep(float(fault.split()[1]))
            return method(self)
        self.close_connection = True
        if fault.startswith(("status", "refuse")):
            self.rfile.read(length)
            what = fault.split()[1]
            status, reason, message = REFUSALS.get(what) or (int(what), "any", "as the test wants it")
            body = json.dumps({"error": {"code": status, "message": message, "errors": [
                {"message": message, "domain": "global", "reason": reason}]}}).encode()
            self.send_response(status)
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
