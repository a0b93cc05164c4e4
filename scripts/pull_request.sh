#!/usr/bin/env bash
# Holds a change to what was there before: the numbers that it computes, and the
# instructions that each mechanism needs, which do not depend on what else the machine
# does.
#
# usage: pull_request.sh BEFORE AFTER FOLDER
#   BEFORE   the program of the parent, AFTER that of the change, both built by one
#            compiler on one machine
#   FOLDER   gets before.json and after.json (results), comment.md (for the pull
#            request) and junit.xml; it is made if need be
#   --help   this text
# example: scripts/pull_request.sh ../parent/build/release/attnbench \
#            build/release/attnbench out
#
# Needs valgrind and no Python. Exit code: that of attnbench check, so 1 if a number
# changed or a mechanism needs 0.5 percent more instructions, and 3 if the two cannot be
# compared; 2 for wrong usage.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in --help | -h) print_help && exit 0 ;; esac
(($# == 3)) || usage_error "takes BEFORE AFTER FOLDER, given: $*"
before=$1 after=$2 folder=$3
for side in "$before" "$after"; do
  [[ -f $side && -x $side ]] || usage_error "$side: is no program"
done
mkdir -p "$folder"
rm -f "$folder"/{before,after}.json "$folder"/{comment.md,junit.xml}
# A pull request has comments of other programs, too.
title='### attnbench: numbers and instructions, beside the parent'
# Measures program $2 as side $1. A result that has a cell without numbers (exit code 1)
# is for `check` to judge; without any result the comment says why.
measure() {
  local code=0
  "$2" run-sweep "$root/experiments/pull_request.json" --measure instructions \
    --force -o "$folder/$1.json" >/dev/null 2>"$folder/errors" || code=$?
  cat "$folder/errors" >&2
  if ((code > 1)); then
    {
      printf '%s\n\nThe program %s could not be measured:\n\n' "$title" "$1"
      sed 's/^/    /' "$folder/errors"
    } | tee "$folder/comment.md"
  fi
  rm "$folder/errors"
  ((code <= 1)) || exit "$code"
}
measure before "$before"
measure after "$after"

# Compares the two, in format $1.
check() {
  "$after" check "$folder/after.json" --baseline "$folder/before.json" --format "$1"
}
code=0
printf '%s\n\n' "$title" >"$folder/comment.md"
check markdown >>"$folder/comment.md" || code=$?
check junit >"$folder/junit.xml" || true
cat "$folder/comment.md"
exit "$code"
