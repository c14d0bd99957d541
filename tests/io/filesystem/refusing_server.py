"""refusing_server.py PORT STATUS LOG: a store that responds to every request with STATUS.

It is also a metadata server that returns the name of a service account. It writes each request line and the kind of
authorization to LOG.
"""
import http.server
import json
import sys

STATUS, LOG = int(sys.argv[2]), sys.argv[3]
ACCOUNT = "trainer@project.iam.gserviceaccount.com"


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        with open(LOG, "a") as log:
            authorised = (self.headers.get("Authorization") or "nobody").split()[0]
            log.write(f"{self.command} {self.path} {authorised}\n")
        self.send_response(status)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.endswith("/email"):
            return self.answer(200, ACCOUNT.encode())
        error = {"code": STATUS, "message": "the store's own words", "errors": [{"reason": "forbidden"}]}
        return self.answer(STATUS, json.dumps({"error": error}).encode())

    def do_HEAD(self):
        self.answer(STATUS, b"")

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, *unused):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
