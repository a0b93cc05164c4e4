# shellcheck shell=bash
# Functions that the scripts share; they are sourced, never run, and the caller
# sets `set -euo pipefail`. Sets `root`, the repository, and `program`, the
# caller's name.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=$(basename "$0")

# find_python [PACKAGE...]: the Python that the program would run, with these packages
# beside those of all (harness/system/python.h).
# shellcheck disable=SC2120  # scripts give packages
find_python() {
  local folder
  if [[ -n ${ATTNBENCH_PYTHON-} ]]; then
    printf '%s' "$ATTNBENCH_PYTHON"
    return
  fi
  for folder in "${VIRTUAL_ENV-}" "${CONDA_PREFIX-}"; do
    [[ -n $folder ]] || continue
    if env -u PYTHONHOME timeout 60 "$folder/bin/python3" \
      "$root/python/attnbench/analysis/start.py" "$@" 2>/dev/null; then
      printf '%s' "$folder/bin/python3"
      return
    fi
  done
  if [[ -x /usr/bin/python3 ]]; then printf /usr/bin/python3; else printf python3; fi
}
# shellcheck disable=SC2034,SC2119  # used by the scripts
python=$(find_python)

# The comment at the head of the script is its help.
print_help() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

say() { printf '%s: %s\n' "$program" "$*"; }

usage_error() {
  printf '%s: %s; see %s --help\n' "$program" "$*" "$program" >&2
  exit 2
}

# is_one_of WORD ALLOWED...
is_one_of() {
  local word=$1 allowed
  shift
  for allowed in "$@"; do [[ $word != "$allowed" ]] || return 0; done
  return 1
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
  local preset=$1
  shift
  (cd "$root" && cmake --preset "$preset" &&
    cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"})
}

# step NAME COMMAND...: a step of a script that stops at the first one that fails. Its
# output is in $build/NAME.log; one line has its seconds and what it counted, and
# `steps` their number.
steps=0
step() {
  # shellcheck disable=SC2154  # the caller sets it
  local name=$1 start=$SECONDS log=$build/$1.log
  shift
  mkdir -p "$build"
  # As in check.sh, a condition would switch off `set -e` inside the step.
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1
  local status=$?
  set -e
  if ((status != 0)); then
    tail -n 40 "$log" >&2
    say "failed: $name, after $((SECONDS - start)) s; all of its output is in $log"
    exit 1
  fi
  steps=$((steps + 1))
  printf '%-24s %5d s  %s\n' "$name" "$((SECONDS - start))" "$(summary "$log")"
}

# The last line that says what was counted.
summary() {
  grep -E '^\[  PASSED  \]|all passed|cells compared|SIMD level' "$1" | tail -n 1 || true
}

# check_numbers RESULT PROGRAM...: sweeps as CI does with the program that PROGRAM...
# starts; the numbers have to be those of the baseline.
check_numbers() {
  local result=$1
  shift
  "$@" run-sweep experiments/ci.json -o "$result" --force
  "$@" check "$result" --baseline results/baseline/ci.json
}
