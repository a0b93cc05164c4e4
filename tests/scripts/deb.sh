#!/usr/bin/env bash
# Guards against a .deb that works only where it was built: installs it in an empty Debian,
# uses it there and removes it. That Debian is made of packages that come from where this
# machine gets its own, and is removed too.
#
# usage: deb.sh DEB
# Needs root, or user namespaces, and Debian's package mmdebstrap. Used by
# scripts/check.sh deb.

set -euo pipefail

deb=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/use.sh" <<'USE'
set -eux
cd /tmp
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ./attnbench.deb
attnbench --version
attnbench list
run-sweep ci -o ci.json
run-sweep -T 4,8 -d 4 -o lengths.json
attnbench report ci.json lengths.json -o report.html
attnbench draw lengths.json --figure mocha_figure3
test -s report.html
test -s mocha_figure3.png
attnbench claims mad-linear --quick
apt-get remove --yes attnbench
left=$(find /usr /etc -path '*attnbench*')
test -z "$left"
USE

# shellcheck source=/dev/null
. /etc/os-release
mapfile -t sources < <(find /etc/apt -maxdepth 2 -size +0 \
  '(' -name '*.list' -o -name '*.sources' ')')
apt-config dump Acquire >"$work/apt.conf"
mmdebstrap --variant=apt --format=null --aptopt="$work/apt.conf" --dpkgopt=force-unsafe-io \
  --customize-hook="upload '$deb' /tmp/attnbench.deb" \
  --customize-hook="upload '$work/use.sh' /tmp/use.sh" \
  --customize-hook="chroot \"\$1\" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin sh /tmp/use.sh" \
  "$VERSION_CODENAME" - "${sources[@]}"
