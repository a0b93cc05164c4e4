#!/usr/bin/env bash
# One job of the array that submit.sh makes: measures or verifies its shard.
#
# usage: sbatch --array=... shard.sh ATTNBENCH SHARDS RESULT COMMAND...

set -euo pipefail

attnbench=$1 shards=$2 output=$3
shift 3
# What a job that Slurm starts anew, or submit.sh --resume takes up, finds of its
# first start.
case $1 in
  run-sweep) again=--resume ;;
  verify) again=--force ;;
esac
exec "$attnbench" "$@" "$again" --shard "$SLURM_ARRAY_TASK_ID/$shards" \
  -o "$output.shard-$SLURM_ARRAY_TASK_ID-of-$shards"
