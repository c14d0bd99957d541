# Shared by the tests in this folder. Source this file; it changes to the root of the source tree and sets ROOT to it
# and WORK to a folder that is removed at the end.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
ROOT=$PWD
WORK=$(mktemp -d) || exit 1
trap 'rm -rf "$WORK"' EXIT

fail() {
  printf 'FAILED: %s\n%s\n' "$1" "$2"
  exit 1
}

# need_python_environment: ends the test if .venv-python, which scripts/test installs, is missing. Exit status 77 means
# skipped; it is a failure instead if SMELT_REQUIRE contains "python".
need_python_environment() {
  [ -x "$ROOT/.venv-python/bin/python" ] && return
  case ",${SMELT_REQUIRE:-}," in *,python,*) fail "no .venv-python" "scripts/test installs it" ;; esac
  echo "no .venv-python; scripts/test installs it"
  exit 77
}

# trains PROGRAM: trains a step with an empty home folder. The loader writes the libraries it opens to WORK/opened.*
trains() {
  local output
  mkdir -p "$WORK/home"
  output=$(env -i HOME="$WORK/home" PATH=/usr/bin:/bin LD_DEBUG=files LD_DEBUG_OUTPUT="$WORK/opened" \
    "$1" bench --model tiny --batch 2 --seq 16 --predictions 2 --steps 1 2>&1) || fail "it does not train" "$output"
  case "$output" in *'"loss":'*) ;; *) fail "it says no loss" "$output" ;; esac
}
