"""Golden hashes of ELECTRA's training data, written by the original programs.

    python tools/golden_electra_data.py FOLDER

FOLDER contains build_pretraining_dataset.py, build_openwebtext_pretraining_dataset.py, model/ and util/ of
google-research/electra (commit 8a46635). They run unchanged with one process, except that random.seed(S) is called
first, folders are listed by name (the second program uses the order of the file system), and protobuf's pure-Python
runtime serializes, because the C runtime's order of map entries changes from run to run. Reads the texts and
vocabularies of tests/golden/pretraining, writes tests/golden/electra/openwebtext/*.xz from them, and writes
tests/golden/electra/hashes.json: for each case the flags, the number of examples, and the SHA-256 of the lines
"number SHA-256" of the 1000 files. tests/golden/electra/pretrain_data.tfrecord-* are three files of one case (AS_USED),
serialized by the C runtime as for the programs' users.

Needs tensorflow-cpu.
"""
import hashlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXTS = os.path.join(ROOT, "tests", "golden", "pretraining")
GOLDEN = os.path.join(ROOT, "tests", "golden", "electra")
INPUTS = ["english.txt", "languages.txt", "corners.txt"]
FILES = 1000
AS_USED = "cased_128_blanks_12345"
RUN = """
import random, runpy, sys
import tensorflow.compat.v1 as tf
seed, sys.argv = int(sys.argv[1]), sys.argv[2:]
listdir = tf.io.gfile.listdir
tf.io.gfile.listdir = lambda folder: sorted(listdir(folder))
random.seed(seed)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def cases():
    """Yields lengths x case and accents x blank lines, for one file and several; then OpenWebText's archives."""
    for length, inputs, kinds in ((16, INPUTS, ("uncased", "accents", "cased")), (64, INPUTS[:1], ("uncased",)),
                                  (128, INPUTS, ("cased",))):
        for kind in kinds:
            for blanks in (True, False):
                for seed in (12345, 7):
                    name = f"{kind}_{length}_{'blanks' if blanks else 'joined'}_{seed}"
                    yield {"name": name, "inputs": inputs, "cased": kind == "cased", "accents": kind == "accents",
                           "seq_length": length, "blanks": blanks, "seed": seed}
    for seed in (12345, 7):
        yield {"name": f"openwebtext_{seed}", "inputs": [], "cased": False, "accents": False, "seq_length": 24,
               "blanks": False, "seed": seed}


def make_archives():
    """Writes three archives of pieces of the texts, a file for every few lines, like OpenWebText's urlsf_subset*.xz."""
    folder = os.path.join(GOLDEN, "openwebtext")
    os.makedirs(folder, exist_ok=True)
    for number, text in enumerate(INPUTS):
        with open(os.path.join(TEXTS, text), "rb") as file:
            lines = file.read().split(b"\n")[:60]
        with tarfile.open(os.path.join(folder, f"urlsf_subset{number:02}_data.xz"), "w:xz") as archive:
            for first in reversed(range(0, len(lines), 7)):
                content = b"\n".join(lines[first:first + 7])
                info = tarfile.TarInfo(f"{number:07}-{first:04}.txt")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))


def command_of(folder, case, work):
    flags = [f"--max-seq-length={case['seq_length']}"]
    flags += ["--no-lower-case"] if case["cased"] else []
    flags += ["--no-strip-accents"] if case["accents"] else []
    vocab = os.path.join(TEXTS, "vocab_cased.txt" if case["cased"] else "vocab_uncased.txt")
    if not case["inputs"]:
        shutil.copytree(os.path.join(GOLDEN, "openwebtext"), os.path.join(work, "openwebtext"))
        shutil.copy(vocab, os.path.join(work, "vocab.txt"))
        return [os.path.join(folder, "build_openwebtext_pretraining_dataset.py"), f"--data-dir={work}", *flags]
    corpus = os.path.join(work, "corpus")
    os.makedirs(corpus)
    for name in case["inputs"]:
        shutil.copy(os.path.join(TEXTS, name), corpus)
    return [os.path.join(folder, "build_pretraining_dataset.py"), f"--corpus-dir={corpus}", f"--vocab-file={vocab}",
            f"--output-dir={os.path.join(work, 'pretrain_tfrecords')}",
            # the flag's parser takes any text for true
            *([] if case["blanks"] else ["--blanks-separate-docs="]), *flags]


def count_records(data):
    count = at = 0
    while at < len(data):
        at += 16 + struct.unpack_from("<Q", data, at)[0]
        count += 1
    return count


def file_name(number):
    return f"pretrain_data.tfrecord-{number}-of-{FILES}"


def run_original(folder, case, work, runtime="python"):
    environment = dict(os.environ, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=runtime, TF_CPP_MIN_LOG_LEVEL="3",
                       PYTHONPATH=folder)
    done = subprocess.run([sys.executable, "-c", RUN, str(case["seed"]), *command_of(folder, case, work)],
                          env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{case['name']}: {done.stderr}")


def take_hashes(case, work):
    lines = ""
    case["examples"] = 0
    for number in range(FILES):
        with open(os.path.join(work, "pretrain_tfrecords", file_name(number)), "rb") as file:
            data = file.read()
        case["examples"] += count_records(data)
        lines += f"{number} {hashlib.sha256(data).hexdigest()}\n"
    case["sha256"] = hashlib.sha256(lines.encode()).hexdigest()


def take_files_as_used(folder):
    with tempfile.TemporaryDirectory() as work:
        run_original(folder, next(case for case in cases() if case["name"] == AS_USED), work, runtime="upb")
        for number in range(3):
            shutil.copy(os.path.join(work, "pretrain_tfrecords", file_name(number)), GOLDEN)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = os.path.abspath(sys.argv[1])
    make_archives()
    take_files_as_used(folder)
    results = []
    for case in cases():
        with tempfile.TemporaryDirectory() as work:
            run_original(folder, case, work)
            take_hashes(case, work)
        print(case["name"], case["examples"], case["sha256"][:16], flush=True)
        results.append(case)
    with open(os.path.join(GOLDEN, "hashes.json"), "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in results) + "\n]\n")


if __name__ == "__main__":
    main()
