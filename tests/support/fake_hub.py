"""fake_hub.py PORT CDN_PORT SEED LOG FAULTS: a stand-in for the Hugging Face Hub, with its CDN on a second port.

SEED has a folder for each repository, models/ORG/NAME or datasets/ORG/NAME. Its files become a commit of the branch
main, and again when they have changed; the file .fake.json may hold {"private": true}, {"gated": true}, {"tags": {NAME:
COMMIT}} or {"moved_to": "ORG/NAME"}. Files of more than 600 bytes or with an ending in LARGE are in large-file storage:
the Hub redirects to the CDN, which must never see an Authorization header.

LOG gets a line per request: "hub|cdn METHOD PATH auth=yes|no range=RANGE status=STATUS".

FAULTS is a file that may change at any time: a JSON list of {"match": a pattern of "hub|cdn METHOD PATH", "skip": the
number of matching requests before the fault, "times": how many get it (1 by default), "do": the fault}. Faults: "status
503", "cut 10" (sends 10 bytes of the body and closes the connection), "short 10" (claims that these 10 bytes are all),
"stall 10" (sends 10 bytes and then nothing), "reset", "range" (sends another range than requested), "whole" (ignores
the range), "corrupt" (changes the first byte), "ratelimit 2" (429 with a RateLimit header), "commit" (performs the
request, but answers 503; "commit 412" answers 412), "retry-after 2" (429 with Retry-After), "move" (makes another
commit of the repository first), "redirect" (302 to the CDN), "mistyped" (JSON with members of wrong types).

GET /fake/models/ORG/NAME returns {"main": COMMIT, "commits": {COMMIT: {PATH: SHA256}}} with the newest commits.

Tokens: hf_writer may write, hf_reader may read the private repositories; any other is rejected.
"""
import base64
import hashlib
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse

PORT, CDN_PORT, SEED, LOG, FAULTS = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
LARGE = (".safetensors", ".bin", ".parquet")
PAGE = 3
CHUNK = 1000  # bytes of a part of a multipart upload
TOKENS = {"hf_writer": "write", "hf_reader": "read"}
lock = threading.RLock()
repos, storage, parts, fault_counts = {}, {}, {}, {}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def is_large(path, data):
    return len(data) > 600 or path.endswith(LARGE)


class Repo:
    def __init__(self, private=False):
        self.branches, self.commits, self.settings = {}, {}, {"private": private}

    def commit(self, files, branch="main"):
        parent = self.branches.get(branch, "")
        text = parent + json.dumps({path: sha256(data) for path, data in sorted(files.items())})
        sha = hashlib.sha1(text.encode()).hexdigest()
        self.commits[sha], self.branches[branch] = files, sha
        for data in files.values():
            storage[sha256(data)] = data
        return sha

    def state(self):
        newest = list(self.commits.items())[-8:]
        return {"main": self.branches.get("main", ""),
                "commits": {sha: {path: sha256(data) for path, data in files.items()} for sha, files in newest}}

    def resolve(self, revision):
        revision = {**self.branches, **self.settings.get("tags", {})}.get(revision, revision)
        return revision if revision in self.commits else None


def read_seed():
    for kind in ("models", "datasets"):
        for folder, _, names in os.walk(os.path.join(SEED, kind)):
            parts_of = os.path.relpath(folder, os.path.join(SEED, kind)).split(os.sep)
            if len(parts_of) < 2:
                continue
            repo = repos.setdefault((kind, "/".join(parts_of[:2])), Repo())
            repo.fresh = getattr(repo, "fresh", {})
            for name in names:
                path = "/".join(parts_of[2:] + [name])
                with open(os.path.join(folder, name), "rb") as file:
                    data = file.read()
                if path == ".fake.json":
                    repo.settings = json.loads(data)
                else:
                    repo.fresh[path] = data
    for repo in repos.values():
        fresh = repo.__dict__.pop("fresh", None)
        if fresh is not None and fresh != getattr(repo, "seeded", None):
            repo.seeded = fresh
            repo.commit(dict(fresh))


def fault_for(line):
    try:
        with open(FAULTS) as file:
            faults = json.load(file)
    except (OSError, ValueError):
        return ""
    chosen = ""
    for number, fault in enumerate(faults):
        if re.search(fault["match"], line):
            key = (number, json.dumps(fault))
            count = fault_counts[key] = fault_counts.get(key, 0) + 1
            skip = fault.get("skip", 0)
            if skip < count <= skip + fault.get("times", 1):
                chosen = chosen or fault["do"]
    return chosen


