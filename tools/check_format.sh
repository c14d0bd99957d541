#!/usr/bin/env bash
# Checks that src/ and tests/ are formatted as .clang-format specifies, with the version of clang-format in
# requirements/test.in; --fix formats them. Exits with 77 if that version is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
format=.venv-oracle/bin/clang-format
if [ ! -x "$format" ]; then
  echo "not checked: $format is missing; scripts/test installs it"
  case ",${SMELT_REQUIRE:-}," in *,oracle,*) exit 1 ;; esac
  exit 77
fi
mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
find src tests \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 "$format" "${mode[@]}"
