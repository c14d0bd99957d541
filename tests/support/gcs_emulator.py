"""gcs_emulator.py PORT: gcp-storage-emulator with a bucket called "bucket", in memory.

As it comes it serves one request after the other, so that a reader which opens a second connection before the
first is at its end waits for ever; here each connection has a thread.
"""
import http.server
import sys

from gcp_storage_emulator.__main__ import main

http.server.HTTPServer = http.server.ThreadingHTTPServer
main(["start", "--host", "127.0.0.1", "--port", sys.argv[1], "--in-memory", "--default-bucket", "bucket"])
