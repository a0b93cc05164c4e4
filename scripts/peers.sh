#!/usr/bin/env bash
# Compares ours with a framework: installs what is missing, PyTorch too, builds,
# times every experiment of experiments/peers with the framework in the same
# rounds, and experiments/threads.json and matcha_algorithms.json without it,
# draws, and writes the table of targets.
#
# usage: peers.sh [--quick] [--builds N] [--before BUILD]
#   --quick   fewer rounds and shorter grids; everything goes to build/peers
#             (otherwise to results/, results/figures/ and into docs/speed.md)
#   --builds N   relinks of the program measure in turn, a process of 5 rounds
#                each: intervals are then over builds (5 at most where a process
#                takes minutes: lengths, and memory_online with one round; operators,
#                operators_before, portable and matcha_algorithms, which take longer,
#                are measured by one build)
#   --before BUILD   compares with an older program and the libattnbench_torch.so
#             beside it, or their build folder, too, by experiments/kernels_again.json
#             and peers/operators_before.json; without it these rows are not measured
#   --help    this text
# example: scripts/peers.sh --builds 20
#
# portable_cuda.json needs a GPU, so it is not measured here; its "source" says how to run it.
#
# Ends with the table of targets. An experiment that fails is named, the others
# go on, and the exit code is 1. Other programs on the machine spoil the times.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

out=results
profile=()
builds=0
before=
into=(--into docs/speed.md)
while (($#)); do
  case $1 in
    --quick)
      out=build/peers
      profile=(--quick)
      into=()
      ;;
    --builds)
      [[ ${2-} =~ ^[0-9]+$ ]] || usage_error "--builds wants a number, e.g. --builds 20"
      builds=$2
      shift
      ;;
    --before)
      [[ -f ${2-} || -e ${2-}/build.ninja ]] ||
        usage_error "--before wants a program, or a build folder (with build.ninja)"
      before=$(realpath -- "$2")
      shift
      ;;
    --help | -h) print_help && exit 0 ;;
    *) usage_error "unknown argument '$1'; allowed: --quick, --builds N, --before BUILD, --help" ;;
  esac
  shift
done

cd "$root"
mkdir -p "$out/figures"
scripts/setup.sh --peers --training
configure_and_build release attnbench attnbench_torch

failed=()

# attempt WORDS COMMAND...: goes on when the command fails.
attempt() {
  local words=$1
  shift
  say "$words"
  "$@" || failed+=("$words")
}

# measure NAME EXPERIMENT [OPTION...]: writes NAME.json.
results=()
measure() {
  local result=$out/$1.json protocol=()
  if ((builds)) && [[ $1 != @(peers_operators?(_before)|portable|matcha_algorithms) ]]; then
    local most=$builds rounds=5
    # Lengths have the most cells by far, and 100000 outputs are one trial of
    # memory_online.
    [[ $1 != @(peers_memory_online|peers_lengths) ]] || most=$((builds < 5 ? builds : 5))
    [[ $1 != peers_memory_online ]] || rounds=1
    protocol=(--builds "$most" --repetitions "$rounds")
  fi
  rm -f "$result"  # an old result must not pass for this run's
  attempt "measuring $1" build/release/attnbench run-sweep "${@:2}" \
    "${profile[@]}" "${protocol[@]}" -o "$result"
  results+=("$result")
}

torch_python=$(find_python torch)
framework="$(printf %q "$torch_python") experiments/peers/framework.py"
peer=(--peer "$framework")
for experiment in experiments/peers/*.json; do
  name=$(basename "$experiment" .json)
  [[ $name != @(targets|portable|portable_cuda|operators_before) ]] || continue
  measure "peers_$name" "$experiment" "${peer[@]}"
done
measure threads experiments/threads.json
measure matcha_algorithms experiments/matcha_algorithms.json

# compare_programs: writes kernels_again.json. That a cell is slower is a finding.
compare_programs() {
  build/release/attnbench compare --programs "$before" build/release \
    experiments/kernels_again.json --processes 8 "${profile[@]}" --json \
    >"$out/kernels_again.json" || (($? == 1))
}
if [[ -n $before ]]; then
  attempt "comparing with $before" compare_programs
  results+=("$out/kernels_again.json")
  older=$before
  [[ -d $older ]] || older=$(dirname "$older")
  older=$(realpath --relative-to=. "$older/libattnbench_torch.so")
  measure peers_operators_before experiments/peers/operators_before.json \
    --peer "$framework --before $(printf %q "$older")"
fi

attempt "drawing peers" "$python" plots/draw.py --figure peers \
  "$out/peers_lengths.json" -o "$out/figures"
# On fewer cores the figure has nothing to show that a sentence does not say.
if (($(nproc) >= 4)); then
  attempt "drawing threads" "$python" plots/draw.py --figure threads \
    "$out/threads.json" -o "$out/figures"
fi
attempt "making the table" "$python" plots/targets.py "${results[@]}" "${into[@]}"
# It has a block of its own, and no row in the table.
measure portable experiments/peers/portable.json "${peer[@]}"
show_portable() {
  build/release/attnbench show results/portable.json | "$python" plots/page.py docs/speed.md portable
}
if ((${#into[@]})); then
  attempt "putting portable into its page" show_portable
fi
say "results are in $out, figures in $out/figures"
if ((${#failed[@]})); then
  printf "$program: failed: %s\n" "${failed[@]}" >&2
  exit 1
fi
