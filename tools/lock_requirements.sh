#!/usr/bin/env bash
# Writes requirements/*.lock from requirements/*.in: every package, transitive ones too, by version and hash, for
# Python 3.10 to 3.13 on Linux, and the sizes of those that smelt setup fetches. Versions that the locks hold already
# are kept; --upgrade takes the newest.
set -euo pipefail
cd "$(dirname "$0")/../requirements"
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
python3 -m venv "$environment"
"$environment/bin/pip" install -q --disable-pip-version-check uv==0.13.9
for input in *.in; do
  python=3.10
  only=()
  case $input in
    tpu.in) python=3.11 ;; # it has none for 3.10; scripts/lib.sh says how that is met
    gpu.in | schemas.in) only=(--no-deps) ;; # they name all that is wanted
  esac
  "$environment/bin/uv" pip compile -q --universal --python-version $python --generate-hashes --only-binary :all: \
    "${only[@]}" --custom-compile-command tools/lock_requirements.sh "$@" -o "${input%.in}.lock" "$input"
done
../tools/wheel_sizes.py gpu.lock tpu.lock >wheel_sizes.txt # which smelt setup shows
