#!/usr/bin/env bash
# Runs everything beyond the tests: formatting, warnings of a second compiler,
# sanitizers, static analysis. Installs the tools that are missing.
#
# usage: check.sh [--all] [STEP...]
#   format       clang-format on all C++ sources
#   scripts      shellcheck on all scripts
#   rooms        each room of harness/ includes the rooms that it is linked with,
#                and no others
#   asan-ubsan   builds everything with clang, warnings are errors; the tests
#                labelled `sanitized` under the address and undefined-behaviour
#                sanitizers; with --all every test that runs a program
#   tsan         the tests labelled `threads` under the thread sanitizer
#   tidy         clang-tidy on the 15 sources of mechanisms/ and harness/ that were
#                changed last; with --all on every source
#   mutations    each defect of tests/mutations turns a test or `verify` red: of the
#                40 whose file or test was changed last; with --all of all
#   slurm        scripts/slurm against a Slurm of one node, started for it
#   skeleton     copies of mechanisms/skeleton and docs/examples/wait_k are compiled
#                after a line each in the registry, without any other change
#   operators    the PyTorch operators' tests, with a library that is built with
#                the address and undefined-behaviour sanitizers
#   report       pages of `attnbench report` in headless Chromium; Google
#                Benchmark's compare.py reads what `show` writes
#   deb          the .deb is installed, used and removed in an empty Debian; only if
#                it is named, because it fetches 200 MB of packages
#   --all        nothing of a step is left out to save time
#   --help       this text
# example: scripts/check.sh format tidy
#
# Without a STEP all of them but the last, in this order. Prints one line a step with its
# seconds; the output of each is in build/check/STEP.log, and is shown if the
# step fails. Ends in one line that says what passed, or which steps failed
# (exit 1).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

default_steps=(
  format scripts rooms asan-ubsan tsan tidy mutations slurm skeleton operators report
)
all_steps=("${default_steps[@]}" deb)

cxx_files() {
  find mechanisms harness tests docs/examples -name '*.h' -print0 -o -name '*.cc' -print0
}

step_format() {
  clang-format --version
  cxx_files | xargs -0 clang-format --dry-run -Werror
}

step_scripts() {
  shellcheck --external-sources .ci/run cmake/prerm cmake/*.sh scripts/*.sh scripts/slurm/*.sh \
    tests/scripts/*.sh
}

step_rooms() {
  "$python" scripts/rooms.py
}

step_asan-ubsan() {
  configure_and_build asan-ubsan
  if $all; then
    ctest --preset asan-ubsan --label-exclude '^(no-program|limits)$'
  else
    without_repetition ctest --preset asan-ubsan --label-regex '^sanitized$'
  fi
}

# These tests repeat over and over what others do a few times; a sanitizer sees no more
# in them and takes two thirds of its time for them.
without_repetition() {
  local -a repeated=(
    ManyOutputs.AnyTablesErrAsOneOutputDoes
    'CauchyKernelsTest/*.RunningSumsMeetInEveryLength'
    KernelErrors.TheSearchGoesWhereErrorsGrow
    StabilityResult.ValidatesAgainstTheCommittedSchema
    Verify.FalseAlarmsAreNoMoreThanTheirRate
  )
  GTEST_FILTER=-$(IFS=: && printf '%s' "${repeated[*]}") "$@"
}

step_tsan() {
  configure_and_build tsan threads_test
  # The runtime of clang 14 finds no place for its shadow memory where the
  # kernel spreads mappings widely (vm.mmap_rnd_bits above 28).
  local fixed_addresses=()
  if setarch -R true; then fixed_addresses=(setarch -R); fi
  without_repetition "${fixed_addresses[@]}" ctest --preset tsan --label-regex '^threads$'
}

step_tidy() {
  # Sources include a generated one.
  configure_and_build clang attnbench_build_info
  clang-tidy --version
  "$python" - "$all" <<'PYTHON' |
import json, os, subprocess, sys

def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True).stdout.split()

with open("build/clang/compile_commands.json") as commands:
    built = {os.path.relpath(entry["file"]) for entry in json.load(commands)}
own = sorted(file for file in built if file.startswith(("mechanisms/", "harness/")))
if sys.argv[1] == "false":
    changed = git("diff", "--name-only", "HEAD") + git("log", "--format=", "--name-only")
    sources = dict.fromkeys(os.path.splitext(file)[0] + ".cc" for file in changed)
    # Without a history clang-tidy reads all of them.
    own = [file for file in sources if file in own][:15] or own
sys.stdout.write("".join(file + "\0" for file in own))
PYTHON
    xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/clang
}

step_mutations() {
  local -a some=(--changed 40)
  scripts/setup.sh --training  # some defects are in what needs PyTorch
  if $all; then some=(); fi
  "$python" tests/mutations/run.py "${some[@]}"
}

step_slurm() {
  configure_and_build ci attnbench
  tests/scripts/slurm.sh build/ci/attnbench
}

# Works in a copy of the sources, because registering changes registry.cc. Only
# what the copied files need is built; tests/cli/newcomer_test.py shows that
# such a mechanism works in every command.
step_skeleton() {
  local work=build/check/skeleton object
  rm -rf "$work"
  mkdir -p "$work/source"
  find . -mindepth 1 -maxdepth 1 ! -name .git ! -name build ! -name out \
    -exec cp -r -t "$work/source" {} +
  add_newcomer "$work/source/mechanisms"
  # Without PyTorch each object is built once.
  cmake -S "$work/source" -B "$work/build" -G Ninja -D ATTNBENCH_TESTS=OFF \
    -D ATTNBENCH_WERROR=ON -D CMAKE_DISABLE_FIND_PACKAGE_Torch=ON
  for object in registry.cc newcomer/newcomer.cc newcomer/newcomer_reference.cc \
    wait_k/wait_k.cc wait_k/wait_k_reference.cc; do
    ninja -C "$work/build" "$(ninja -C "$work/build" -t targets all |
      sed -n "s|^\(.*/mechanisms/$object\.o\):.*|\1|p")"
  done
}

