#!/usr/bin/env bash
# Writes requirements/*.lock from requirements/*.in: all packages, including indirect ones, with version and hash, for
# Python 3.10 to 3.13 on Linux, and the sizes of the packages that smelt setup downloads. Keeps the versions that are
# already in the lock files; --upgrade selects the newest.
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
    tpu.in) python=3.11 ;; # no wheel for 3.10; see install_tpu_compiler in scripts/lib.sh
    gpu.in | schemas.in) only=(--no-deps) ;; # these files list all packages that are needed
  esac
  "$environment/bin/uv" pip compile -q --universal --python-version $python --generate-hashes --only-binary :all: \
    "${only[@]}" --custom-compile-command tools/lock_requirements.sh "$@" -o "${input%.in}.lock" "$input"
done
../tools/wheel_sizes.py gpu.lock tpu.lock >wheel_sizes.txt # smelt setup displays these sizes
