"""hub_client.py ACTION …: reads and writes the fake Hub or the cache with Hugging Face's own client.

    file REPO PATH          prints the content of a file of a model
    snapshot REPO           prints the names of the files of a model, and checks that none is damaged
    offline REPO PATH       the same as file, without requests
    scan                    prints "REPO FILES WARNINGS" of each repository in the cache
"""
import os
import sys

os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
action, arguments = sys.argv[1], sys.argv[2:]
if action == "offline":
    os.environ["HF_HUB_OFFLINE"] = "1"

import huggingface_hub

if action in ("file", "offline"):
    with open(huggingface_hub.hf_hub_download(*arguments), "rb") as file:
        sys.stdout.buffer.write(file.read())
elif action == "snapshot":
    folder = huggingface_hub.snapshot_download(arguments[0])
    for parent, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(parent, name)
            print(os.path.relpath(path, folder), os.path.getsize(path))
elif action == "scan":
    found = huggingface_hub.scan_cache_dir()
    for repo in found.repos:
        print(repo.repo_id, repo.nb_files, len(found.warnings))
