#!/usr/bin/env bash
# The job behind the array that submit.sh makes: merges the results of the
# shards, or ends with 3 where some have none, as a merge without them does.
#
# usage: sbatch --dependency=... merge.sh ATTNBENCH SHARDS RESULT [OPTION...]

set -euo pipefail

attnbench=$1 shards=$2 output=$3
shift 3
parts=()
missing=()
for ((i = 0; i < shards; ++i)); do
  part=$output.shard-$i-of-$shards
  parts+=("$part")
  [[ -e $part ]] || missing+=("$i/$shards: there is no $part; its job says why in $part.log")
done
if ((${#missing[@]})); then
  printf 'merge.sh: shard %s\n' "${missing[@]}" >&2
  exit 3
fi
exec "$attnbench" merge "${parts[@]}" -o "$output" "$@"
