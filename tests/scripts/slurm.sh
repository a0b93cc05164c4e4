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
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0
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
CLOCKS = ("spread", "trials_per_sample", "limit", "page_faults")
def cells(path):
    with open(path) as file:
        document = json.load(file)
    return document["context"], [{k: v for k, v in cell.items()
                                  if k not in CLOCKS and not k.endswith("_ns")}
                                 for cell in document["cells"]]
(merged, several), (alone, single) = cells("sweep.json"), cells("one.json")
assert len(several) == 15 and several == single, "the shards' cells are others"
assert merged["points"] == alone["points"] and merged["shard"] is None, merged
PYTHON

# Other jobs may not run beside those of the array (OverSubscribe=NO), which are
# held and never run. --force removes the shards of sweep.json.
said=$("$root/scripts/slurm/submit.sh" --shards 2 -o sweep.json --force \
  --sbatch --hold "${sweep[@]}")
array=$(sed -n 's/^submit.sh: array //p' <<<"$said")
merge=$(tail -n 1 <<<"$said")
scontrol show job "$array" >"$work/array.txt"
scontrol show job "$merge" >"$work/merge.txt"
scancel "$array" "$merge"
grep -o 'OverSubscribe=[A-Z]*' "$work/array.txt" | sort -u | diff - <(printf 'OverSubscribe=NO\n')
grep -q 'OverSubscribe=OK' "$work/merge.txt"
[[ -e sweep.json && -z $(find . -name 'sweep.json.shard-*-of-4*') ]]

# A shell writes this name as $'...', and Slurm has a pattern for %j.
result=$'it\'s a\t%j %% tab.json'
printf old | tee "$result" >"$result.shard-1-of-4"
status=0
submit -o "$result" "${sweep[@]}" 2>refused.txt || status=$?
((status == 2))
grep -q 'is already there; --force replaces it' refused.txt
rm "$result"
status=0
submit -o "$result" "${sweep[@]}" 2>refused.txt || status=$?
((status == 2))
grep -q 'shard-1-of-4 is of an earlier array (1 such files); --resume goes on with it, --force removes them' refused.txt
submit --force -o "$result" "${sweep[@]}"
[[ -s $result && -e $result.shard-3-of-4.log && -e $result.merge.log ]]

# Two shards fail: the merge names both, and nothing is merged.
cat >"$work/half" <<SH
#!/usr/bin/env bash
case "\$*" in *"--shard 0/4"* | *"--shard 2/4"*) exit 1 ;; esac
exec "$ATTNBENCH" "\$@"
SH
chmod +x "$work/half"
status=0
ATTNBENCH=$work/half submit -o missing.json "${sweep[@]}" || status=$?
((status == 3))
diff <(grep -o '^merge.sh: shard [0-9/]*' missing.json.merge.log) - <<'LINES'
merge.sh: shard 0/4
merge.sh: shard 2/4
LINES
[[ ! -e missing.json ]]

# One shard of a sweep is stopped and one is killed: --resume measures what is
# missing, and no other shard.
long=(run-sweep --mechanism "soft,monotonic" -T "3:82:1" -U 2 -d 8 --repetitions 2)
cat >"$work/stopped" <<SH
#!/usr/bin/env bash
case "\$*" in
  *"--shard 0/4"*) signal=TERM ;;
  *"--shard 2/4"*) signal=KILL ;;
  *) exec "$ATTNBENCH" "\$@" ;;
esac
"$ATTNBENCH" "\$@" &
until grep -qs '"point":' "\${!#}.journal"; do
  kill -0 \$! || exit  # it was faster
  sleep 0.005
done
kill -\$signal \$!
wait \$!
SH
chmod +x "$work/stopped"
status=0
ATTNBENCH=$work/stopped submit -o long.json "${long[@]}" || status=$?
((status == 3))
grep -q '"interrupted: ' long.json.shard-0-of-4
[[ -e long.json.shard-2-of-4.journal && ! -e long.json ]]
sha256sum long.json.shard-{1,3}-of-4 >whole.txt
submit --resume -o long.json "${long[@]}" >taken.txt
grep -qx 'submit.sh: shards to take up: 0,2' taken.txt
sha256sum --quiet --check whole.txt
"$python" - <<'PYTHON'
import json
with open("long.json") as file:
    document = json.load(file)
assert len(document["cells"]) == 160, len(document["cells"])
assert "interrupted" not in str(document["context"]["invalid_reasons"])
runs = [run["file"] for run in document["context"]["runs"]]
for i, wanted in enumerate((2, 1, 2, 1)):
    shard = f"long.json.shard-{i}-of-4"
    with open(f"{shard}.log") as log:
        # Where the clock drifted, the second run may measure all points of the first again.
        least = 1 if "clock drifted by" in log.read() else wanted
    assert least <= runs.count(shard) <= wanted, (shard, runs)
PYTHON
printf 'slurm: an array of 4 gave what one run gave\n'
