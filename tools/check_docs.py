#!/usr/bin/env python3
"""Checks the documentation's sources.

Fails if any file of the source tree mentions a page, such as docs/guides/text.md, that does not exist, or if a line of
a page has more than 100 characters. Tables, code blocks and lines with a link to another site may be longer.
"""
import os
import pathlib
import re
import sys

PATH = re.compile(r"(?<![\w/.-])docs/[a-z0-9/_-]+\.md")
WIDTH = 100


FOLDERS = ("src", "tests", "docs", "tools", "scripts", "bench", "recipes", "cmake", "requirements")


def source_files():
    """Returns the files of the source tree, without build outputs."""
    files = [path for path in pathlib.Path(".").iterdir() if path.is_file()]
    for folder in FOLDERS:
        files += [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return sorted(files)


def missing_pages(path):
    """Returns messages about pages that the file mentions but that do not exist."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    return [
        f"{path}: names {name}, which does not exist"
        for name in sorted(set(PATH.findall(text)))
        if not pathlib.Path(name).is_file()
    ]


def long_lines(path):
    """Returns messages about lines that are too long."""
    found, fence = [], False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and len(line) > WIDTH and not line.startswith(("|", "    ")) and "](http" not in line:
            found.append(f"{path}:{number}: {len(line)} characters; wrap the line at {WIDTH}")
    return found


def main():
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    messages = []
    for path in source_files():
        messages += missing_pages(path)
        if path.suffix == ".md" and path.parts[0] == "docs":
            messages += long_lines(path)
    print("\n".join(messages), file=sys.stderr)
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())
