"""Paths of the test data, which tests/cli/commands/python_package_test.cpp writes, and a recipe."""
import json
import os
import subprocess
import sys

DATA = os.environ["SMELT_TEST_DATA"]
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDS = os.path.join(DATA, "a-*.tfrecord")


def model(name):
    """Returns the folder of a model: mask, classes, words, answers, text or replaced."""
    return os.path.join(DATA, name)


def embedding_model():
    """Returns the folder of a model of sentence-transformers, and its golden texts and embeddings."""
    folder = os.path.join(SOURCE, "tests", "golden", "sentence_transformers", "v3")
    with open(os.path.join(folder, "embeddings.json"), encoding="utf-8") as file:
        golden = json.load(file)
    return folder, golden["texts"], golden["embeddings"]


def vocabulary():
    """Writes a small vocabulary. Returns its path."""
    path = os.path.join(DATA, "small", "vocab.txt")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\ndog\n##s\nü\n.\n")
    return path


def recipe(name, steps=2):
    """Returns a recipe of a tiny BERT with the output folder DATA/name, which trains in about a second."""
    text = os.path.join(DATA, "text.txt")
    with open(text, "w", encoding="utf-8") as file:
        for i in range(12):
            file.write(f"the cat sees a dog and {i} birds\na dog likes the cat {i} times\nsome birds follow a small river\n\n")
    return {"out": os.path.join(DATA, name),
            "text": {"input": text, "sentences": "lines", "dedup": "none", "heldout": 0.3},
            "vocab": {"size": 60}, "data": {"seq_length": 16, "max_predictions": 3, "dupe_factor": 2},
            "model": {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
                      "max_position_embeddings": 16, "type_vocab_size": 2},
            "train": {"batch_size": 4, "steps": steps, "checkpoint.save_interval_steps": 1, "logging_steps": 1},
            "eval": {"batch_size": 2}}


def python(code, **options):
    """Runs Python code in a new process with the same environment. Returns the finished process."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **options)
