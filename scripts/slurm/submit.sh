#!/usr/bin/env bash
# Shares a sweep over the nodes of a Slurm cluster: an array of jobs, one a
# shard, and a job that merges their results when all have ended.
#
# usage: submit.sh --shards n -o RESULT [--force | --resume] [--sbatch OPTION]... [--wait] COMMAND...
#   --shards n       jobs in the array, one a --shard i/n
#   -o RESULT        the merged result; shards are RESULT.shard-i-of-n, their
#                    output RESULT.shard-i-of-n.log
#   --force          replaces RESULT, and removes files of shards that an earlier
#                    array left; none of its jobs may still run
#   --resume         takes up an earlier array of the same COMMAND and n that was
#                    interrupted: submits the shards whose result is missing,
#                    not whole, or has a cell in error or timeout, leaves the
#                    others, and merges; none of its jobs may still run
#   --sbatch OPTION  for sbatch, of every job, e.g. --sbatch --partition=short;
#                    can be repeated
#   --wait           returns when the merge has ended, with its exit code
#   --help           this text
# COMMAND is run-sweep with its arguments, without -o and --shard.
# example: scripts/slurm/submit.sh --shards 4 -o mine.json run-sweep experiments/mad_figure8.json
#
# Its jobs ask for nodes of their own: nothing else may run where times are
# taken. A job that Slurm starts anew resumes by itself. Use --resume for an
# array that was cancelled or met its time limit. The folder must be one that
# all nodes see. Prints the ids of the array, if a shard is left, and of the
# merge. The merge ends with 3 where shards have no result, and names them in
# RESULT.merge.log.

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

attnbench=${ATTNBENCH:-$root/build/release/attnbench}
shards=
output=
options=()
wait=()
force=()
resume=
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
    --force) force=(--force) ;;
    --resume) resume=yes ;;
    --help | -h) print_help && exit 0 ;;
    -*) usage_error "unknown argument '$1'; allowed: --shards, -o, --force, --resume, --sbatch, --wait, --help" ;;
    *) break ;;
  esac
  shift
done
[[ $shards =~ ^[1-9][0-9]{0,3}$ ]] || usage_error "--shards: '$shards' is not a number from 1 to 9999"
[[ -n $output ]] || usage_error "-o is missing; name the merged result"
# Slurm takes no %a in the name of a job's output that has a backslash.
[[ $output != *\\* ]] || usage_error "-o: '$output' has a backslash, which Slurm removes from the names of logs"
[[ $output != -* ]] || output=./$output
logs=${output//%/%%} # Slurm writes numbers for %j, % for %%
[[ -z $resume ]] || ((!${#force[@]})) || usage_error "--resume and --force exclude each other"

# A job would go on from a shard of another array, whoever made it.
shopt -s nullglob
old=("$output".shard-[0-9]*-of-[0-9]*)
if ((!${#force[@]})); then
  [[ ! -e $output ]] || usage_error "$output is already there; --force replaces it"
  [[ -n $resume ]] || ((!${#old[@]})) ||
    usage_error "${old[0]} is of an earlier array (${#old[@]} such files); --resume goes on with it, --force removes them"
fi
[[ ${1:-} == run-sweep ]] ||
  usage_error "COMMAND is '${1:-}'; allowed: run-sweep with its arguments"
[[ -x $attnbench ]] || usage_error "$attnbench is not there; build it by cmake --build --preset release"
command -v sbatch >/dev/null || usage_error "there is no sbatch here"

# is_whole RESULT: a killed run has left a journal beside it, a stopped one says
# in it that points are missing. Whether a cell that failed is measured again, the
# job knows.
is_whole() {
  [[ -s $1 && ! -e $1.journal ]] &&
    ! grep -qE '"interrupted: [0-9]* of [0-9]* points|"status": ?"(error|timeout)"' "$1"
}

array=0-$((shards - 1))
if [[ -n $resume ]]; then
  for file in "${old[@]}"; do
    [[ ${file#"$output".shard-} =~ ^[0-9]+-of-$shards(\..*)?$ ]] ||
      usage_error "$file is not of $shards shards; --resume wants the --shards of the earlier array"
  done
  array=
  for ((i = 0; i < shards; ++i)); do
    is_whole "$output.shard-$i-of-$shards" || array+=${array:+,}$i
  done
  say "shards to take up: ${array:-none}"
else
  rm -f -- "${old[@]}"
fi

# The merge follows any end, as a shard with a failed cell has a result too.
after=()
if [[ -n $array ]]; then
  array_id=$(sbatch --parsable --job-name=attnbench --array="$array" \
    --exclusive "${options[@]}" \
    --output="$logs.shard-%a-of-$shards.log" \
    "$root/scripts/slurm/shard.sh" "$attnbench" "$shards" "$output" "$@")
  array_id=${array_id%%;*}
  say "array $array_id"
  after=(--dependency="afterany:$array_id")
fi
exec sbatch --parsable --job-name=attnbench-merge "${options[@]}" "${wait[@]}" \
  "${after[@]}" --output="$logs.merge.log" \
  "$root/scripts/slurm/merge.sh" "$attnbench" "$shards" "$output" "${force[@]}"
