# Shared by the scripts in this folder: installs what the build needs, and builds a preset. Source this file; it changes
# to the root of the source tree, and sets ROOT to this folder and CALLER to the previous directory.

set -euo pipefail
CALLER=$PWD
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

PACKAGES=(
  g++ cmake ninja-build pkg-config python3 python3-venv
  libicu-dev nlohmann-json3-dev libyaml-cpp-dev libcli11-dev libspdlog-dev libisal-dev libjemalloc-dev libarchive-dev liblzma-dev zlib1g-dev libbz2-dev libzstd-dev libsentencepiece-dev
  libcurl4-openssl-dev libssl-dev
  libgtest-dev libgmock-dev sentencepiece openssl
)

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }

# die WHAT HINT: prints an error with a hint and exits with status 1.
die() {
  printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
  exit 1
}

# from_caller PATHS: makes the relative paths of a comma-separated list relative to CALLER; leaves URLs such as gs://
# unchanged.
from_caller() {
  local path paths=()
  IFS=, read -r -a paths <<<"$1"
  for path in "${!paths[@]}"; do
    case "${paths[path]}" in
      /* | *://*) ;;
      *) paths[path]="$CALLER/${paths[path]}" ;;
    esac
  done
  (IFS=, && echo "${paths[*]}")
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Runs a command as root: directly, or with sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

may_be_root() {
  [ "$(id -u)" = 0 ] && return
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 2 ]; }
}

# Installs the missing ones of PACKAGES. If none is missing, does nothing and needs no root rights.
install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this is not Debian or Ubuntu (no dpkg-query)" "install the equivalents of: ${PACKAGES[*]}, then run cmake --preset release"
  local missing=() package
  for package in "${PACKAGES[@]}"; do
    installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  may_be_root || die "packages are missing and this user may not install them" "as root: apt-get install ${missing[*]}"
  say "installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
    die "apt-get update failed" "check the network and /etc/apt/sources.list"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2 ||
    die "apt-get could not install ${missing[*]}" "read its messages above"
}

# Prints the first Python 3.10 to 3.13 that can create virtual environments.
find_python() {
  local python
  for python in python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  die "no Python 3.10 to 3.13 with venv was found" "apt-get install python3 python3-venv"
}

# up_to_date STAMP TEXT: succeeds if the stamp file contains exactly this text.
up_to_date() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# pip_install DIR LOCK [PIP OPTIONS]: installs the packages of a lock file, by version and hash, into an environment.
pip_install() {
  local dir=$1 lock=$2
  shift 2
  "$dir/bin/python" -m pip install -q --disable-pip-version-check --require-hashes --only-binary=:all: "$@" -r "$lock" ||
    die "pip could not install $lock" "check the network; then run this script again"
}

# make_environment DIR LOCK: creates a Python environment with the packages of the lock file.
# The stamp is written last, so that an interrupted installation is repeated.
make_environment() {
  local dir=$1 lock=$2 want
  want="$lock $(sha256sum <"$lock")"
  up_to_date "$dir/.stamp" "$want" && return
  say "installing $lock into $dir"
  if ! "$dir/bin/python" -m pip --version >/dev/null 2>&1; then
    local python
    python=$(find_python)
    rm -rf "$dir"
    "$python" -m venv "$dir" || die "$python could not make an environment in $dir" "apt-get install python3-venv"
  fi
  pip_install "$dir" "$lock"
  echo "$want" >"$dir/.stamp"
}

# The TPU compiler has no wheel for Python 3.10. The wheel for 3.11 works with any Python, because the library is only
# loaded with dlopen.
install_tpu_compiler() {
  local lock=requirements/tpu.lock site want
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  want="$lock $(sha256sum <"$lock")"
  up_to_date .venv/.stamp-libtpu "$want" && [ -f "$site/libtpu/libtpu.so" ] && return
  say "installing $lock (205 MB, for ahead-of-time compiles in the tests)"
  pip_install .venv "$lock" --no-deps --upgrade --target "$site" --implementation cp --python-version 3.11 --abi cp311
  echo "$want" >.venv/.stamp-libtpu
}

# Installs packages of which tests only read the schemas, into the environment of the tests.
install_schemas() {
  local lock=requirements/schemas.lock want
  want="$lock $(sha256sum <"$lock")"
  up_to_date .venv-oracle/.stamp-schemas "$want" && return
  say "installing $lock"
  pip_install .venv-oracle "$lock" --no-deps
  echo "$want" >.venv-oracle/.stamp-schemas
}

# build PRESET [CMAKE BUILD OPTIONS]: configures and builds a CMake preset.
build() {
  local preset=$1
  shift
  say "building preset $preset"
  cmake --preset "$preset" >"build-$preset.log" 2>&1 || {
    cat "build-$preset.log" >&2
    rm -f "build-$preset.log"
    die "cmake could not configure preset $preset" "read its messages above"
  }
  rm -f "build-$preset.log"
  local TIMEFORMAT="==> built preset $preset in %0R s (%0U s of processor time)"
  time cmake --build --preset "$preset" "$@" >&2 || die "preset $preset did not build" "read the compiler's messages above"
}
