#!/usr/bin/env bash
# Shows that the program is right, and that its results say how it was built, when it
# is built in other ways than by the presets: by Ninja Multi-Config, with link-time
# optimisation, and for CPUs with AVX-512 alone. For a person, before a release; times
# are not looked at.
#
# usage: builds.sh [BUILD...]
#   multi-config   Ninja Multi-Config, configuration Release; sweeps by the link
#                  run-sweep
#   lto            CMAKE_INTERPROCEDURAL_OPTIMIZATION
#   avx512         -march=skylake-avx512; needs an x86 CPU with AVX-512
#   --help         this text
# example: scripts/builds.sh multi-config lto
#
# Without a BUILD all of them. Each takes about ten minutes on two cores, and stays in
# build/builds/BUILD, with the output of every step in build/builds/BUILD-STEP.log.
# Prints one line a step with its seconds, ends in one line that says what passed, and
# at the first step that fails in its output (exit 1).

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

all_builds=(multi-config lto avx512)
builds=()
while (($#)); do
  case $1 in
    --help | -h) print_help && exit 0 ;;
    *)
      is_one_of "$1" "${all_builds[@]}" ||
        usage_error "unknown build '$1'; allowed: ${all_builds[*]}, --help"
      builds+=("$1")
      ;;
  esac
  shift
done
((${#builds[@]})) || builds=("${all_builds[@]}")
if is_one_of avx512 "${builds[@]}" && ! grep -qw avx512vl /proc/cpuinfo; then
  usage_error "avx512: this CPU has no AVX-512, so its program cannot be run; name the others"
fi

cd "$root"
build=build/builds

# build_program FOLDER ARGUMENT...: of cmake; without what the program does not need.
build_program() {
  local folder=$1
  shift
  cmake -S . -B "$folder" -D ATTNBENCH_TESTS=OFF -D ATTNBENCH_WERROR=ON \
    -D CMAKE_DISABLE_FIND_PACKAGE_Torch=ON "$@"
  cmake --build "$folder" --config Release --parallel "$(nproc)" --target attnbench
}

# check_build PROGRAM RESULT FLAGS: the numbers, and that the result has the build
# type and FLAGS among its flags.
check_build() {
  check_numbers "$2" "$1"
  "$python" - "$2" "$3" <<'PYTHON'
import json, sys

with open(sys.argv[1]) as file:
    context = json.load(file)["context"]
print("build type:", context["build_type"])
print("flags:", context["flags"])
if context["build_type"] != "Release" or f" {sys.argv[2]}" not in context["flags"]:
    sys.exit(f"the result does not say Release and {sys.argv[2]}")
PYTHON
}

for one in "${builds[@]}"; do
  folder=$build/$one
  case $one in
    multi-config)
      arguments=(-G "Ninja Multi-Config")
      bin=$folder/Release
      flags='-O3 -DNDEBUG'
      ;;
    lto)
      arguments=(-G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_INTERPROCEDURAL_OPTIMIZATION=ON)
      bin=$folder
      flags=-flto
      ;;
    avx512)
      # g++ 12 warns of its own header for AVX-512 where Eigen includes it.
      arguments=(-G Ninja -D CMAKE_BUILD_TYPE=Release -D ATTNBENCH_WERROR=OFF
        -D CMAKE_CXX_FLAGS=-march=skylake-avx512)
      bin=$folder
      flags=-march=skylake-avx512
      ;;
  esac
  step "$one-build" build_program "$folder" "${arguments[@]}"
  step "$one-link" "$bin/run-sweep" experiments/ci.json --dry-run
  step "$one-numbers" check_build "$bin/attnbench" "$build/$one.json" "$flags"
done
say "passed: $steps steps, ${builds[*]}"
