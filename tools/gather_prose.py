#!/usr/bin/env python3
"""Gathers English prose from a Debian machine: manuals, licences, package documentation.

Writes plain text with a blank line between paragraphs, one file per source folder, and prints the amount. --labelled
also writes a TSV of paragraphs labelled with their package (or section of the manual), to train a classifier. Reads
only files below the given roots. Simple rules remove markup, and a paragraph is kept only if it reads like prose
(mostly letters, common English words, complete sentences).
"""
import argparse
import gzip
import hashlib
import html
import pathlib
import re
import sys

COMMON = {"the", "of", "and", "to", "a", "in", "is", "that", "for", "it", "be", "this", "are", "or", "you", "with"}
SUFFIXES = {".txt", ".md", ".rst", ".pod", ".html", ".info"}
NAMES = re.compile(r"^(README|NEWS|copyright|TODO|FAQ|INSTALL|HACKING|AUTHORS|Apache|Artistic|BSD|GFDL|GPL|LGPL|MPL|CC0)",
                   re.IGNORECASE)
MANUAL = re.compile(r"\.[1-8][a-z]*$")


def read_text(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return data.decode("utf-8")


def from_roff(text):
    """Converts manual pages: a macro line ends or continues a paragraph; font and character escapes are removed."""
    text = re.sub(r"\\f[A-Z]|\\f\(..|\\f\[[^]]*\]|\\s[-+]?\d|\\[&|^c/,]", "", text)
    text = re.sub(r"\\\((?:aq|cq|oq)", "'", re.sub(r"\\\((?:lq|rq|dq)", '"', text))
    text = text.replace("\\-", "-").replace("\\e", "\\").replace("\\ ", " ").replace("\\(em", " - ")
    lines = []
    for line in text.splitlines():
        if re.match(r"[.']\s*(?:B|I|BR|RB|IR|RI|BI|IB|SM|SB)\s", line):
            lines.append(re.sub(r"^[.']\s*\w+\s+", "", line).replace('"', ""))
        elif line[:1] in ".'":
            lines.append("")
        else:
            lines.append(line)
    return "\n".join(lines)


def from_pod(text):
    text = re.sub(r"[A-Z]<+\s?([^<>|]*?)(?:\|[^<>]*)?\s?>+", r"\1", text)
    return "\n".join("" if line[:1] in "= \t" else line for line in text.splitlines())


def from_html(text):
    text = re.sub(r"(?s)<(script|style|pre|head)\b.*?</\1>", " ", text)
    text = re.sub(r"</?(p|div|li|h\d|td|tr|dd|dt|br|ul|ol|table|section)\b[^>]*>", "\n\n", text)
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def from_markup(text):
    text = re.sub(r":\w+:`~?([^`<]*?)(?:\s*<[^`]*>)?`", r"\1", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    text = text.replace("``", "").replace("**", "").replace("`", "")
    return "\n".join("" if line.startswith(("    ", "\t", "|", "#", "..")) else line
                     for line in text.splitlines())


def plain(path, text):
    name = path.name.removesuffix(".gz")
    if "<html" in text[:2000].lower():
        return from_html(text)
    if MANUAL.search(name) and "man" in path.parts:
        return from_roff(text)
    suffix = pathlib.Path(name).suffix
    if suffix == ".pod":
        return from_pod(text)
    return from_markup(text) if suffix in (".md", ".rst") else text


def reads_like_prose(paragraph):
    words = paragraph.split()
    if len(words) < 8 or paragraph[-1] not in ".!?:)\"'":
        return False
    letters = sum(c.isalpha() or c == " " for c in paragraph)
    return letters >= 0.88 * len(paragraph) and sum(w.lower() in COMMON for w in words) >= len(words) / 9


def paragraphs(text):
    for block in re.split(r"\n\s*\n", text):
        paragraph = " ".join(line.strip(" \t*#%;/|") for line in block.splitlines()).strip()
        paragraph = re.sub(r"\s+", " ", paragraph)
        if paragraph and reads_like_prose(paragraph):
            yield paragraph


def candidates(root):
    for path in sorted(root.rglob("*")):
        name = path.name.removesuffix(".gz")
        if not (pathlib.Path(name).suffix in SUFFIXES or NAMES.match(name) or MANUAL.search(name)):
            continue
        if "changelog" in name.lower() or path.is_symlink() or not path.is_file():
            continue
        translated = "man" in path.parts and not path.parent.name.startswith("man")
        if not translated and path.stat().st_size < 4_000_000:
            yield path


MOST_OF_LABEL, LEAST_OF_LABEL, MOST_LABELS = 400, 200, 12


def label_of(root, path):
    """Returns the label of a file: the root's name and the folder below the root, such as doc/bash."""
    return f"{root.name}/{path.relative_to(root).parts[0]}"


def write_labelled(out, labelled):
    """Writes paragraphs of the most frequent labels, at most MOST_OF_LABEL of each, taken evenly from all files."""
    largest = sorted(labelled, key=lambda label: -len(labelled[label]))[:MOST_LABELS]
    with open(out, "w", encoding="utf-8") as file:
        file.write("text\tlabel\n")
        for label in sorted(largest):
            all_of_it = labelled[label]
            if len(all_of_it) < LEAST_OF_LABEL:
                continue
            step = max(1, len(all_of_it) // MOST_OF_LABEL)
            for paragraph in all_of_it[::step][:MOST_OF_LABEL]:
                file.write(f"{paragraph}\t{label}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for the text files")
    parser.add_argument("--limit-mb", type=float, default=24, help="stop after this amount of text")
    parser.add_argument("--labelled", type=pathlib.Path, help="TSV file for paragraphs labelled with their package")
    args = parser.parse_args()
    labelled = {}
    args.out.mkdir(parents=True, exist_ok=True)
    seen, total, files = set(), 0, 0
    for number, root in enumerate(root for root in args.roots if root.is_dir()):
        with open(args.out / f"{number:02d}-{root.name}.txt", "w", encoding="utf-8") as out:
            for path in candidates(root):
                if total >= args.limit_mb * 1e6:
                    break
                try:
                    text = plain(path, read_text(path))
                except (OSError, UnicodeDecodeError, EOFError):
                    continue
                fresh = []
                for paragraph in paragraphs(text):
                    digest = hashlib.md5(paragraph.lower().encode()).digest()
                    if digest not in seen:
                        seen.add(digest)
                        fresh.append(paragraph)
                if fresh:
                    block = "\n\n".join(fresh) + "\n\n"
                    total += len(block.encode())
                    files += 1
                    out.write(block)
                    labelled.setdefault(label_of(root, path), []).extend(fresh)
    if args.labelled:
        write_labelled(args.labelled, labelled)
    print(f"{total / 1e6:.1f} MB of prose from {files} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
