#!/usr/bin/env python3
"""wheel_sizes.py LOCK…: prints "name version bytes bytes" for each package of the lock files: the download size of its
wheel for Linux on x86_64, and the size of the files in it. Reads only the wheels' tables of contents."""
import io
import json
import re
import sys
import urllib.request
import zipfile

INDEX = "https://pypi.org/simple/"
PIN = re.compile(r"^([a-z0-9-]+)==([^ ;]+)", re.M)
# the Python version that smelt setup passes to pip
WHEEL = re.compile(r"-(py3-none|cp311-cp311)-manylinux[^-]*x86_64\.whl$")


def fetch(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
        return answer.read()


class Remote(io.RawIOBase):
    """A seekable file at a URL that fetches only the byte ranges it reads."""

    def __init__(self, url, size):
        self.url, self.size, self.at = url, size, 0

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=io.SEEK_SET):
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def readinto(self, buffer):
        end = min(self.at + len(buffer), self.size)
        if end <= self.at:
            return 0
        part = fetch(self.url, Range=f"bytes={self.at}-{end - 1}")
        buffer[: len(part)] = part
        self.at += len(part)
        return len(part)


def sizes(name, version):
    page = json.loads(fetch(f"{INDEX}{name}/", Accept="application/vnd.pypi.simple.v1+json"))
    prefix = f"{name.replace('-', '_')}-{version}-"
    wheels = [f for f in page["files"] if f["filename"].startswith(prefix) and WHEEL.search(f["filename"])]
    if len(wheels) != 1:
        sys.exit(f"wheel_sizes: {name} {version} has {len(wheels)} wheels for Linux on x86_64, not 1")
    size = wheels[0]["size"]
    remote = io.BufferedReader(Remote(wheels[0]["url"], size), 1 << 16)
    return size, sum(member.file_size for member in zipfile.ZipFile(remote).infolist())


if __name__ == "__main__":
    for lock in sys.argv[1:]:
        with open(lock) as text:
            for name, version in PIN.findall(text.read()):
                print(name, version, *sizes(name, version))
