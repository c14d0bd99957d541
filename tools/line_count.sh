#!/usr/bin/env bash
# Lists functions of src/ over 60 lines; exits 1 if there is any.
# A function is a declaration at column 0 (its parameters may continue on the next lines) whose body ends with "}" at
# column 0.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

long=$(
  find src -name '*.h' -o -name '*.cpp' | sort | while read -r file; do
    awk -v file="$file" '
      /^[A-Za-z]/ { name = $0; at = FNR }
      /\{$/ && !start && name ~ /\(/ && name !~ /^(namespace|struct|class|enum|union)|^[^(]*[={]/ { start = at; body = FNR }
      /^}/ {
        if (start && FNR - body - 1 > 60) printf "%s:%d: a function of %d lines: %s\n", file, start, FNR - body - 1, name
        start = 0
      }' "$file"
  done
)
if [ -n "$long" ]; then
  echo "$long"
  exit 1
fi
echo "line count: no function over 60 lines"
