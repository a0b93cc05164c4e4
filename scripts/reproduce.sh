#!/usr/bin/env bash
# Takes a fresh clone to a verdict on every claim of the papers: installs what
# is missing, builds the program, measures, decodes one sequence with each
# mechanism, draws the papers' figures, and writes two reports. What needs trained
# models is read from results/training, which `attnbench train` makes.
#
# usage: reproduce.sh [--full] [--resume] [--eigen DIR]... [-o DIR]
#   --full     the papers' protocol: the whole grids, more rounds. It says first how
#              long that takes. The quick profiles, the default, have coarser grids,
#              fewer rounds and trials; many verdicts on times stay open with them
#   --resume   go on where an earlier run ended: finished points of its sweeps are
#              not measured again; `verify` and `stability` are, unless all claims
#              have verdicts
#   --eigen DIR  a folder with Eigen/Dense, which the program of MAD's authors is
#              built with (figure 8 needs Eigen 3.2; default: /usr/include/eigen3)
#   -o DIR     where results and figures go, in DIR/quick or DIR/full (default:
#              out/ of the repository)
#   --help     this text
# example: scripts/reproduce.sh --full --resume -o /tmp/attention
#
# Ends with the verdicts counted and the places of REPRODUCTION.md, report.html and
# the figures.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

out=out  # a relative path, as results record their command, which should name no machine
profile=(--quick)
name=quick
again=(--force)
eigens=()
while (($#)); do
  case $1 in
    --full)
      profile=()
      name=full
      ;;
    --resume) again=(--resume) ;;
    --eigen)
      [[ -n ${2-} ]] || usage_error "--eigen wants a folder"
      eigens+=(--eigen "$(realpath -m -- "$2")")
      shift
      ;;
    -o)
      [[ -n ${2-} ]] || usage_error "-o wants a folder"
      out=$(realpath -m -- "$2")
      shift
      ;;
    --help | -h) print_help && exit 0 ;;
    *) usage_error "unknown argument '$1'; allowed: --full, --resume, --eigen DIR, -o DIR, --help" ;;
  esac
  shift
done

# Figures and tables are made of these sweeps, but no claim is read from them.
sweeps=(latency_bias alignatt monotonic_algorithms matcha_algorithms crossover crossover_beam)
mechanisms=(soft monotonic mocha matcha memory)
sharpness=0.5,1,2,4,8,16,32

cd "$root"
out=$out/$name
results=$out/results
mkdir -p "$out/figures" "$results" || usage_error "-o: cannot make the folder '$out/figures'"
scripts/setup.sh
configure_and_build release attnbench
attnbench=build/release/attnbench

# A file of an earlier run must not pass for this one's.
[[ ${again[0]} == --resume ]] || rm -f "$results"/*.json "$out/claims.json"

if ((${#profile[@]} == 0)); then
  say "ahead of us, measured by the whole grids:"
  "$python" scripts/estimate.py "$attnbench" "${sweeps[@]}"
fi

stored=() # results of training, which `claims` reads and does not make
[[ -d results/training ]] && mapfile -t stored < <(find results/training -name '*.json' | sort)
# is_done FILE: whole, and measured by this program and these experiments, with what is
# stored of training now. What it was read from may have cells in error.
is_done() {
  [[ ${again[0]} == --resume && -s $1 ]] &&
    "$python" -m json.tool "$1" /dev/null 2>/dev/null &&
    [[ -z $(find "$attnbench" experiments "${stored[@]}" -newer "$1") ]] &&
    ! grep -qE '"status": ?"error"' "$results"/*.json
}

for experiment in "${sweeps[@]}"; do
  say "measuring $experiment"
  "$attnbench" run-sweep "experiments/$experiment.json" "${profile[@]}" "${again[@]}" \
    -o "$results/$experiment.json"
done

if is_done "$out/claims.json"; then
  say "claims are measured already"
else
  say "measuring claims"
  "$attnbench" claims "${profile[@]}" "${again[@]}" "${eigens[@]}" --results "$results" \
    -o "$out/claims.json"
fi

alignments=()
for mechanism in "${mechanisms[@]}"; do
  alignments+=("$out/alignment_$mechanism.json")
  "$attnbench" decode --mechanism "$mechanism" --workload planted -T 24 -U 12 -d 64 \
    >"$out/alignment_$mechanism.json"
done
"$attnbench" expect experiments/cases/britz_figure2.json >"$out/britz_figure2.json"
expectations=()
for mechanism in monotonic mocha matcha; do
  expectations+=("$out/expect_$mechanism.json")
  "$attnbench" expect "tests/golden/$mechanism-plain.json" --latency-samples 65536 \
    --sharpness "$sharpness" >"$out/expect_$mechanism.json"
done

say "drawing"
# draw RESULT FIGURE...: of a result of this run.
drawn=()
draw() {
  local result=$1 figure
  shift
  if [[ ! -e $result ]]; then
    say "$(basename "$result" .json) was not measured, so it is not shown (the claims say why)"
    return
  fi
  drawn+=("$result")
  for figure; do
    "$python" plots/draw.py --figure "$figure" "$result" -o "$out/figures"
  done
}
draw "$results/speedup.json" mad_figure8 mad_figure8_times
beside=("$results/authors.json")
# The quick grids of the two are not the same.
((${#profile[@]})) || beside+=("$results/speedup.json")
drawn+=("$results/authors.json")
"$python" plots/draw.py --figure mad_figure8_builds "${beside[@]}" -o "$out/figures"
draw "$results/figure3.json" mocha_figure3
draw "$out/britz_figure2.json" britz_figure2
draw "$results/decoder.json" britz_table1
draw "$results/translation.json"
draw "$results/stability.json" stability stability_chunks stability_gradient
draw "$results/latency_bias.json" latency memory_share
draw "$results/alignatt.json" policy
draw "$results/monotonic_algorithms.json" monotonic_algorithms
draw "$results/matcha_algorithms.json" matcha_algorithms
for figure in monte_carlo sharpness; do
  "$python" plots/draw.py --figure "$figure" "${expectations[@]}" -o "$out/figures"
done
"$python" plots/draw.py --figure alignments "${alignments[@]}" -o "$out/figures"
if ((${#stored[@]})); then
  "$python" plots/draw.py "${stored[@]}" -o "$out/figures"
fi

say "writing the reports"
"$attnbench" report "$out/claims.json" "$results"/*.json "${stored[@]}" \
  -o "$out/report.html" --force --title Reproduction
"$python" plots/reproduction.py "$out/claims.json" "${drawn[@]}" "${expectations[@]}" \
  "${stored[@]}" \
  -o "$out/REPRODUCTION.md"
grep -E '^[0-9]+ claims: ' "$out/REPRODUCTION.md"
say "$(realpath "$out/REPRODUCTION.md") and $(realpath "$out/report.html") show it," \
  "results are in $(realpath "$results"), figures in $(realpath "$out/figures")"
