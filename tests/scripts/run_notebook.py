"""Executes a notebook in a folder: run_notebook.py NOTEBOOK FOLDER TEXT… Fails if a cell fails, if no plot is shown where
the notebook has one, or if a TEXT is not in the output."""
import sys

import nbformat
from nbclient import NotebookClient

path, folder, *texts = sys.argv[1:]
notebook = nbformat.read(path, as_version=4)
nbformat.validate(notebook)
if any(cell.get("outputs") for cell in notebook.cells):
    sys.exit(f"{path} is stored with outputs; clear them")
# The tests' own Python is the kernel; the machine's list of kernels does not matter.
NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
kinds = {kind for output in shown for kind in output.get("data", {})}
printed = "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in shown)
if any(".plot(" in cell.source for cell in notebook.cells) and "image/png" not in kinds:
    sys.exit(f"no plot: {kinds}")
for text in texts:
    if text not in printed:
        sys.exit(f"'{text}' is not in the output: {printed[-3000:]}")
