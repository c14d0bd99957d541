#!/usr/bin/env python3
"""Checks the documentation's sources; run from the root of the source tree.

Fails if a path such as docs/guides/text.md in any file of the tree names a page that does not exist, or if a line of a page
has more than 100 characters. Tables, code blocks and lines of one long word (a link) may be longer.
"""
import pathlib
import re
import subprocess
import sys

PATH = re.compile(r"(?<![\w/.-])docs/[\w/.-]+\.md")
WIDTH = 100


def tracked_files():
    names = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    return [pathlib.Path(name) for name in names.split("\0") if name]


def missing_pages(path):
    """Messages about pages that the file names and the tree does not have."""
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
    """Messages about lines that are too long to read in a terminal."""
    found, fence = [], False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and len(line) > WIDTH and not line.startswith(("|", "    ")) and " " in line.strip()[:WIDTH]:
            found.append(f"{path}:{number}: {len(line)} characters; wrap the line at {WIDTH}")
    return found


def main():
    messages = []
    for path in tracked_files():
        if not path.is_file() or path.is_symlink():
            continue
        messages += missing_pages(path)
        if path.suffix == ".md" and path.parts[0] == "docs":
            messages += long_lines(path)
    print("\n".join(messages), file=sys.stderr)
    return bool(messages)


if __name__ == "__main__":
    sys.exit(main())
