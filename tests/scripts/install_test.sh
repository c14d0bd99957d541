#!/usr/bin/env bash
# install_test.sh BUILD: checks that an installed program, after its folder was moved and with an empty home folder,
# trains a step and opens no library of the source tree.
. "$(dirname "$0")/lib.sh"
BUILD=$1

if ! compgen -G ".venv/lib/python3*/site-packages/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so" >/dev/null; then
  case ",${SMELT_REQUIRE:-}," in *,cpu,*) fail "no CPU plugin in .venv" "scripts/build installs it" ;; esac
  echo "no CPU plugin in .venv; scripts/build installs it"
  exit 77
fi

cmake --install "$BUILD" --prefix "$WORK/made" >"$WORK/log" 2>&1 || fail "cmake --install" "$(cat "$WORK/log")"
mkdir "$WORK/home"
mv "$WORK/made" "$WORK/moved"
cd "$WORK/home" || exit 1
trains "$WORK/moved/bin/smelt"

opened=$(cat "$WORK"/opened.*)
for library in libarrow.so libparquet.so xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so; do
  grep -q "$WORK/moved/.*lib/smelt/$library" <<<"$opened" || fail "it opens another $library" "$(grep "$library" <<<"$opened")"
done
grep -F "$ROOT/" <<<"$opened" && fail "it opens libraries of the source tree" ""
[ -f "$WORK/moved/lib/smelt/"libarrow_s3.so.* ] || fail "the library for s3:// is missing" "$(ls "$WORK/moved/lib/smelt")"
echo "an installed program runs wherever it is moved"
