"""Labelled rows and a model with nearly random weights, for the benchmarks of fine-tuning."""
import json
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = {  # hidden, layers, heads, intermediate
    "tiny": (128, 2, 2, 512),
    "base": (768, 12, 12, 3072),
}


def smelt(program, *words):
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    return done.stdout


def rows(count, longest=120, seed=1):
    """Yields texts of words from docs/ with labels. Most texts are short; they have slightly more tokens than words."""
    draw = random.Random(seed)
    words = [word for path in sorted((ROOT / "docs").rglob("*.md")) for word in path.read_text().split() if word.isalpha()]
    for i in range(count):
        length = min(longest, max(4, int(draw.lognormvariate(2.7, 0.8))))
        at = draw.randrange(len(words) - length)
        yield " ".join(words[at:at + length]), "even" if i % 2 == 0 else "odd"


def write_rows(path, count, **how):
    path.write_text("label\ttext\n" + "".join(f"{label}\t{text}\n" for text, label in rows(count, **how)))


def encoder(program, size, folder):
    """Writes a Hugging Face folder with a BERT without dropout and with nearly random weights."""
    hidden, layers, heads, inner = SIZES[size]
    text = folder / "text.txt"
    text.write_text("\n\n".join(path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))))
    recipe = {
        "out": str(folder / "pretrained"), "text": {"input": str(text), "heldout": 0.2}, "vocab": {"size": 6000},
        "data": {"seq_length": 128, "dupe_factor": 1},
        "model": {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
                  "intermediate_size": inner, "max_position_embeddings": 128,
                  "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0},
        "train": {"batch_size": 1, "steps": 1, "optimizer": {"learning_rate": 1e-9}}, "eval": {"batch_size": 1, "steps": 1}}
    (folder / "pretrained.yaml").write_text(json.dumps(recipe))
    smelt(program, "run", folder / "pretrained.yaml")
    return folder / "pretrained/huggingface"


def recipe(folder, base, train, steps, /, **sections):
    """Returns a recipe of a classifier for the rows' labels; `sections` extend it."""
    out = {
        "out": str(folder), "data": {"train": str(train), "seq_length": 128}, "model": {"type": "classify", "dropout": 0},
        "train": {"init_from": str(base), "batch_size": 32, "steps": steps, "optimizer": {"learning_rate": 1e-5}, "checkpoint": {"save_interval_steps": 10**6}},
        "eval": {"batch_size": 32}}
    for name, fields in sections.items():
        out[name] = out[name] | fields
    return json.dumps(out)
