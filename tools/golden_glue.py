#!/usr/bin/env python3
"""Golden examples of GLUE's tasks as google-research/electra reads them.

    git clone https://github.com/google-research/electra && git -C electra checkout 8a46635
    python tools/golden_glue.py electra

Writes synthetic files in the format of each task and reads them with the original's classes. tests/golden/glue.json
contains the texts of the files and, for each split, the examples that the original reads: text, second text, label. The
files also contain rows that it cannot read. The original lacks WNLI, which is read by its class for RTE, because the
format is the same.

Needs tensorflow-cpu and scipy.
"""
import json
import os
import sys
import tempfile
import types
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, sys.argv[1])
# Stubs of modules that are needed only by the original's metrics and model.
sys.modules["sklearn"] = types.ModuleType("sklearn")
contrib = sys.modules["tensorflow.contrib"] = types.ModuleType("tensorflow.contrib")
contrib.layers = types.ModuleType("tensorflow.contrib.layers")

from finetune.classification import classification_tasks as tasks  # noqa: E402

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
PLAIN = ["A cat sat.", 'He said "no".', '"Quoted', "naïve  東京 ", "x's y"]


def row(*cells):
    return "\t".join(cells)


def pairs_of(header, before, labels, after=(), behind=()):
    """Returns a table with `before` columns, two texts, `after` columns and the label."""
    rows = [header]
    for i in range(6):
        rows.append(row(*[f"{name}{i}" for name in before], PLAIN[i % 5], PLAIN[(2 * i + 1) % 5], *[f"{name}{i}" for name in after],
                        labels[i % len(labels)]))
    return rows + list(behind)


def mnli(split):
    of = ["index", "promptID", "pairID", "genre", "sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse", "sentence2_parse"]
    voters = ["label1"] if split == "train" else [f"label{i}" for i in range(1, 6)]
    return pairs_of(row(*of, "sentence1", "sentence2", *voters, "gold_label"), of, ["neutral", "entailment", "contradiction"], voters, ["", "a\tb"])


def labelled_first(split):
    rows = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    return rows + [row(str(i % 2), f"{i}", f"{i + 9}", PLAIN[i % 5], PLAIN[(i + 2) % 5]) for i in range(5)] + ["1\t2\t3\tonly one"]


def sts(split):
    of = ["index", "genre", "filename", "year", "old_index", "source1", "source2"]
    header = row(*of, "sentence1", "sentence2", "score")
    return pairs_of(header, of, ["5.000", "0.0", "3.25", "4"], behind=["more\tthan\t" + row(*of, "one", "two", "2.5"), "1\t2"])


def of_three(labels, second="sentence2", first="sentence1"):
    return lambda split: pairs_of(row("index", first, second, "label"), ["index"], labels, behind=["7\tshort"])


def qqp(split):
    of = ["id", "qid", "qid"]
    return pairs_of(row("id", "qid1", "qid2", "question1", "question2", "is_duplicate"), of, ["0", "1"], behind=["1\t2\t3\tcut off", "4\t5\t6\ta\tb\t1\textra"])


def cola(split):
    return [row("gj04", str(i % 2), "" if i % 2 else "*", PLAIN[i % 5]) for i in range(5)] + ["gj04\t1"]


def sst(split):
    return ["sentence\tlabel"] + [row(PLAIN[i % 5].strip() + " ", str(i % 2)) for i in range(5)] + ["no label"]


FORMS = {"cola": ("CoLA", tasks.CoLA, cola), "sst": ("SST-2", tasks.SST, sst), "mrpc": ("MRPC", tasks.MRPC, labelled_first), "qqp": ("QQP", tasks.QQP, qqp),
         "sts": ("STS-B", tasks.STS, sts), "mnli": ("MNLI", tasks.MNLI, mnli),
         "qnli": ("QNLI", tasks.QNLI, of_three(["entailment", "not_entailment"], "sentence", "question")),
         "rte": ("RTE", tasks.RTE, of_three(["not_entailment", "entailment"])), "wnli": ("WNLI", tasks.RTE, of_three(["0", "1"]))}


def main():
    facts = {"made_by": "tools/golden_glue.py", "tasks": {}}
    with tempfile.TemporaryDirectory() as folder:
        config = types.SimpleNamespace(raw_data_dir=lambda name: os.path.join(folder, FORMS[name][0]), debug=False, double_unordered=True)
        for name, (upper, task, form) in FORMS.items():
            splits = {"train": "train", "dev": "dev_matched", "dev_mismatched": "dev_mismatched"} if name == "mnli" else {"train": "train", "dev": "dev"}
            os.makedirs(os.path.join(folder, upper))
            reader = task(config, None)
            reader.name = name
            fact = {"folder": upper, "files": {}, "examples": {}}
            for split, file in splits.items():
                text = "\n".join(form(split)) + "\n"
                Path(folder, upper, file + ".tsv").write_text(text)
                fact["files"][file + ".tsv"] = text
                fact["examples"][file] = [[e.text_a, e.text_b, e.label] for e in reader.get_examples(split)]
            facts["tasks"][name] = fact
    (GOLDEN / "glue.json").write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n")


main()
