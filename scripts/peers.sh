#!/usr/bin/env bash
# Ours against a framework: installs what is missing, PyTorch too, builds, times
# every experiment of experiments/peers with the framework in the same rounds,
# draws, and writes the table of targets.
#
# usage: peers.sh [--quick]
#   --quick   fewer rounds and shorter grids; everything goes to build/peers
#             (otherwise to results/, results/figures/ and into README.md)
#   --help    this text
# example: scripts/peers.sh --quick
#
# Ends with the table of targets. Other programs on the machine spoil it.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

out=results
profile=()
while (($#)); do
  case $1 in
    --quick)
      out=build/peers
      profile=(--quick)
      ;;
    --help | -h) print_help && exit 0 ;;
    *) usage_error "unknown argument '$1'; allowed: --quick, --help" ;;
  esac
  shift
done

cd "$root"
mkdir -p "$out/figures"
scripts/setup.sh --peers
configure_and_build release attnbench

results=()
for experiment in experiments/peers/*.json; do
  name=$(basename "$experiment" .json)
  [[ $name != targets ]] || continue
  say "measuring $name"
  results+=("$out/peers_$name.json")
  build/release/attnbench run-sweep "$experiment" "${profile[@]}" --force \
    --peer "$python experiments/peers/framework.py" -o "$out/peers_$name.json"
done

"$python" plots/draw.py --figure peers "$out/peers_lengths.json" -o "$out/figures"
if [[ $out == results ]]; then
  "$python" plots/targets.py "${results[@]}" --into README.md
fi
"$python" plots/targets.py "${results[@]}"
say "results are in $out, figures in $out/figures"
