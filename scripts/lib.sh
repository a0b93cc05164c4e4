# shellcheck shell=bash
# Functions that the scripts share; they are sourced, never run, and the caller
# sets `set -euo pipefail`. Sets `root`, the repository, and `program`, the
# caller's name.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=$(basename "$0")

# The Python that the program would run (harness/system/python.h).
find_python() {
  local folder
  if [[ -n ${ATTNBENCH_PYTHON-} ]]; then
    printf '%s' "$ATTNBENCH_PYTHON"
    return
  fi
  for folder in "${VIRTUAL_ENV-}" "${CONDA_PREFIX-}"; do
    [[ -n $folder ]] || continue
    if "$folder/bin/python3" "$root/plots/analysis/start.py" 2>/dev/null; then
      printf '%s' "$folder/bin/python3"
      return
    fi
  done
  if [[ -x /usr/bin/python3 ]]; then printf /usr/bin/python3; else printf python3; fi
}
# shellcheck disable=SC2034  # used by the scripts
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
