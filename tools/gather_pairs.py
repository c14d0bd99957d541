#!/usr/bin/env python3
"""Gathers pairs of a title and the text below it from a machine's documentation, to train embeddings.

Writes JSONL with the fields anchor and positive: the one-line description of a manual page and the beginning of its
DESCRIPTION, or a heading of a document and the first paragraph of prose below it. Each title occurs once, and so does
each text. Reads only files below the given roots, with the rules of gather_prose.py.
"""
import argparse
import json
import pathlib
import re
import sys

from gather_prose import MANUAL, candidates, from_markup, from_roff, paragraphs, read_text

MOST_WORDS = 60  # of a text


def of_manual(text):
    """Returns the description in the section NAME and the first paragraph of DESCRIPTION."""
    name = re.search(r"^\.SH +\"?NAME\"?\s*\n(.*?)(?=^\.SH)", text, re.MULTILINE | re.DOTALL)
    body = re.search(r"^\.SH +\"?DESCRIPTION\"?\s*\n(.*?)(?=^\.SH|\Z)", text, re.MULTILINE | re.DOTALL)
    if not name or not body:
        return
    title = re.sub(r"\s+", " ", from_roff(name.group(1))).strip()
    parts = re.split(r"\s+-+\s+", title, maxsplit=1)
    for paragraph in paragraphs(from_roff(body.group(1))):
        if len(parts) == 2:
            yield parts[1], paragraph
        return


def of_document(text):
    """Returns each heading of a Markdown or reStructuredText document with the first paragraph below it."""
    text = re.sub(r"^(\S[^\n]*)\n([=\-~^\"'])\2{2,}\s*$", r"## \1", text, flags=re.MULTILINE)
    blocks = re.split(r"^#{1,4} +(.+)$", text, flags=re.MULTILINE)
    for title, body in zip(blocks[1::2], blocks[2::2]):
        for paragraph in paragraphs(from_markup(body)):
            yield title, paragraph
            break


def pairs_of(path):
    text = read_text(path)
    name = path.name.removesuffix(".gz")
    return list(of_manual(text) if MANUAL.search(name) and "man" in path.parts else of_document(text))


def is_title(title):
    words = title.split()
    return 3 <= len(words) <= 16 and sum(c.isalpha() or c == " " for c in title) >= 0.8 * len(title)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="JSONL file to write")
    parser.add_argument("--limit", type=int, default=12000, help="maximum number of pairs")
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    seen, count = set(), 0
    with open(args.out, "w", encoding="utf-8") as out:
        for path in (path for root in args.roots if root.is_dir() for path in candidates(root)):
            if count >= args.limit:
                break
            try:
                found = pairs_of(path)
            except (OSError, UnicodeDecodeError, EOFError):
                continue
            for title, text in found:
                title, text = title.strip(" .*`"), " ".join(text.split()[:MOST_WORDS])
                keys = {title.lower(), text.lower()}
                if not is_title(title) or keys & seen:
                    continue
                seen |= keys
                count += 1
                out.write(json.dumps({"anchor": title, "positive": text}, ensure_ascii=False) + "\n")
    print(f"{count} pairs")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
