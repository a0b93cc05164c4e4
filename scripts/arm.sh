#!/usr/bin/env bash
# Shows that the program is right on Arm, on a machine of another kind: builds it
# with Debian's cross compiler and runs it under qemu as CPUs of several SIMD
# levels. For a person, before a release; emulated times mean nothing.
#
# usage: arm.sh
#   --help    this text
# example: scripts/arm.sh
#
# It changes the machine, and needs root: dpkg gets arm64 as a second
# architecture, apt installs a cross compiler, qemu and libraries of arm64, for
# which it may upgrade others, and the kernel gets qemu as what starts programs
# of arm64 until the machine is started again. Takes 80 minutes on two cores;
# what it builds stays in build/arm, with the output of every step in
# build/arm/STEP.log. Prints one line a step with its seconds, ends in one line
# that says what passed, and at the first step that fails in its output (exit 1).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1-} in
  '') ;;
  --help | -h) print_help && exit 0 ;;
  *) usage_error "unknown argument '$1'; allowed: --help" ;;
esac

cd "$root"
build=build/arm

install_packages() {
  dpkg --add-architecture arm64
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
    g++-aarch64-linux-gnu qemu-user qemu-user-binfmt libgomp1:arm64 \
    lib{hwy,benchmark,openblas,fmt,hwloc,zip,gtest,gmock,rapidcheck}-dev:arm64
}

# A sweep starts processes of its own program, which the kernel has to know how to
# run. Where systemd is, the package has told it.
register_qemu() {
  local kernels=/proc/sys/fs/binfmt_misc
  [[ -e $kernels/register ]] || mount -t binfmt_misc none "$kernels"
  [[ -e $kernels/qemu-aarch64 ]] ||
    cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$kernels/register"
}

build_program() {
  cmake -S . -B "$build" -G Ninja -D CMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake \
    -D CMAKE_BUILD_TYPE=Release -D ATTNBENCH_WERROR=ON
  cmake --build "$build" --target attnbench mechanisms_test
}

install_program() {
  rm -rf "$build/installed"
  DESTDIR=$PWD/$build/installed cmake --install "$build" --prefix /usr
  [[ $(wc -l <"$installed/share/man/man1/attnbench.1") -gt 100 ]]
  "$installed/bin/attnbench" --version
  rm -f "$build"/attnbench_*.deb
  (cd "$build" && cpack)
  [[ $(dpkg-deb --field "$build"/attnbench_*.deb Architecture) == arm64 ]]
}
installed=$build/installed/usr

# as CPU LEVEL COMMAND...: on a CPU of qemu whose best SIMD level has to be LEVEL,
# or at LEVEL.
as() {
  local cpu=$1 level=$2
  shift 2
  env QEMU_CPU="$cpu" ATTNBENCH_SIMD="$level" "$@"
}

best_level() {
  local help
  help=$(QEMU_CPU=$1 "$installed/bin/attnbench" --help | tr -s ' \n' ' ')
  [[ $help =~ 'instead of the best, one of '([A-Z0-9_]+) ]]
  printf 'SIMD level %s\n' "${BASH_REMATCH[1]}"
  [[ ${BASH_REMATCH[1]} == "$2" ]]
}

# Kernels are tested at the one level. What computes for minutes in `long double`,
# which Arm has in software only, is left out.
test_mechanisms() {
  as "$1" "$2" "$build/mechanisms_test" --gtest_brief=1 --gtest_filter="-$slow"
}
slow='*Cauchy*:MatchaTraining*:*GradientsOfWindowsAreWithinTheirBound*'
slow+=':*GradientsEqualThoseOfTheEnumeration*:*TanhIsGoodToFourUlp*'

verify() {
  local mechanism
  for mechanism in monotonic mocha matcha memory soft; do
    as "$1" "$2" "$installed/bin/attnbench" verify --quick --mechanism "$mechanism"
  done
}

check_baseline() {
  check_numbers "$build/ci-$2.json" as "$1" "$2" "$installed/bin/attnbench"
  grep -q '"cpu":"[^"]\+","architecture":"aarch64"' "$build/ci-$2.json"
}

step packages install_packages
step qemu register_qemu
step build build_program
step install install_program

# Vectors of `max` and `a64fx` are longer than those of any level of SVE, so both take
# NEON, which another CPU tests. A CPU without AES takes SCALAR.
step level-NEON best_level max,sve=off NEON
step level-SVE_256 best_level max,sve256=on,sve512=off SVE_256
step level-SVE2_128 best_level max,sve128=on,sve256=off,sve512=off SVE2_128
step level-max best_level max NEON
step level-a64fx best_level a64fx NEON
step tests-NEON test_mechanisms max,sve=off NEON
step tests-SVE_256 test_mechanisms max,sve256=on,sve512=off SVE_256
step tests-SVE2_128 test_mechanisms max,sve128=on,sve256=off,sve512=off SVE2_128
step tests-SCALAR test_mechanisms max,sve=off SCALAR
# Sampling and a sweep take longest: they run on one CPU without SVE and one with it.
step verify-NEON verify max,sve=off NEON
step verify-SVE2_128 verify max,sve128=on,sve256=off,sve512=off SVE2_128
step baseline-NEON check_baseline max,sve=off NEON
step baseline-SVE2_128 check_baseline max,sve128=on,sve256=off,sve512=off SVE2_128
say "passed: $steps steps"
