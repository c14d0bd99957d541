"""Training operations of each ELECTRA model as the original counts them, for tests/cli/commands/electra_flops_test.cpp.

    python tools/golden_electra_flops.py FOLDER

FOLDER contains flops_computation.py of google-research/electra (commit 8a46635), which runs unchanged. Writes
tests/golden/electra/flops.txt with a line "model operations" for each model.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(sys.argv[1], "flops_computation.py")
TABLE = subprocess.run([sys.executable, PROGRAM], check=True, capture_output=True, text=True).stdout
with open(os.path.join(ROOT, "tests", "golden", "electra", "flops.txt"), "w") as out:
    out.write(TABLE)
