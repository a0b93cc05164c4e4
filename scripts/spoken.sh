#!/usr/bin/env bash
# From nothing to a picture of attention to a spoken sentence: makes sentences of four
# synthetic speakers, trains a small model to tell their phones, and draws what it attends
# to. Nothing is compiled. It takes 5 to 10 minutes on 2 cores.
#
# usage: spoken.sh [NAME...]
#   NAME     what is trained, of experiments/training/speech.json; monotonic if none is given
#   --help   this text
# example: scripts/spoken.sh soft monotonic mocha_w2
#
# build/spoken/ gets the result, speech.json, and the pictures.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

names=monotonic
case ${1:-} in
  --help | -h) print_help && exit 0 ;;
  -*) usage_error "unknown option '$1'; allowed: --help" ;;
  ?*) names=$(IFS=, && printf '%s' "$*") ;;
esac
cd "$root"
mkdir -p build/spoken
scripts/setup.sh --training
python=$(find_python torch)
attnbench() { PYTHONPATH=python "$python" -m attnbench "$@"; }
"$python" experiments/training/corpora.py speech -j "$(nproc)"
attnbench train experiments/training/speech.json --quick --only "$names" -j "$(nproc)" \
  --force -o build/spoken/speech.json
attnbench draw build/spoken/speech.json -o build/spoken