def entry(path, data):
    out = {"type": "file", "path": path, "size": len(data), "oid": git_sha1(data)}
    if is_large(path, data):
        pointer = b"version https://git-lfs.github.com/spec/v1\n" + sha256(data).encode()
        out.update(oid=git_sha1(pointer), lfs={"oid": sha256(data), "size": len(data), "pointerSize": len(pointer)})
    return out


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # sends headers and body together
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def handle_one(self):
        name = "cdn" if self.server.server_port == CDN_PORT else "hub"
        size = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(size)
        self.fault = fault_for(f"{name} {self.command} {self.path}")
        if self.fault == "reset":
            self.note(name, 0)
            self.close_connection = True
            return
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query))
        if self.fault == "move":
            self.move_branch()
        parts_of = [urllib.parse.unquote(part) for part in url.path.strip("/").split("/")]
        if self.fault.startswith("status "):
            status, headers, body = int(self.fault[7:]), {}, b"{}"
        elif self.fault.startswith("retry-after "):
            status, headers, body = 429, {"Retry-After": self.fault[12:]}, b'{"error": "too many requests"}'
        elif self.fault == "redirect":
            status, headers, body = 302, {"Location": f"http://127.0.0.1:{CDN_PORT}/other"}, b""
        elif self.fault == "mistyped":
            status, headers, body = 200, {}, {"sha": 5, "files": 7, "objects": [{"oid": 1}], "commitOid": 3, "error": {}}
        elif self.fault.startswith("ratelimit "):
            status, body = 429, b'{"error": "too many requests"}'
            headers = {"RateLimit": f'"api";r=0;t={self.fault[10:]}'}
        else:
            with lock:
                status, headers, body = self.cdn(parts_of) if name == "cdn" else self.hub(parts_of)
            if self.fault.startswith("commit"):
                status, headers, body = int(self.fault[7:] or 503), {}, b"{}"
        self.note(name, status)
        self.reply(status, headers, body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_one

    def move_branch(self):
        with lock:
            read_seed()
            for (_, name), repo in repos.items():
                if f"/{name}/" in self.path:
                    files = dict(repo.commits[repo.branches["main"]])
                    repo.commit({**files, "moved.txt": str(len(repo.commits)).encode()})

    def note(self, name, status):
        auth = "yes" if self.headers.get("Authorization") else "no"
        span = self.headers.get("Range")
        with lock, open(LOG, "a") as log:
            log.write(f"{name} {self.command} {self.path} auth={auth} range={span} status={status}\n")

    def reply(self, status, headers, body):
        if isinstance(body, (dict, list)):
            body, headers = json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
        self.send_response(status)
        claimed, sent = len(body), body
        if self.fault.startswith("cut "):
            sent, self.close_connection = body[:int(self.fault[4:])], True
        if self.fault.startswith("short "):
            sent = body[:int(self.fault[6:])]
            claimed = len(sent)
        if self.fault == "corrupt" and body:
            sent = bytes([body[0] ^ 1]) + body[1:]
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(headers.get("X-Size", claimed) if self.command == "HEAD" else claimed))
        self.end_headers()
        if self.fault.startswith("stall "):
            self.wfile.write(body[:int(self.fault[6:])])
            self.wfile.flush()
            time.sleep(60)
        if self.command != "HEAD":
            self.wfile.write(sent)

    def refuse(self, status, code="", message=""):
        headers = {"X-Error-Code": code} if code else {}
        if message:
            headers["X-Error-Message"] = message
        return status, headers, {"error": message or code}

    def content(self, data, headers):
        """Returns the response for a GET of these bytes, which may be of a range."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if not wanted or self.fault == "whole":
            return 200, {**headers, "X-Size": len(data)}, data
        begin, end = int(wanted[1]), int(wanted[2] or len(data) - 1)
        if self.fault == "range":
            begin += 1
        if begin >= len(data):
            return 416, {"Content-Range": f"bytes */{len(data)}"}, b""
        piece = data[begin:end + 1]
        return 206, {**headers, "Content-Range": f"bytes {begin}-{begin + len(piece) - 1}/{len(data)}"}, piece

    # The CDN, and the storage of uploads.

    def cdn(self, at):
        if self.headers.get("Authorization"):
            return self.refuse(400, message="an Authorization header reached the CDN")
        if at[0] == "blob":
            return self.content(storage[at[1]], {"ETag": f'"{at[1]}"', "Accept-Ranges": "bytes"})
        if at[0] != "upload":
            return self.refuse(404)
        oid = at[1]
        if self.command == "PUT" and "part" in self.query:
            parts.setdefault(oid, {})[int(self.query["part"])] = self.body
            return 200, {"ETag": f'"{sha256(self.body)[:16]}"'}, b""
        if self.command == "PUT":
            if sha256(self.body) != oid:
                return self.refuse(400, message="checksum mismatch")
            storage[oid] = self.body
            return 200, {}, b""
        body = json.loads(self.body)  # completes a multipart upload
        data = b"".join(parts[oid][part["partNumber"]] for part in body["parts"])
        if sha256(data) != oid:
            return self.refuse(400, message="checksum mismatch")
        storage[oid] = data
        return 200, {}, {}

    # The Hub.

    def user(self):
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        return TOKENS.get(token, "bad") if token else "nobody"

    def hub(self, at):
        read_seed()
        if at[0] == "fake":
            repo = repos.get((at[1], "/".join(at[2:])))
            return 200, {}, repo.state() if repo else {"main": "", "commits": {}}
        if self.user() == "bad":
            return self.refuse(401, message="Invalid credentials in Authorization header")
        if at == ["api", "whoami-v2"]:
            if self.user() == "nobody":
                return self.refuse(401, message="Invalid username or password.")
            return 200, {}, {"name": "ada", "type": "user", "orgs": [{"name": "lab"}],
                             "auth": {"accessToken": {"displayName": "laptop", "role": self.user()}}}
        if at[:2] == ["api", "repos"]:
            return self.create(json.loads(self.body))
        if at == ["api", "validate-yaml"]:
            if "license: wrong" in json.loads(self.body)["content"]:
                return 400, {}, {"errors": [{"message": '"license" must be one of the known licenses'}]}
            return 200, {}, {"errors": [], "warnings": []}
        if at[:2] == ["api", "resolve-cache"]:
            repo = repos[(at[2], "/".join(at[3:5]))]
            data = repo.commits[at[5]]["/".join(at[6:])]
            return self.content(data, {"ETag": f'"{git_sha1(data)}"', "X-Repo-Commit": at[5]})
        if at[0] == "api" and at[1] in ("models", "datasets"):
            return self.with_repo(at[1], at[2:4], lambda repo: self.api(repo, at[2:4], at[4:]))
        if at[0] == "api":
            return self.refuse(404)
        kind = "datasets" if at[0] == "datasets" else "models"
        at = at[1:] if kind == "datasets" else at
        if at[1].endswith(".git") and at[2:] == ["info", "lfs", "objects", "batch"]:
            return self.lfs_batch(json.loads(self.body))
        if at[1].endswith(".git"):  # verification of an upload
            wanted = json.loads(self.body)
            found = storage.get(wanted["oid"])
            return (200, {}, {}) if found is not None and len(found) == wanted["size"] else self.refuse(404)
        return self.with_repo(kind, at[:2], lambda repo: self.file(repo, kind, at))

    def with_repo(self, kind, name, answer):
        repo = repos.get((kind, "/".join(name)))
        if repo and "moved_to" in repo.settings:
            return 307, {"Location": self.path.replace("/".join(name), repo.settings["moved_to"], 1)}, b""
        if not repo or (repo.settings.get("private") and self.user() == "nobody"):
            return self.refuse(401 if self.user() == "nobody" else 404, "RepoNotFound", "Repository not found")
        return answer(repo)

    def api(self, repo, name, rest):
        if not rest or rest[0] == "revision":
            sha = repo.resolve(rest[1] if rest else "main")
            if not sha:
                return self.refuse(404, "RevisionNotFound", "Invalid rev id")
            return 200, {}, {"id": "/".join(name), "sha": sha, "private": repo.settings.get("private", False),
                             "gated": "auto" if repo.settings.get("gated") else False, "tags": [],
                             "siblings": [{"rfilename": path} for path in sorted(repo.commits[sha])]}
        if rest[0] == "refs":
            return 200, {}, {"branches": [{"name": branch, "ref": f"refs/heads/{branch}", "targetCommit": sha}
                                          for branch, sha in repo.branches.items()],
                             "tags": [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": sha}
                                      for tag, sha in repo.settings.get("tags", {}).items()], "converts": []}
        if rest[0] == "tree":
            return self.tree(repo, rest)
        if rest[0] in ("preupload", "commit") and self.user() != "write":
            return self.refuse(403, message="You do not have write access to this repository")
        if rest[0] == "preupload":
            files = repo.commits[repo.branches["main"]]
            return 200, {}, {"files": [self.preupload(files, wanted) for wanted in json.loads(self.body)["files"]]}
        if rest[0] == "commit":
            return self.commit(repo, name)
        return self.refuse(404)

    def tree(self, repo, rest):
        sha = repo.resolve(rest[1])
        if not sha:
            return self.refuse(404, "RevisionNotFound", "Invalid rev id")
        prefix = "/".join(rest[2:]) + "/" if len(rest) > 2 else ""
        paths = [path for path in sorted(repo.commits[sha]) if path.startswith(prefix)]
        if prefix and not paths:
            return self.refuse(404, "EntryNotFound", "no such folder")
        if self.query.get("recursive") != "true":
            paths = [path for path in paths if "/" not in path[len(prefix):]]
        begin = int(self.query.get("cursor", 0))
        entries = [entry(path, repo.commits[sha][path]) for path in paths[begin:begin + PAGE]]
        headers = {}
        if begin + PAGE < len(paths):
            query = urllib.parse.urlencode({**self.query, "cursor": begin + PAGE})
            headers["Link"] = f'<http://127.0.0.1:{PORT}{self.path.split("?")[0]}?{query}>; rel="next"'
        return 200, headers, entries

    def file(self, repo, kind, at):
        name, path = "/".join(at[:2]), "/".join(at[4:])
        sha = repo.resolve(at[3])
        if not sha:
            return self.refuse(404, "RevisionNotFound", "Invalid rev id")
        if repo.settings.get("gated") and self.user() != "write":
            return self.refuse(403 if self.user() == "read" else 401, "GatedRepo", f"Access to {name} is restricted")
        if path not in repo.commits[sha]:
            return self.refuse(404, "EntryNotFound", "Entry not found")
        data = repo.commits[sha][path]
        if is_large(path, data):
            url = f"http://127.0.0.1:{CDN_PORT}/blob/{sha256(data)}?Signature=signed-secret"
            return 302, {"Location": url, "X-Repo-Commit": sha, "X-Linked-Etag": f'"{sha256(data)}"',
                         "X-Linked-Size": str(len(data))}, b""
        if repo.settings.get("private") or not data:
            return self.content(data, {"ETag": f'"{git_sha1(data)}"', "X-Repo-Commit": sha})
        place = urllib.parse.quote(f"/api/resolve-cache/{kind}/{name}/{sha}/{path}")
        return 307, {"Location": place, "X-Repo-Commit": sha, "ETag": f'"{git_sha1(data)}"',
                     "X-Linked-Size": str(len(data))}, b""

    # Uploads.

    def create(self, wanted):
        if self.user() != "write":
            return self.refuse(403, message="You do not have the rights to create a repository")
        name = f"{wanted.get('organization') or 'ada'}/{wanted['name']}"
        url = f"http://127.0.0.1:{PORT}/{name}"
        if ("models", name) in repos:
            return 409, {}, {"error": "You already created this model repo", "url": url}
        repos[("models", name)] = repo = Repo(wanted.get("visibility") == "private")
        repo.commit({".gitattributes": b"*.safetensors filter=lfs\n"})
        return 200, {}, {"url": url, "name": name}

    def preupload(self, files, wanted):
        sample = base64.b64decode(wanted["sample"])
        large = wanted["size"] > 600 or wanted["path"].endswith(LARGE) or b"\0" in sample
        out = {"path": wanted["path"], "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
        if wanted["path"] in files:
            data = files[wanted["path"]]
            out["oid"] = sha256(data) if large else git_sha1(data)
        return out

    def lfs_batch(self, wanted):
        if self.user() != "write":
            return self.refuse(403, message="You do not have write access to this repository")
        objects = []
        for item in wanted["objects"]:
            oid, out = item["oid"], {"oid": item["oid"], "size": item["size"]}
            objects.append(out)
            if oid in storage:
                continue
            upload = {"href": f"http://127.0.0.1:{CDN_PORT}/upload/{oid}"}
            if item["size"] > 2 * CHUNK:
                count = -(-item["size"] // CHUNK)
                upload["header"] = {"chunk_size": str(CHUNK), **{
                    str(part): f"{upload['href']}?part={part}&Signature=signed-secret" for part in range(1, count + 1)}}
            verify = {"href": f"http://127.0.0.1:{PORT}{self.path.replace('/objects/batch', '/verify')}"}
            out["actions"] = {"upload": upload, "verify": verify}
        return 200, {}, {"objects": objects, "transfer": "basic"}

    def commit(self, repo, name):
        lines = [json.loads(line) for line in self.body.decode().splitlines()]
        header, files = lines[0]["value"], dict(repo.commits[repo.branches["main"]])
        if header.get("parentCommit", repo.branches["main"]) != repo.branches["main"]:
            return self.refuse(412, message="A commit has happened since. Please refresh and try again.")
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = storage[value["oid"]]
            elif line["key"] == "deletedFile":
                files.pop(value["path"], None)
        sha = repo.commit(files)
        return 200, {}, {"commitOid": sha, "commitUrl": f"http://127.0.0.1:{PORT}/{'/'.join(name)}/commit/{sha}"}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


read_seed()
cdn = Server(("127.0.0.1", CDN_PORT), Handler)
hub = Server(("127.0.0.1", PORT), Handler)
threading.Thread(target=cdn.serve_forever, daemon=True).start()
hub.serve_forever()
