#!/usr/bin/env bash
# notebook_test.sh BUILD: executes notebooks/first-model.ipynb with a build. Every cell must run without an error, and the
# last ones must show a filled mask and a plot.
. "$(dirname "$0")/lib.sh"
need_python_environment
export SMELT=$(realpath "$1")/smelt PYTHONPATH=$ROOT/python IPYTHONDIR=$WORK/ipython JUPYTER_RUNTIME_DIR=$WORK/runtime MPLCONFIGDIR=$WORK/plots
"$ROOT/.venv-python/bin/python" tests/scripts/run_notebook.py notebooks/first-model.ipynb "$WORK" || fail "the notebook" "see above"
echo "the notebook runs"
