"""Golden hashes of BERT's training data, written by the original program.

    python tools/golden_pretraining_data.py FOLDER

FOLDER contains create_pretraining_data.py and tokenization.py of google-research/bert (commit eedf571). They run
unchanged: TensorFlow 2 takes the place of the TensorFlow 1 that they import, and protobuf's pure-Python runtime
serializes, because the C runtime's order of map entries changes from run to run.
Writes tests/golden/pretraining/vocab_{uncased,cased}.txt from the texts in the same folder, and
tests/golden/pretraining/hashes.json: for each case the flags and the SHA-256 of each output file and of the log of the
first examples.

Needs tensorflow-cpu.
"""
import collections
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                      "tests", "golden", "pretraining")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ENDINGS = ["##s", "##ed", "##er", "##ing", "##en", "##e", "##te", "##al", "##ый", "##ли"]
RUN = ("import runpy, sys, tensorflow.compat.v1 as tf; sys.modules['tensorflow'] = tf; "
       "runpy.run_path(sys.argv[0], run_name='__main__')")


def make_vocabulary(texts, lower_case):
    """Writes special tokens, some endings, and the letters (as starts and continuations) and words that occur twice."""
    text = "\n".join(texts)
    if lower_case:
        text = "".join(c for c in unicodedata.normalize("NFD", text.lower())
                       if unicodedata.category(c) != "Mn")
    letters = collections.Counter(c for c in text if not c.isspace() and c.isprintable())
    words = collections.Counter(re.findall(r"[^\W\d_]{2,}", text))
    kept = sorted(c for c, count in letters.items() if count >= 2)
    frequent = sorted(w for w, count in words.items() if count >= 2 and len(w) < 20)
    tokens = SPECIAL + kept + ["##" + c for c in kept if c.isalnum()] + ENDINGS + frequent
    return list(dict.fromkeys(tokens))


def cases():
    """Returns small inputs x (uncased, whole words, cased) x two seeds, and the defaults with several files."""
    sizes = {"english": (64, 10, 3), "languages": (32, 5, 4), "corners": (40, 6, 2)}
    for text, (length, predictions, dupes) in sizes.items():
        for kind in ("uncased", "whole_word", "cased"):
            for seed in (12345, 7):
                yield {"name": f"{text}_{kind}_{seed}", "inputs": [text + ".txt"],
                       "cased": kind == "cased", "whole_word_mask": kind == "whole_word",
                       "seq_length": length, "max_predictions": predictions, "dupe_factor": dupes,
                       "seed": seed, "masked_lm_prob": 0.15, "short_seq_prob": 0.1, "shards": 1}
    for seed in (12345, 20201):
        yield {"name": f"all_shards_{seed}", "inputs": ["english.txt", "corners.txt", "languages.txt"],
               "cased": False, "whole_word_mask": seed != 12345, "seq_length": 128,
               "max_predictions": 20, "dupe_factor": 10, "seed": seed, "masked_lm_prob": 0.15,
               "short_seq_prob": 0.1 if seed == 12345 else 0.5, "shards": 3}


def run_original(folder, case, work):
    outputs = [os.path.join(work, f"{i}.tfrecord") for i in range(case["shards"])]
    kind = "cased" if case["cased"] else "uncased"
    arguments = [
        "--input_file=" + ",".join(os.path.join(GOLDEN, name) for name in case["inputs"]),
        "--output_file=" + ",".join(outputs),
        "--vocab_file=" + os.path.join(GOLDEN, f"vocab_{kind}.txt"),
        f"--do_lower_case={not case['cased']}",
        f"--do_whole_word_mask={case['whole_word_mask']}",
        f"--max_seq_length={case['seq_length']}",
        f"--max_predictions_per_seq={case['max_predictions']}",
        f"--random_seed={case['seed']}",
        f"--dupe_factor={case['dupe_factor']}",
        f"--masked_lm_prob={case['masked_lm_prob']}",
        f"--short_seq_prob={case['short_seq_prob']}",
    ]
    program = os.path.join(folder, "create_pretraining_data.py")
    environment = dict(os.environ, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python",
                       TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=folder)
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.argv = sys.argv[1:]; {RUN}",
                           program, *arguments], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{case['name']}: {done.stderr}")
    instances = int(re.search(r"Wrote (\d+) total instances", done.stderr)[1])
    # The log of the first examples, without absl's date and source location.
    lines = re.findall(r"^I\d{4} .*?\] (.*)$", done.stderr, re.MULTILINE)
    log = "".join(line + "\n" for line in lines[lines.index("*** Example ***"):-1])
    case["log_sha256"] = hashlib.sha256(log.encode()).hexdigest()
    return instances, [hashlib.sha256(open(name, "rb").read()).hexdigest() for name in outputs]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    texts = []
    for name in ("english.txt", "languages.txt", "corners.txt"):
        with open(os.path.join(GOLDEN, name), encoding="utf-8", newline="") as file:
            texts.append(file.read())
    for kind in ("uncased", "cased"):
        with open(os.path.join(GOLDEN, f"vocab_{kind}.txt"), "w", encoding="utf-8") as file:
            file.writelines(token + "\n" for token in make_vocabulary(texts, kind == "uncased"))
    results = []
    for case in cases():
        with tempfile.TemporaryDirectory() as work:
            case["instances"], case["sha256"] = run_original(sys.argv[1], case, work)
        print(case["name"], case["instances"], case["sha256"][0][:16], flush=True)
        results.append(case)
    with open(os.path.join(GOLDEN, "hashes.json"), "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in results) + "\n]\n")


if __name__ == "__main__":
    main()
