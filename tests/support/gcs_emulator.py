"""gcs_emulator.py PORT: gcp-storage-emulator with a bucket called "bucket", in memory.

As it comes it serves one connection after the other, so that a reader which opens a second one before the first
is at its end waits for ever; and it speaks HTTP/1.0, in which a client that asks whether it may send a body hears
no answer and waits a second. Here each connection has a thread, HTTP is 1.1 and answers are sent at once; and it does
not write down what it holds after each request, which takes longer with every object and fails when threads do it at once.
"""
import http.server
import sys

from gcp_storage_emulator.__main__ import main
from gcp_storage_emulator.storage import Storage

Storage._write_config_to_file = lambda self: None
http.server.HTTPServer = http.server.ThreadingHTTPServer
http.server.BaseHTTPRequestHandler.protocol_version = "HTTP/1.1"
http.server.BaseHTTPRequestHandler.disable_nagle_algorithm = True
main(["start", "--host", "127.0.0.1", "--port", sys.argv[1], "--in-memory", "--default-bucket", "bucket"])
