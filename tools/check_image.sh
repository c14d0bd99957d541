#!/usr/bin/env bash
# tools/check_image.sh [DIR] [DEVICE]: builds docker/Dockerfile from the package in DIR (by default build/package, which
# scripts/package makes) without a daemon, and trains a step in the image, started as a manifest of `smelt pod manifest
# --kind jobset` starts it. With DEVICE tpu or gpu it only checks that the plugin is installed; the default is cpu. Needs
# root and `apt-get install buildah debootstrap`; takes about three minutes. The base image is a minimal Debian from
# debootstrap, because a registry may be out of reach.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:-build/package} device=${2:-cpu}
work=$(mktemp -d)
cleanup() { buildah "${store[@]}" rm --all >/dev/null 2>&1; rm -rf "$work"; }
trap cleanup EXIT
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
store=(--root "$work/store" --runroot "$work/run")

debootstrap --variant=minbase bookworm "$work/base" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$work/log" || { cat "$work/log"; exit 1; }
container=$(buildah "${store[@]}" from scratch)
buildah "${store[@]}" copy -q "$container" "$work/base" / >/dev/null
buildah "${store[@]}" commit -q "$container" localhost/base >/dev/null
proxies=()
for name in http_proxy https_proxy no_proxy PIP_INDEX_URL; do
  [ -z "${!name:-}" ] || proxies+=(--build-arg "$name=${!name}")
done
[ -z "${PIP_CERT:-}" ] || proxies+=(--volume "$PIP_CERT:/run/pip.crt:ro" --build-arg PIP_CERT=/run/pip.crt)
buildah "${store[@]}" bud --build-arg BASE=localhost/base --build-arg "DEVICE=$device" "${proxies[@]}" -t smelt \
  -f docker/Dockerfile "$dir" >"$work/log" 2>&1 || { tail -40 "$work/log"; exit 1; }
container=$(buildah "${store[@]}" from smelt)
inside() { buildah "${store[@]}" run "$container" -- "$@"; }
inside smelt --version
case $device in # another device's plugin is found; there may be no device here
  cpu) inside sh -c 'exec smelt bench --model tiny --batch 2 --seq 16 --predictions 2 --steps 1' ;;
  *) inside sh -c "test -d /opt/share/smelt/$device && smelt setup $device | grep 'already installed'" ;;
esac
echo "the image works"
