#!/usr/bin/env bash
# tools/tidy.sh [FILES...]: runs clang-tidy's checks (.clang-tidy) over the sources of src/, or over these.
# It takes some minutes; nothing is built, and what is found is printed.
set -euo pipefail
cd "$(dirname "$0")/.."
tidy=${CLANG_TIDY:-.venv-oracle/bin/clang-tidy}
[ -x "$tidy" ] || { echo "error: $tidy is missing"; echo "hint: scripts/test installs it, or set CLANG_TIDY"; exit 1; } >&2
cmake -S . -B build/tidy -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
[ $# -gt 0 ] || mapfile -t -d '' files < <(find src -name '*.cpp' -print0)
printf '%s\0' "${@:-${files[@]}}" | xargs -0 -n 1 -P "$(nproc)" "$tidy" -p build/tidy --quiet 2>/dev/null
