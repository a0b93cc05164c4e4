#!/usr/bin/env bash
# Guards against a reproduction that begins without saying how long it takes, that
# measures again what is there, takes half a result for a whole one, or ends without
# its reports. The program, the build and the plots are stand-ins that write down what
# they were asked for: nothing is built or measured.
#
# usage: reproduce_test.sh

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
calls=$work/calls
checks=0

fail() {
  printf 'reproduce_test.sh: %s\n' "$*" >&2
  for file in "$work/output" "$calls"; do
    [[ ! -s $file ]] || sed 's/^/  | /' "$file" >&2
  done
  exit 1
}

stand_in() {
  mkdir -p "$(dirname "$1")"
  cat >"$1"
  chmod +x "$1"
}

# A tree with the real script, the real experiments, and stand-ins for the rest.
mkdir -p "$tree/scripts" "$work/bin"
cp "$root/scripts/reproduce.sh" "$root/scripts/lib.sh" "$root/scripts/estimate.py" \
  "$tree/scripts"
cp -r "$root/experiments" "$tree"
stand_in "$tree/scripts/setup.sh" </dev/null
stand_in "$work/bin/cmake" </dev/null
stand_in "$tree/build/release/attnbench" <<'STUB'
#!/usr/bin/env bash
# It takes a minute for every experiment, and writes whole results to -o.
echo "$*" >>"$CALLS"
[[ $1 != "${FAILS-}" ]] || exit 3
if [[ " $* " == *" --dry-run "* ]]; then
  echo '{"estimated_s": 60, "num_unknown": 1}'
  exit
fi
while (($#)); do
  case $1 in
    --results) for name in speedup figure3 stability verify ${MEASURED-}; do echo '{}' >"$2/$name.json"; done ;;
    -o) echo '{"kind": "made up"}' >"$2" ;;
  esac
  shift
done
STUB
for plot in draw reproduction; do
  stand_in "$tree/plots/$plot.py" <<'STUB'
import os
import sys

name = os.path.basename(sys.argv[0])
with open(os.environ["CALLS"], "a", encoding="utf-8") as file:
    print(name, *sys.argv[1:], file=file)
if name == "reproduction.py":
    with open(sys.argv[-1], "w", encoding="utf-8") as file:
        print("38 claims: 38 hold", file=file)
STUB
done

# reproduce STATUS [OPTION...]
reproduce() {
  local status=0 want=$1
  shift
  : >"$calls"
  CALLS=$calls PATH=$work/bin:$PATH "$tree/scripts/reproduce.sh" -o "$work/out" "$@" \
    >"$work/output" 2>&1 </dev/null || status=$?
  ((status == want)) || fail "exit status $status, not $want, of: reproduce.sh $*"
  checks=$((checks + 1))
}

called() {
  grep -qE -- "$1" "$calls" || fail "not called: $1"
  checks=$((checks + 1))
}
not_called() {
  ! grep -qE -- "$1" "$calls" || fail "called: $1"
  checks=$((checks + 1))
}
says() {
  grep -qE -- "$1" "$work/output" || fail "does not say: $1"
  checks=$((checks + 1))
}
# first PATTERN THEN: expects this order of two calls.
first() {
  local one two
  one=$(grep -nE -m1 -- "$1" "$calls" | cut -d: -f1)
  two=$(grep -nE -m1 -- "$2" "$calls" | cut -d: -f1)
  [[ -n $one && -n $two && $one -lt $two ]] || fail "not in this order: $1, $2"
  checks=$((checks + 1))
}

quick=$work/out/quick
reproduce 0
called "^claims --quick --force --results $quick/results -o $quick/claims.json$"
not_called '--dry-run'
for experiment in latency_bias alignatt monotonic_algorithms matcha_algorithms crossover crossover_beam; do
  [[ -e $root/experiments/$experiment.json ]] || fail "no experiment $experiment"
  called "^run-sweep experiments/$experiment.json --quick --force -o $quick/results/"
done
for figure in mad_figure8 mad_figure8_builds mocha_figure3 britz_figure2 stability alignments latency \
  memory_share policy monotonic_algorithms matcha_algorithms monte_carlo sharpness; do
  called "^draw.py --figure $figure .*-o $quick/figures$"
done
not_called 'results/training'
# Experiments that were not measured are named.
not_called 'britz_table1'
says 'decoder was not measured'
called "^report $quick/claims.json .*$quick/results/verify.json -o $quick/report.html --force"
called "^reproduction.py $quick/claims.json $quick/results/speedup.json $quick/results/authors.json .*-o $quick/REPRODUCTION.md$"
first '^claims' '^report'
first '^draw.py --figure stability_gradient' '^reproduction.py'
says '^38 claims: 38 hold$'
says "$quick/REPRODUCTION.md and $quick/report.html"

# For the whole grids the time comes first. Every sweep of the ledger is in it.
full=$work/out/full
reproduce 0 --full
count=$((6 + $(grep -c '"kind": "sweep"' "$root/experiments/claims.json")))
((count >= 12)) || fail "only $count experiments in the ledger"
(($(grep -c -- '--dry-run' "$calls") == count)) || fail "not $count estimates"
says "^about $count min in all"
says "^a guess for $count cells that failed on a small point"
first '^run-sweep experiments/britz_table3.json --dry-run' '^claims'
called '^run-sweep experiments/mad_figure8.json --dry-run --json --processes 5 --repetitions 5 --trials 25$'
called "^claims --force --results $full/results -o $full/claims.json$"
called "^draw.py --figure mad_figure8_builds $full/results/authors.json $full/results/speedup.json "
not_called '--quick'
reproduce 0 --eigen "$work/eigen"
called "^claims --quick --force --eigen $work/eigen --results $quick/results "

# Whole results are not measured again; half ones, or ones older than the
# program, are.
reproduce 0 --full --resume
not_called '^claims'
says 'claims are measured already'
called '^reproduction.py'
# Its sweeps have a cell in error, which is measured again.
printf '{"mechanism":"soft","status":"error"}' >"$full/results/killed.json"
reproduce 0 --full --resume
called '^claims --resume'
rm "$full/results/killed.json"
printf '{"kind": "made' >"$full/claims.json"
reproduce 0 --full --resume
called "^claims --resume --results $full/results -o $full/claims.json$"
mkdir -p "$tree/results/training"
for newer in build/release/attnbench experiments/mad_figure8.json experiments/claims.json \
  results/training/copy.json; do
  touch -d '+1 minute' "$tree/$newer"
  reproduce 0 --full --resume
  called '^claims --resume'
  touch -d '-1 hour' "$tree/$newer"
done
# What is stored of training is drawn and told.
called "^draw.py results/training/copy.json -o $full/figures$"
called "^reproduction.py .* results/training/copy.json -o $full/REPRODUCTION.md$"
reproduce 0 --full
called '^claims --force'
# A run that ended before its claims leaves no verdicts of the one before it.
FAILS=claims reproduce 3 --full
reproduce 0 --full --resume
called '^claims --resume'

# Without a result there is no report; a decoder's result is still drawn.
rm -r "$work/out"
FAILS=claims reproduce 3
not_called '^report'
[[ ! -e $quick/REPRODUCTION.md ]] || fail "a report of nothing"
FAILS=run-sweep reproduce 3 --full
not_called '^claims'
MEASURED=decoder reproduce 0
called "^draw.py --figure britz_table1 $quick/results/decoder.json"
# A run draws an earlier run's result only if it goes on from it.
reproduce 0 --resume
called 'britz_table1'
reproduce 0
not_called 'britz_table1'

printf 'reproduce_test.sh: passed: %d checks\n' "$checks"
