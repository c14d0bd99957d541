#!/usr/bin/env bash
# tools/prove_resume.sh RUNS KILLS SECONDS RECIPE [--set FIELD=VALUE…]: shows that a recipe's training always ends
# with the same bytes: RUNS whole runs, and one that is killed (-9) KILLS times, each at a random moment within
# SECONDS of its start. Needs build/release/smelt; works in a folder of its own, which it removes.
set -euo pipefail
runs=$1 kills=$2 seconds=$3
shift 3
smelt=$(cd "$(dirname "$0")/.." && pwd)/build/release/smelt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The checksum of the newest checkpoint.
state() {
  local newest
  newest=$(find "$work/$1/model" -maxdepth 1 -name 'checkpoint-*' | sort -t- -k2 -V | tail -n 1)
  echo "$(basename "$newest") $(cd "$newest" && sha256sum ./* | sha256sum | cut -c1-16)"
}

for run in $(seq "$runs"); do
  "$smelt" run "$@" --set out="$work/run-$run" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  echo "run $run: $(state "run-$run")"
done
resumed=0
for kill in $(seq "$kills"); do
  "$smelt" run "$@" --set out="$work/killed" >"$work/log" 2>&1 &
  pid=$!
  sleep "$(awk -v most="$seconds" -v seed="$RANDOM" 'BEGIN { srand(seed); printf "%.2f", rand() * most }')"
  kill -9 "$pid" 2>/dev/null || echo "kill $kill: had ended"
  wait "$pid" 2>/dev/null || true
  if grep -q 'resuming from' "$work/log"; then resumed=$((resumed + 1)); fi
done
"$smelt" run "$@" --set out="$work/killed" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
echo "killed $kills times, $resumed of them after it had resumed: $(state killed)"
[ "$kills" = 0 ] || [ "$resumed" -gt 0 ] || { echo "no kill met a resumed run: give more SECONDS"; exit 1; }
[ "$({ for run in $(seq "$runs"); do state "run-$run"; done; state killed; } | sort -u | wc -l)" = 1 ] ||
  { echo "the states differ"; exit 1; }
echo "all the same"
