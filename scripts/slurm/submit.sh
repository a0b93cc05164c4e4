#!/usr/bin/env bash
# Shares a sweep or a verification over the nodes of a Slurm cluster: an array
# of jobs, one a shard, and a job that merges their results when all have ended.
#
# usage: submit.sh --shards N -o RESULT [--sbatch OPTION]... [--wait] COMMAND...
#   --shards N       jobs in the array
#   -o RESULT        the merged result; shards are RESULT.shard-I-of-N, their
#                    output RESULT.shard-I-of-N.log
#   --sbatch OPTION  for sbatch, of every job, e.g. --sbatch --partition=short;
#                    can be repeated
#   --wait           returns when the merge has ended, with its exit code
#   --help           this text
# COMMAND is run-sweep or verify with its arguments, without -o and --shard.
# example: scripts/slurm/submit.sh --shards 4 -o mine.json run-sweep experiments/mad_figure8.json
#
# Jobs of run-sweep ask for nodes of their own: nothing else may run where times
# are taken. A job that Slurm starts anew resumes. The folder must be one that
# all nodes see. Prints the ids of the array and of the merge.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

attnbench=${ATTNBENCH:-$root/build/release/attnbench}
shards=
output=
options=()
wait=()
while (($#)); do
  case $1 in
    --shards | -o | --sbatch)
      (($# > 1)) || usage_error "$1 wants a value"
      case $1 in
        --shards) shards=$2 ;;
        -o) output=$2 ;;
        --sbatch) options+=("$2") ;;
      esac
      shift
      ;;
    --wait) wait=(--wait) ;;
    --help | -h) print_help && exit 0 ;;
    -*) usage_error "unknown argument '$1'; allowed: --shards, -o, --sbatch, --wait, --help" ;;
    *) break ;;
  esac
  shift
done
[[ $shards =~ ^[1-9][0-9]{0,3}$ ]] || usage_error "--shards: '$shards' is not a number from 1 to 9999"
[[ -n $output ]] || usage_error "-o is missing; name the merged result"
[[ ! -e $output ]] || usage_error "$output is already there"
is_one_of "${1:-}" run-sweep verify ||
  usage_error "COMMAND is '${1:-}'; allowed: run-sweep, verify, with their arguments"
[[ -x $attnbench ]] || usage_error "$attnbench is not there; build it by cmake --build --preset release"
command -v sbatch >/dev/null || usage_error "there is no sbatch here"

own_nodes=()
[[ $1 != run-sweep ]] || own_nodes=(--exclusive)
parts=()
for ((i = 0; i < shards; ++i)); do parts+=("$output.shard-$i-of-$shards"); done

array_id=$(sbatch --parsable --job-name=attnbench --array="0-$((shards - 1))" \
  "${own_nodes[@]}" "${options[@]}" \
  --output="$output.shard-%a-of-$shards.log" \
  "$root/scripts/slurm/shard.sh" "$attnbench" "$shards" "$output" "$@")
array_id=${array_id%%;*}
say "array $array_id"
# After any end: a shard with a failed cell has a result too, and the merge says
# which shards have none.
exec sbatch --parsable --job-name=attnbench-merge "${options[@]}" "${wait[@]}" \
  --dependency="afterany:$array_id" --output="$output.merge.log" \
  --wrap "$(printf '%q ' "$attnbench" merge "${parts[@]}" -o "$output")"
