#!/usr/bin/env python3
"""Compares vocabulary types in ten languages and ten scripts: bits per character of a small BERT on held-out text.

For each language, takes real text from Debian's LibreOffice packages (`apt-get download`: the help if it is translated,
else the messages), trains one model with a recipe's default vocabulary settings and one with each type of vocabulary,
and prints the bits per character of the masked text. The default should be within 2 % of the best type.
Needs build/release/smelt (scripts/build) and a Debian machine with network.

  bench/languages.py --languages vi,th --types default,unigram
"""
import argparse
import gettext
import html
import json
import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Language -> Debian package, and the minimum share of non-ASCII letters in a paragraph (others are English).
LANGUAGES = {
    "vi": ("libreoffice-help-vi", 0.05),  # Latin with accents
    "uk": ("libreoffice-l10n-uk", 0.5),  # Cyrillic
    "ar": ("libreoffice-l10n-ar", 0.5),
    "hi": ("libreoffice-help-hi", 0.5),  # Devanagari
    "th": ("libreoffice-l10n-th", 0.5),
    "km": ("libreoffice-help-km", 0.5),  # Khmer
    "ko": ("libreoffice-help-ko", 0.5),  # Hangul
    "ja": ("libreoffice-help-ja", 0.5),  # Han and kana
    "zh": ("libreoffice-help-zh-cn", 0.5),  # Han
    "am": ("libreoffice-l10n-am", 0.5),  # Ethiopic
}
TYPES = {
    "default": [],  # auto, as `smelt new` writes it
    "wordpiece": ["vocab.type=wordpiece"],
    "unigram": ["vocab.type=unigram"],
    "bpe": ["vocab.type=bpe"],
    "byte_bpe": ["vocab.type=byte_bpe"],
}
RECIPE = """out: OUT
text: {input: INPUT, heldout: 0.1, sentences: lines}
vocab: {type: auto, size: SIZE}
data: {seq_length: 64, max_predictions: 10, dupe_factor: 2, next_sentence: false}
model: {type: bert, hidden_size: 128, num_hidden_layers: 2, num_attention_heads: 2, intermediate_size: 512,
  max_position_embeddings: 64, initializer_range: 0.05, hidden_dropout_prob: 0, attention_probs_dropout_prob: 0}
train: {batch_size: 32, steps: STEPS, optimizer.learning_rate: 1e-3, schedule.warmup_steps: 50, checkpoint.save_interval_steps: 100000, logging_steps: 100}
eval: {batch_size: 32}
"""


def paragraphs_of_help(folder):
    for page in sorted(folder.rglob("*.html")):
        body = page.read_text(encoding="utf-8", errors="ignore").split('id="DisplayArea"')[-1]
        for paragraph in re.findall(r"<(?:p|h\d|li|td)[ >].*?</(?:p|h\d|li|td)>", body, re.DOTALL):
            yield html.unescape(re.sub(r"<[^>]*>", "", paragraph))


def paragraphs_of_messages(folder):
    for catalogue in sorted(folder.rglob("*.mo")):
        with open(catalogue, "rb") as file:
            messages = gettext.GNUTranslations(file)._catalog
        for message in messages.values():
            yield re.sub(r"<[^>]*>|[~_$%][\w]*", "", str(message))


def is_of_language(paragraph, least):
    letters = [c for c in paragraph if unicodedata.category(c)[0] in "LM"]
    return len(letters) >= 10 and sum(c > "\x7f" for c in letters) >= least * len(letters)


def text_of(language, work, most_bytes):
    """Writes the language's text, without repeated paragraphs, and returns the path of its file."""
    package, least = LANGUAGES[language]
    out = work / f"{language}.txt"
    if out.exists():
        return out
    folder = work / package
    if not folder.exists():
        subprocess.run(["apt-get", "download", "-q", package], cwd=work, check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["dpkg-deb", "-x", next(work.glob(f"{package}_*.deb")), folder], check=True)
    paragraphs = paragraphs_of_help(folder) if "-help-" in package else paragraphs_of_messages(folder)
    seen, size = {}, 0
    for paragraph in paragraphs:
        paragraph = " ".join(paragraph.split(" ")).replace("\n", " ").strip()
        if paragraph not in seen and is_of_language(paragraph, least) and size < most_bytes:
            seen[paragraph] = None
            size += len(paragraph.encode())
    # Ten paragraphs make a document.
    lines = list(seen)
    out.write_text("\n\n".join("\n".join(lines[i : i + 10]) for i in range(0, len(lines), 10)) + "\n", encoding="utf-8")
    return out


def bits_of(smelt, language, kind, flags, work):
    out = work / f"{language}-{kind}"
    shutil.rmtree(out, ignore_errors=True)
    recipe = RECIPE.replace("OUT", str(out)).replace("INPUT", str(text_of(language, work, flags.bytes)))
    (work / "recipe.yaml").write_text(recipe.replace("SIZE", str(flags.size)).replace("STEPS", str(flags.steps)))
    command = [smelt, "run", str(work / "recipe.yaml"), "--json", "--quiet"]
    for setting in TYPES[kind]:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)} failed\n{done.stderr}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    metrics = [event["metrics"] for event in events if event.get("event") == "evaluation"][-1]
    return metrics["bits_per_character"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--languages", default=",".join(LANGUAGES))
    p.add_argument("--types", default=",".join(TYPES))
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--size", type=int, default=8000, help="size of a vocabulary")
    p.add_argument("--bytes", type=int, default=1_500_000, help="maximum size of a language's text")
    p.add_argument("--work", type=Path, default=Path("/tmp/smelt-languages"), help="folder for text and runs")
    p.add_argument("--smelt", default=str(ROOT / "build/release/smelt"), help="the program")
    flags = p.parse_args()
    flags.work.mkdir(parents=True, exist_ok=True)
    types = flags.types.split(",")
    print("language  " + "  ".join(f"{kind:>9}" for kind in types) + "  default / best")
    for language in flags.languages.split(","):
        bits = {kind: bits_of(flags.smelt, language, kind, flags, flags.work) for kind in types}
        ratio = f"{bits['default'] / min(bits.values()):.3f}" if "default" in bits else ""
        print(f"{language:<8}  " + "  ".join(f"{bits[kind]:9.3f}" for kind in types) + f"  {ratio}", flush=True)


if __name__ == "__main__":
    main()
