# Gathers the demo's text: English prose from this machine, into $OUT/corpus. Source lib.sh first.

OUT=demo
WANTED_MB=10
DOC_PACKAGES=(perl-doc git-doc bash-doc debian-policy developers-reference debian-reference-en manpages-dev)
DOC_ROOTS=(/usr/share/common-licenses /usr/share/perl /usr/share/info /usr/share/doc /usr/share/man)

corpus_mb() { find "$OUT/corpus" -name '*.txt' -exec cat {} + 2>/dev/null | wc -c | awk '{ print int($1 / 1000000) }'; }

# Downloads the text of documentation packages and unpacks it without installing them. Packages that cannot be
# downloaded are skipped; the corpus is smaller then.
fetch_documentation() {
  say "little prose on this machine: fetching the text of ${DOC_PACKAGES[*]}"
  mkdir -p "$OUT/packages"
  local package reason found=0
  for package in "${DOC_PACKAGES[@]}"; do
    reason=$(cd "$OUT/packages" && apt-get download -qq "$package" 2>&1) ||
      say "no package $package here: $(tail -n 1 <<<"$reason")"
  done
  for package in "$OUT"/packages/*.deb; do
    [ -f "$package" ] || continue
    dpkg-deb -x "$package" "$OUT/packages/root"
    found=$((found + 1))
  done
  [ $found -gt 0 ] || say "no documentation package could be downloaded; 'apt-get update' as root may help"
}

# gather_from FOLDERS...: fills the corpus anew from those of the folders that exist.
gather_from() {
  rm -rf "$OUT/corpus" "$OUT/corpus.partial"
  .venv/bin/python tools/gather_prose.py --out "$OUT/corpus.partial" --labelled "$OUT/labelled.tsv" "$@"
  mv "$OUT/corpus.partial" "$OUT/corpus"
}

gather() {
  [ "$(corpus_mb)" -ge "$WANTED_MB" ] && [ -f "$OUT/labelled.tsv" ] && return
  say "gathering English prose from this machine"
  mkdir -p "$OUT"
  gather_from "${DOC_ROOTS[@]}"
  [ "$(corpus_mb)" -ge "$WANTED_MB" ] && return
  fetch_documentation
  gather_from "${DOC_ROOTS[@]}" "$OUT"/packages/root/usr/share/{doc,perl,man,debian-reference}
  [ "$(corpus_mb)" -ge 1 ] ||
    die "only $(corpus_mb) MB of prose found" "give your own text: scripts/demo --input FILES"
}
