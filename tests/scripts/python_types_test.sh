#!/usr/bin/env bash
# python_types_test.sh: checks the types of the Python package with mypy --strict, and those that a user's program sees.
. "$(dirname "$0")/lib.sh"
need_python_environment

mypy() { MYPYPATH=$ROOT/python "$ROOT/.venv-python/bin/mypy" --strict --cache-dir "$WORK/cache" "$@" 2>&1; }
said=$(mypy python/smelt_lm) || fail "python/smelt_lm" "$said"
cat >"$WORK/user.py" <<'PYTHON'
import smelt_lm
from smelt_lm import Model, Prediction

model = Model.load("folder")
one: Prediction = model.classify("a text")
several: list[Prediction] = model.classify(["a text", "another"])
smelt_lm.run("my.yaml", {"train.steps": 3}, on_event=lambda event: print(event["event"]))
PYTHON
said=$(mypy "$WORK/user.py") || fail "a user's program" "$said"
printf 'from smelt_lm import Model\nwrong: int = Model.load("folder").classify("a text")\n' >"$WORK/wrong.py"
said=$(mypy "$WORK/wrong.py") && fail "a wrong type is accepted" "$said"
echo "types are correct"