# Does in folder $1 what CONTRIBUTING.md tells a newcomer, with both examples.
add_newcomer() {
  local file
  cp -r "$1/skeleton" "$1/newcomer"
  for file in "$1"/newcomer/skeleton*; do
    mv "$file" "${file/newcomer\/skeleton/newcomer\/newcomer}"
  done
  sed -i 's/skeleton/newcomer/g; s/SKELETON/NEWCOMER/g' "$1"/newcomer/*
  cp -r docs/examples/wait_k "$1"
  sed -i 's/^  MECHANISM(soft) .*/  MECHANISM(newcomer) \\\n  MECHANISM(wait_k) \\\n&/' \
    "$1/registry.cc"
}

# clang cannot read PyTorch's headers, so this is g++, and one SIMD level (AVX2)
# of kernels whose other levels asan-ubsan has seen; most of the time goes into
# compiling, so -O0. The runtime of the sanitizer must come first, as Python is not
# built with it; leaks are not looked for, because Python leaks on purpose.
step_operators() {
  local build=build/operators runtime python
  scripts/setup.sh --training
  python=$(find_python torch)
  configure_and_build ci attnbench
  cmake --preset asan-ubsan -B "$build" -D CMAKE_CXX_COMPILER=g++ -D ATTNBENCH_WERROR=OFF \
    -D CMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1" \
    -D CMAKE_CXX_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -DHWY_DISABLED_TARGETS=0x19FF"
  cmake --build "$build" --parallel "$(nproc)" --target attnbench_torch
  runtime="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"
  printf '%s\n' banded operators modules online dispatch errors latency |
    xargs -P "$(nproc)" -I TEST env LD_PRELOAD="$runtime" \
      ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
      ATTNBENCH="$root/build/ci/attnbench" OPENBLAS_NUM_THREADS=1 \
      ATTNBENCH_TORCH_LIBRARY="$root/$build/libattnbench_torch.so" \
      PYTHONPATH=python:tests/support "$python" tests/torch/TEST_test.py
}

step_report() {
  local python
  python=$(find_python selenium)
  configure_and_build ci attnbench
  "$python" tests/report/browser_test.py
  ATTNBENCH=$root/build/ci/attnbench "$python" tests/report/compare_py_test.py
}

step_deb() {
  configure_and_build ci attnbench
  rm -f build/ci/*.deb
  (cd build/ci && cpack)
  tests/scripts/deb.sh build/ci/*.deb
}

run_step() {
  local step=$1 status=0 start=$SECONDS log=build/check/$1.log
  # This is not `if (...)`: a condition would switch off `set -e` inside the
  # step.
  set +e
  (
    set -e
    "step_$step"
  ) >"$log" 2>&1
  status=$?
  set -e
  if ((status == 0)); then
    printf '%-11s ok      %4d s\n' "$step" $((SECONDS - start))
  else
    cat "$log"
    printf '%-11s FAILED  %4d s, see %s\n' "$step" $((SECONDS - start)) "$log"
    failed+=("$step")
  fi
}

all=false
steps=()
while (($#)); do
  case $1 in
    --all) all=true ;;
    --help | -h) print_help && exit 0 ;;
    *)
      is_one_of "$1" "${all_steps[@]}" ||
        usage_error "unknown step '$1'; allowed: ${all_steps[*]}, --all, --help"
      steps+=("$1")
      ;;
  esac
  shift
done
((${#steps[@]})) || steps=("${default_steps[@]}")

cd "$root"
mkdir -p build/check
scripts/setup.sh --tools
failed=()
for step in "${steps[@]}"; do run_step "$step"; done
if ((${#failed[@]})); then
  say "failed: ${failed[*]}"
  exit 1
fi
say "passed: ${steps[*]}"
