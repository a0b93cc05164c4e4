# shellcheck shell=bash
# Functions that the scripts share; they are sourced, never run, and the caller
# sets `set -euo pipefail`. Sets `root`, the repository, and `program`, the
# caller's name.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=$(basename "$0")

# Debian's Python, which has Debian's packages: another one often comes first on
# PATH and has no matplotlib.
# shellcheck disable=SC2034  # used by the scripts
if [[ -e /etc/debian_version ]]; then python=/usr/bin/python3; else python=python3; fi

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
