#!/usr/bin/env bash
# notebook_test.sh BUILD: executes the notebooks with a build, small models and little text. Every cell must run without an
# error and show what it promises. The Hub is tests/support/fake_hub.py.
. "$(dirname "$0")/lib.sh"
need_python_environment
export SMELT=$(realpath "$1")/smelt PYTHONPATH=$ROOT/python IPYTHONDIR=$WORK/ipython JUPYTER_RUNTIME_DIR=$WORK/runtime MPLCONFIGDIR=$WORK/plots
python=$ROOT/.venv-python/bin/python

# notebook NAME TEXT…: executes notebooks/NAME.ipynb in a folder of its own. The TEXTs must be in the output.
notebook() {
  mkdir -p "$WORK/$1"
  "$python" tests/scripts/run_notebook.py "notebooks/$1.ipynb" "$WORK/$1" "${@:2}" || fail "notebooks/$1.ipynb" "see above"
}

notebook first-model "Guess(token="
TEXT=$WORK/first-model/text.txt STEPS=20 OUT=bert notebook bert-colab-tpu "Guess(token=" "'finished'"
onnx=()
if [ -d .venv-oracle ]; then # the notebook's last cell needs packages that .venv-python does not have
  mkdir "$WORK/packages"
  ln -s "$ROOT"/.venv-oracle/lib/python3*/site-packages/{onnxruntime,tokenizers} "$WORK/packages"
  onnx=("ONNX: likes, smelt: likes")
fi
PYTHONPATH=$PYTHONPATH:$WORK/packages notebook compress-onnx "predictions are the same" "'form': 'onnx'" "${onnx[@]}"

mkdir "$WORK/seed"
read -r hub cdn < <("$python" -c 'import socket
ports = [socket.socket() for _ in range(2)]
for port in ports: port.bind(("127.0.0.1", 0))
print(*[port.getsockname()[1] for port in ports])')
python3 tests/support/fake_hub.py "$hub" "$cdn" "$WORK/seed" "$WORK/requests" "$WORK/faults" &
trap 'kill $!; rm -rf "$WORK"' EXIT
for _ in $(seq 100); do (: </dev/tcp/127.0.0.1/"$hub") 2>/dev/null && break; sleep 0.1; done
export HF_ENDPOINT=http://127.0.0.1:$hub HF_HOME=$WORK/home HF_TOKEN=hf_writer
mkdir -p "$WORK/seed/models/lab/tiny-bert"
cp "$WORK"/first-model/my-bert/huggingface/* "$WORK/seed/models/lab/tiny-bert"
BASE_MODEL=lab/tiny-bert TARGET_REPO=lab/classifier STEPS=20 notebook continue-finetune-push "Pushed(url=" "hf://lab/classifier@" "'sees'"
grep -q 'cdn .*auth=yes' "$WORK/requests" && fail "a token reached the CDN" "$(grep cdn "$WORK/requests")"
echo "the notebooks run"
