"""Executes a notebook in a folder: run_notebook.py NOTEBOOK FOLDER. Fails if a cell fails or if text or plot are missing."""
import sys

import nbformat
from nbclient import NotebookClient

path, folder = sys.argv[1:]
notebook = nbformat.read(path, as_version=4)
nbformat.validate(notebook)
if any(cell.get("outputs") for cell in notebook.cells):
    sys.exit(f"{path} is stored with outputs; clear them")
# The tests' own Python is the kernel; the machine's list of kernels does not matter.
NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
kinds = {kind for output in shown for kind in output.get("data", {})}
text = "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in shown)
if "image/png" not in kinds or "Guess(token=" not in text:
    sys.exit(f"no plot or no guesses: {kinds}, {text[-1000:]}")
