#!/usr/bin/env bash
# package_test.sh BUILD: checks the packages that tools/package.py makes from a build. The program must run with an
# empty library path and open no library of this machine except those of glibc and gcc; the wheel must install without a
# network and start by its command; a file that needs a newer glibc must be rejected.
. "$(dirname "$0")/lib.sh"
BUILD=$1

bare() { env -i HOME="$WORK/home" PATH=/usr/bin:/bin "$@"; }

python3 tools/package.py "$BUILD" "$WORK/made" --fast >"$WORK/log" 2>&1 || fail "tools/package.py" "$(cat "$WORK/log")"
for file in "$WORK"/made/*; do
  grep -qF "$(sha256sum "$file" | cut -d' ' -f1)  $file" "$WORK/log" || fail "no checksum of $file" "$(cat "$WORK/log")"
done
# The container image: the file that it copies was made, and its steps are shell commands. tools/check_image.sh builds it.
copied=$(sed -n 's/^COPY \(smelt[^ ]*\) .*/\1/p' docker/Dockerfile)
compgen -G "$WORK/made/$copied" >/dev/null || fail "docker/Dockerfile copies $copied" "$(ls "$WORK/made")"
sed -n 's/^RUN //p' docker/Dockerfile | sh -n || fail "a step of docker/Dockerfile" "see above"
mkdir "$WORK/home" "$WORK/folder"
(cd "$WORK/folder" && cmake -E tar xf "$WORK"/made/*.tar.zst) || fail "it does not unpack" ""
trains "$WORK/folder/smelt/bin/smelt"
system='/(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s))\.so\.[0-9]+'
others=$(grep -ho 'calling init: .*' "$WORK"/opened.* | cut -d' ' -f3 | grep -vF "$WORK/folder/" | grep -Ev "^(/usr)?/lib(64|/x86_64-linux-gnu)?$system\$")
[ -z "$others" ] || fail "it opens libraries of this machine" "$others"
compgen -G "$WORK/folder/smelt/lib/smelt/licences/libicu*" >/dev/null || fail "no licence of ICU" "$(ls "$WORK/folder/smelt/lib/smelt/licences")"

python3 -m venv "$WORK/venv" || fail "no environment" "apt-get install python3-venv"
"$WORK/venv/bin/pip" install -q --no-index --no-deps --disable-pip-version-check "$WORK"/made/*.whl || fail "pip does not install it" ""
site=$(echo "$WORK"/venv/lib/python3*/site-packages)
ln -s "$ROOT"/.venv/lib/python3*/site-packages/xla_plugins "$site" # the plugin's own wheel, a requirement
[ ! -e "$site/smelt_lm/lib/smelt/xla_plugins" ] || fail "the wheel carries the plugin" ""
[ "$(bare "$WORK/venv/bin/smelt" --version)" = "$("$BUILD/smelt" --version)" ] || fail "the wheel's command does not start" ""
said=$(bare "$WORK/venv/bin/smelt" train 2>&1)
[ $? = 2 ] || fail "the wheel's command loses the exit code" "$said"
said=$(bare "$WORK/venv/bin/smelt" bench --model tiny --batch 2 --seq 16 --predictions 2 --steps 1 2>&1)
case "$said" in *'"loss":'*) ;; *) fail "the wheel's program does not train with the plugin's own wheel" "$said" ;; esac
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\n' >"$WORK/vocab.txt"
rm -f "$WORK"/opened.*
said=$(cd "$WORK" && bare LD_DEBUG=files LD_DEBUG_OUTPUT="$WORK/opened" "$WORK/venv/bin/python" -c 'import smelt_lm
print(smelt_lm.program())
smelt_lm._library.library()
try:
    smelt_lm.Tokenizer("vocab.txt")
except smelt_lm.UsageError as error: # there is no numpy in this environment
    print(error.hint)' 2>&1)
[ "$said" = "$site/smelt_lm/bin/smelt"$'\n'"pip install numpy" ] || fail "the wheel's package does not load its library" "$said"
others=$(grep -ho 'calling init: .*smelt.*' "$WORK"/opened.* | cut -d' ' -f3 | grep -vF "$site/smelt_lm/")
[ -z "$others" ] || fail "the library comes from elsewhere" "$others"
touch "$WORK/plugin.so" # as an extra of the wheel would install it
install -D "$WORK/plugin.so" "$site/libtpu/libtpu.so"
said=$(bare SMELT_COMPILE_CACHE=off "$WORK/venv/bin/smelt" plan "$ROOT/recipes/demo.yaml" --on v2-8 2>&1)
case "$said" in *site-packages/libtpu/libtpu.so*) ;; *) fail "it does not find the extra's plugin" "$said" ;; esac

printf 'void arc4random_buf(void*, unsigned long); int main() { char c; arc4random_buf(&c, 1); }' >"$WORK/new.c"
if gcc -o "$WORK/new" "$WORK/new.c" 2>/dev/null; then # this machine has glibc 2.36
  said=$(python3 -c 'import sys; sys.path.insert(0, "tools"); import package, pathlib; package.check_versions(pathlib.Path(sys.argv[1]))' "$WORK" 2>&1)
  case "$said" in *'new asks for GLIBC_2.36; the package promises GLIBC_2.35'*) ;; *) fail "a newer glibc is not refused" "$said" ;; esac
fi
echo "a package runs by itself"
