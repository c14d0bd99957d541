#!/usr/bin/env bash
# Writes requirements/*.lock from requirements/*.in: every package, transitive ones too, by version and hash, for
# Python 3.10 to 3.13 on Linux. Versions that the locks hold already are kept; --upgrade takes the newest.
set -euo pipefail
cd "$(dirname "$0")/../requirements"
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
python3 -m venv "$environment"
"$environment/bin/pip" install -q --disable-pip-version-check uv==0.13.9
for input in *.in; do
  python=3.10
  [ "$input" = tpu.in ] && python=3.11 # it has none for 3.10; scripts/lib.sh says how that is met
  "$environment/bin/uv" pip compile -q --universal --python-version $python --generate-hashes --only-binary :all: \
    --custom-compile-command tools/lock_requirements.sh "$@" -o "${input%.in}.lock" "$input"
done
