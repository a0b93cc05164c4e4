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

# Each command of the README's table of tasks, with a result of every kind read again.
# Other programs on the machine make a run invalid (5), and no shorter one wrong.
attnbench advise -T 20 -U 5 -d 8 --repetitions 2 -o advice.json || test $? = 5
run-sweep -T 4,8 -d 4 --shard 0/2 -o shard-0.json
run-sweep -T 4,8 -d 4 --shard 1/2 -o shard-1.json
attnbench merge shard-0.json shard-1.json -o merged.json
attnbench help merge
attnbench show merged.json advice.json
attnbench stability --quick -o stability.json
python3 -c 'import numpy; r = numpy.random.default_rng(1)
numpy.save("p.npy", r.random((2, 3, 4, 9))); numpy.save("e.npy", r.normal(size=(2, 4, 9)))'
attnbench diagnose --p p.npy -o diagnosis.json
attnbench report ci.json advice.json stability.json diagnosis.json --force -o report.html
run-sweep --workload captured:e.npy --mechanism soft,mocha -d 8 -o captured.json
attnbench decode --mechanism mocha -T 9 -U 4 -d 8 > decoded.json
attnbench compare lengths.json merged.json || test $? = 5
attnbench verify --quick
attnbench roofline --quick -j 1
if attnbench train stretch -o trained.json; then false; else test $? = 2; fi

# Numbers and instructions are checked where there is no Python.
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends valgrind
chmod a-x /usr/bin/python3*
for side in before after; do
  run-sweep pull_request --measure instructions -o $side.json
done
attnbench check after.json --baseline before.json | grep '0 of 14 counts regressed'
chmod a+x /usr/bin/python3*
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
