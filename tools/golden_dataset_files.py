#!/usr/bin/env python3
"""Writes tests/golden/dataset_files.json: the files of each split by the `datasets` library.

    python3 -m venv env && env/bin/pip install datasets
    env/bin/python tools/golden_dataset_files.py tests/golden/dataset_files.json

Each case has the paths of a dataset, its README.md and the files of each split that the library finds.
"""
import json
import os
import sys
import tempfile

import datasets
from datasets.load import dataset_module_factory

CASES = [
    (["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/test-00000-of-00001.parquet"], ""),
    (["train.jsonl", "dev.jsonl", "test.jsonl"], ""),
    (["my_training_set.csv", "my_valid.csv", "trainer.csv"], ""),
    (["train/a.txt", "train/b.txt", "test/c.txt"], ""),
    (["deep/train/x/a.txt", "deep/validation/b.txt"], ""),
    (["a.txt", "b.txt", "sub/c.txt"], ""),
    (["a.csv", "b.parquet", "c.csv"], ""),
    (["a.csv", "b.parquet"], ""),
    (["a.jsonl.gz", "b.jsonl.gz", "notes.md"], ""),
    ([".hidden/train.txt", "__pycache__/train.txt", "x.txt"], ""),
    (["en/a.jsonl", "de/b.jsonl"],
     "---\nconfigs:\n- config_name: en\n  data_files: en/*.jsonl\n- config_name: de\n  data_files: de/*.jsonl\n"
     "  default: true\n---\n# x\n"),
    (["first.csv", "second.csv", "held.csv"],
     "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path:\n    - first.csv\n"
     "    - second.csv\n  - split: test\n    path: held.csv\n---\n"),
    (["part/train.txt", "part/test.txt", "other/train.txt"],
     "---\nconfigs:\n- config_name: default\n  data_dir: part\n---\n"),
    (["a/b/x.parquet", "a/y.parquet", "z.parquet"],
     "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: a/**\n---\n"),
]


def files_of_splits(paths, readme):
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as file:
                file.write("x\n")
        if readme:
            with open(os.path.join(folder, "README.md"), "w") as file:
                file.write(readme)
        module = dataset_module_factory(folder)
        configs = module.builder_configs_parameters.builder_configs
        config = module.builder_configs_parameters.default_config_name
        chosen = next((c for c in configs if c.name == config), configs[0])
        base, files = os.path.realpath(folder), chosen.data_files
        if hasattr(files, "resolve"):  # patterns
            files = files.resolve(os.path.join(base, chosen.data_dir or ""), datasets.DownloadConfig())
        return {split: sorted(os.path.relpath(os.path.realpath(path), base) for path in files.get(split, []))
                for split in ("train", "validation", "test")}


cases = [{"paths": paths, "readme": readme, **files_of_splits(paths, readme)} for paths, readme in CASES]
with open(sys.argv[1], "w") as out:
    json.dump({"datasets": datasets.__version__, "cases": cases}, out, indent=1)
    out.write("\n")
for case in cases:
    print(case["train"], case["validation"], case["test"])
