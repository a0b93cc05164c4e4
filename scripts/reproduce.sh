#!/usr/bin/env bash
# From a fresh clone to the papers' two speed figures: installs what is missing,
# builds the program, sweeps, decodes one sequence with each mechanism, measures
# the errors of published training expectations, draws.
#
# usage: reproduce.sh [--full] [-o DIR]
#   --full   the papers' protocol: the whole grids, 20 rounds. The quick profile,
#            the default, has a coarser grid and fewer rounds.
#   -o DIR   where results and figures go, in DIR/quick or DIR/full (default:
#            out/ of the repository)
#   --help   this text
# example: scripts/reproduce.sh -o /tmp/attention
#
# Ends with the places of the figures and the headline speed-ups.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

out=out  # relative: results record their command, which should name no machine
profile=(--quick)
name=quick
while (($#)); do
  case $1 in
    --full)
      profile=()
      name=full
      ;;
    -o)
      [[ -n ${2-} ]] || usage_error "-o wants a folder"
      out=$(realpath -m -- "$2")
      shift
      ;;
    --help | -h) print_help && exit 0 ;;
    *) usage_error "unknown argument '$1'; allowed: --full, -o DIR, --help" ;;
  esac
  shift
done

experiments=(mad_figure8 mocha_figure3)
mechanisms=(soft monotonic mocha matcha memory)

cd "$root"
out=$out/$name
mkdir -p "$out/figures" || usage_error "-o: cannot make the folder '$out/figures'"
scripts/setup.sh
configure_and_build release attnbench
attnbench=build/release/attnbench

if ((${#profile[@]} == 0)); then
  for experiment in "${experiments[@]}"; do
    say "ahead of us, $experiment:"
    "$attnbench" run-sweep "experiments/$experiment.json" --dry-run
  done
fi

for experiment in "${experiments[@]}"; do
  say "measuring $experiment"
  "$attnbench" run-sweep "experiments/$experiment.json" "${profile[@]}" --force \
    -o "$out/$experiment.json"
done

alignments=()
for mechanism in "${mechanisms[@]}"; do
  alignments+=("$out/alignment_$mechanism.json")
  "$attnbench" decode --mechanism "$mechanism" --workload planted -T 24 -U 12 -d 64 \
    >"$out/alignment_$mechanism.json"
done

say "measuring stability"
"$attnbench" stability "${profile[@]}" --force -o "$out/stability.json"

say "drawing"
for experiment in "${experiments[@]}"; do
  "$python" plots/draw.py "$out/$experiment.json" -o "$out/figures"
done
"$python" plots/draw.py "$out/stability.json" -o "$out/figures"
"$python" plots/draw.py --figure alignments "${alignments[@]}" -o "$out/figures"
say "results are in $(realpath "$out"), figures in $(realpath "$out/figures")"
