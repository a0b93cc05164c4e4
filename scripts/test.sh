#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
#
# usage: test.sh [--preset NAME]
#   --preset NAME   release (default), ci (warnings are errors), or debug; the
#                   presets with sanitizers are run by check.sh
#   --help          this text
# example: scripts/test.sh --preset debug
#
# Ends in one line that says what passed; ctest's own report stays in
# build/NAME/ctest.log.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

presets=(release ci debug)
preset=release
while (($#)); do
  case $1 in
    --preset)
      (($# > 1)) || usage_error "--preset wants a name: ${presets[*]}"
      preset=$2
      is_one_of "$preset" "${presets[@]}" ||
        usage_error "--preset: unknown preset '$preset'; allowed: ${presets[*]}"
      shift
      ;;
    --help | -h) print_help && exit 0 ;;
    *) usage_error "unknown argument '$1'; allowed: --preset NAME, --help" ;;
  esac
  shift
done

log=$root/build/$preset/ctest.log
rm -f "$log"  # an old report must not pass for this run's

"$root/scripts/setup.sh" --training
configure_and_build "$preset"
if ! (cd "$root" && ctest --preset "$preset" --output-log "$log"); then
  say "failed: preset $preset, see build/$preset/ctest.log"
  exit 1
fi
say "passed: $(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$log") tests, preset $preset"
