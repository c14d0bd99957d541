#!/usr/bin/env bash
# tools/tidy.sh [MODULE | FILES...]: runs clang-tidy's checks (.clang-tidy) on all modules or on one (io/http), as
# the large files of CMake's unity build, or on single files. All modules take some 20 minutes of processor time. Builds
# nothing; prints the findings.
set -euo pipefail
cd "$(dirname "$0")/.."
tidy=${CLANG_TIDY:-.venv-oracle/bin/clang-tidy}
[ -x "$tidy" ] || { echo "error: $tidy is missing"; echo "hint: scripts/test installs it, or set CLANG_TIDY"; exit 1; } >&2
module='*'
if [ $# = 1 ] && [ -d "src/$1" ]; then module=${1//\//_}; shift; fi
unity=ON
[ $# = 0 ] || unity=OFF
# Disables warnings that only gcc knows, or that only standard headers and large files cause.
options=(--extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations
  --checks=-bugprone-suspicious-include)
cmake -S . -B build/tidy -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_UNITY_BUILD=$unity >/dev/null
[ $# -gt 0 ] || mapfile -t -d '' files < <(find build/tidy/CMakeFiles/smelt_$module.dir -name '*.cxx' -print0)
printf '%s\0' "${@:-${files[@]}}" | xargs -0 -n 1 -P "$(nproc)" "$tidy" -p build/tidy --quiet "${options[@]}" 2>/dev/null
