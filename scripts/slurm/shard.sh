#!/usr/bin/env bash
# One job of the array that submit.sh makes: measures its shard.
#
# usage: sbatch --array=... shard.sh ATTNBENCH SHARDS RESULT COMMAND...

set -euo pipefail

attnbench=$1 shards=$2 output=$3
shift 3
# --resume takes what an earlier start of this job has finished.
exec "$attnbench" "$@" --resume --shard "$SLURM_ARRAY_TASK_ID/$shards" \
  -o "$output.shard-$SLURM_ARRAY_TASK_ID-of-$shards"
