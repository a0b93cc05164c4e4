#!/usr/bin/env bash
# Installs the Debian packages that are missing, and no others.
#
# usage: setup.sh [--tools] [--peers] [--training] [--check]
#   --tools   also what check.sh and cpack need: clang and its tools, shellcheck,
#             Slurm, a browser, dpkg's tools
#   --peers   also what peers.sh needs: PyTorch on OpenBLAS
#   --training   also PyTorch, which `attnbench train` runs on, and libtorch, which
#             the operators for PyTorch are built with
#   --check   only say what is missing: exit 0 if nothing, 1 otherwise
#   --help    this text
# example: scripts/setup.sh --tools --check
#
# Needs root, or sudo. Where there is no apt-get it prints the list and exits
# with 2.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# libboost-dev holds the headers of Boost.Math; libboost-math-dev would add
# libraries that header-only use never links. nbclient and ipykernel run the
# notebook python/example.ipynb in a test, and markdown-it reads Markdown in one;
# venv, pip, setuptools and wheel make and install the package for Python; valgrind
# counts instructions. festlex-cmu, flite and wordnet-base hold words and speech to train on.
packages=(
  cmake ninja-build g++ git pkg-config
  libeigen3-dev libopenblas-dev libhwy-dev libbenchmark-dev
  nlohmann-json3-dev libvalijson-dev libcli11-dev librandom123-dev
  libboost-dev libfmt-dev libhwloc-dev libzip-dev libgtest-dev libgmock-dev
  librapidcheck-dev
  python3 python3-matplotlib python3-pandas python3-scipy python3-jsonschema
  python3-nbclient python3-ipykernel python3-markdown-it
  python3-venv python3-pip python3-setuptools python3-wheel
  valgrind
  festlex-cmu flite wordnet-base
)
# libclang-rt-dev holds the sanitizers' runtimes, lld links their programs in a sixth of
# the time, llvm holds the symbolizer without which their reports have no line numbers;
# libbenchmark-tools has compare.py.
tools=(
  clang clang-tidy clang-format libclang-rt-dev libomp-dev lld llvm
  slurmctld slurmd slurm-client munge
  chromium chromium-driver python3-selenium libbenchmark-tools
  dpkg-dev file mmdebstrap shellcheck
)

peers=(python3-torch libopenblas0-pthread)
training=(libtorch-dev python3-torch)

check_only=false
while (($#)); do
  case $1 in
    --tools) packages+=("${tools[@]}") ;;
    --peers) packages+=("${peers[@]}") ;;
    --training) packages+=("${training[@]}") ;;
    --check) check_only=true ;;
    --help | -h) print_help && exit 0 ;;
    *) usage_error "unknown argument '$1'; allowed: --tools, --peers, --training, --check, --help" ;;
  esac
  shift
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  say "no apt-get here; install what these Debian packages hold, then run" \
    "cmake --preset release && cmake --build --preset release:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 2
fi

# An unknown package makes dpkg fail, and is missing too.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" \
  2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done

if ((${#missing[@]} == 0)); then
  say "nothing missing (${#packages[@]} packages)"
  exit 0
fi
say "missing: ${missing[*]}"
if $check_only; then exit 1; fi

as_root=()
if (($(id -u) != 0)); then
  command -v sudo >/dev/null ||
    usage_error "not root and no sudo; as root run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi
# This is not exported, as sudo drops the environment.
as_root+=(env DEBIAN_FRONTEND=noninteractive)

say "running: ${as_root[*]} apt-get update"
"${as_root[@]}" apt-get update -q
say "running: ${as_root[*]} apt-get install ${missing[*]}"
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
say "installed ${#missing[@]} packages"
