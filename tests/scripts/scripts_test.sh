#!/usr/bin/env bash
# Tests scripts/ without network and without root. Each check calls a function of scripts/lib.sh or corpus.sh in a
# separate shell.
. "$(dirname "$0")/lib.sh"
failed=0

# expect WHAT WANTED GOT: fails unless GOT contains WANTED.
expect() {
  case "$3" in
    *"$2"*) return ;;
  esac
  printf 'FAILED: %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
  failed=1
}

# in_script FOLDER COMMANDS: runs the commands like a script that is called from the folder; prints their output.
in_script() { (cd "$1" && bash -c '. "$0/scripts/lib.sh"; . scripts/corpus.sh; '"$2" "$ROOT" 2>&1); }

# ---- paths ----
expect "a relative path is the caller's" "[$WORK/a b.txt]" "$(in_script "$WORK" 'echo "[$(from_caller "a b.txt")]"')"
expect "a pattern stays a pattern" "[$WORK/*.txt]" "$(in_script "$WORK" 'echo "[$(from_caller "*.txt")]"')"
expect "an absolute path stays" "[/etc/x]" "$(in_script "$WORK" 'echo "[$(from_caller /etc/x)]"')"
expect "each path of a list is the caller's" "[$WORK/a,/etc/x,gs://b/x,$WORK/b c]" \
  "$(in_script "$WORK" 'echo "[$(from_caller "a,/etc/x,gs://b/x,b c")]"')"
expect "a store's path stays" "[gs://b/x]" "$(in_script "$WORK" 'echo "[$(from_caller gs://b/x)]"')"

# ---- a machine whose packages cannot be downloaded ----
mkdir "$WORK/bin"
printf '#!/bin/sh\necho "E: Unable to locate package $3" >&2\nexit 100\n' >"$WORK/bin/apt-get"
chmod +x "$WORK/bin/apt-get"
offline='PATH='$WORK'/bin:$PATH OUT='$WORK'/demo; gather_from() { mkdir -p "$OUT/corpus"; }; '
fetched=$(in_script "$WORK" "$offline"'fetch_documentation; echo "and goes on"')
expect "why a package did not come" "no package perl-doc here: E: Unable to locate package perl-doc" "$fetched"
expect "what to do about it" "no documentation package could be downloaded; 'apt-get update' as root may help" "$fetched"
expect "it goes on with what there is" "and goes on" "$fetched"
gathered=$(in_script "$WORK" "$offline"'gather; echo "status $?"')
expect "too little text is said" "error: only 0 MB of prose found" "$gathered"
expect "and how to go on" "hint: give your own text: scripts/demo --input FILES" "$gathered"

# ---- sentences that the demo fills ----
printf 'One two three (four), five six seven.\nこれはとても長いプログラムの説明です。もう一つの文です。\n' >"$WORK/heldout.txt"
masked=$(scripts/masked_sentences.py "$WORK/heldout.txt")
expect "a word is masked without its punctuation" "One two [MASK] (four), five six seven." "$masked"
expect "a character is masked if words have no spaces" "プログラムの[MASK]明です" "$masked"

# ---- what pip installs ----
for lock in requirements/*.lock; do
  unhashed=$(awk '/^[a-z0-9]/ { name = $1; if (!/\\$/) print name } /^[a-z0-9].*\\$/ { getline; if (!/--hash=sha256:/) print name }' "$lock")
  expect "every package of $lock has hashes" "[]" "[$unhashed]"
  while read -r pin; do
    expect "$lock holds the pin $pin" " $pin" " $(grep -o "^$pin" "$lock")"
  done < <(grep -o '^[a-z0-9-]*\(\[[a-z0-9]*\]\)\?==[^; ]*' "${lock%.lock}.in" | sed 's/\[.*\]//')
done

expect "requirements/wheel_sizes.txt has the packages that smelt setup fetches" \
  "$(cat requirements/gpu.lock requirements/tpu.lock | grep -o '^[a-z0-9-]*==[^; ]*')" \
  "$(sed 's/\([^ ]*\) \([^ ]*\) .*/\1==\2/' requirements/wheel_sizes.txt)"

# ---- scripts/install ----
expect "scripts/install needs a folder" "error: scripts/install takes one folder, got ''" "$(scripts/install 2>&1)"
expect "and says how" "hint: scripts/install ~/smelt" "$(scripts/install 2>&1)"
expect "it takes one" "error: scripts/install takes one folder, got 2" "$(scripts/install a b 2>&1)"

[ $failed = 0 ] && echo "scripts: all as promised"
exit $failed
