#!/usr/bin/env bash
# scripts/slurm against a real Slurm of one node, which this starts on the
# loopback interface in a folder of its own and ends by process id. Guards
# against shards that together are another run than one would have been.
#
# usage: slurm.sh ATTNBENCH
# Needs root and Debian's packages slurmctld, slurmd, slurm-client and munge.
# Used by scripts/check.sh slurm.

set -Eeuo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
ATTNBENCH=$(realpath "$1")
export ATTNBENCH
python=/usr/bin/python3

work=$(mktemp -d)
daemons=()
stop() {
  local id
  for id in "${daemons[@]}"; do kill "$id" || true; done
  for id in "${daemons[@]}"; do wait "$id" || true; done
  rm -rf "$work"
}
trap stop EXIT

show_logs() {
  tail -n 20 "$work"/*.log "$work"/results/*.log || true
}
trap 'show_logs' ERR

free_port() {
  "$python" -c 'import socket
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    print(s.getsockname()[1])'
}

name=$(hostname -s)
mkdir -p "$work"/{state,spool,munge,results}
# munged wants its folders closed to others.
chmod 755 "$work"
chmod 700 "$work/munge"
dd if=/dev/urandom of="$work/munge/key" bs=128 count=1 status=none
chmod 600 "$work/munge/key"
cat >"$work/slurm.conf" <<CONF
ClusterName=attnbench
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
ReturnToService=2
SelectType=select/cons_tres
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
NodeName=$name NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
export SLURM_CONF=$work/slurm.conf

# munged and the daemons of Slurm stay in the foreground, as children.
munged --force --foreground --key-file="$work/munge/key" \
  --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/munged.log" --seed-file="$work/munge/seed" \
  >"$work/munged.log" 2>&1 &
daemons+=($!)
for ((i = 0; i < 100; ++i)); do
  [[ ! -S $work/munge/socket ]] || break
  sleep 0.1
done
slurmctld -D >"$work/slurmctld.log" 2>&1 &
daemons+=($!)
slurmd -D >"$work/slurmd.log" 2>&1 &
daemons+=($!)
for ((i = 0; i < 300; ++i)); do
  [[ $(sinfo -h -o %T 2>/dev/null) != idle ]] || break
  sleep 0.1
done
[[ $(sinfo -h -o %T) == idle ]]

cd "$work/results"
submit() { "$root/scripts/slurm/submit.sh" --wait --shards 4 "$@"; }

sweep=(run-sweep --mechanism "soft,monotonic,mocha" -T "3,4,5,6,7" -U 2 -d 8 --repetitions 2)
submit -o sweep.json "${sweep[@]}"
"$ATTNBENCH" "${sweep[@]}" -o one.json
"$python" - <<'PYTHON'
import json
TIMES = ("samples_ns", "median_ns", "interval_ns", "prepare_ns", "prepare_samples_ns",
         "spread", "draw_ns", "trials_per_sample", "limit")
def cells(path):
    with open(path) as file:
        document = json.load(file)
    return document["context"], [{k: v for k, v in cell.items() if k not in TIMES}
                                 for cell in document["cells"]]
(merged, several), (alone, single) = cells("sweep.json"), cells("one.json")
assert len(several) == 15 and several == single, "the shards' cells are others"
assert merged["points"] == alone["points"] and merged["shard"] is None, merged
PYTHON

verification=(verify --quick --trials 200 --mechanism "monotonic,memory")
submit -o verify.json "${verification[@]}"
"$ATTNBENCH" "${verification[@]}" -o alone.json >alone.txt
"$python" - <<'PYTHON'
import json
def verdict(path):
    with open(path) as file:
        document = json.load(file)
    return {k: v for k, v in document.items() if k != "context"}
assert verdict("verify.json") == verdict("alone.json"), "the verdict is another"
PYTHON

# A shard that fails: the merge says which and has its exit code.
status=0
submit -o missing.json verify --quick --trials 0 || status=$?
[[ $status == 3 || $status == 2 ]]
grep -q 'missing.json.shard-0-of-4' missing.json.merge.log
[[ ! -e missing.json ]]
printf 'slurm: an array of 4 gave what one run gave, of a sweep and of verify\n'
