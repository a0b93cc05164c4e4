#!/usr/bin/env bash
# Guards against scripts that work only on their author's machine: from one
# folder, with everything installed, as root, with a terminal. Builds nothing.
#
# usage: scripts_test.sh

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scripts=(setup.sh test.sh check.sh reproduce.sh peers.sh man_page.sh arm.sh builds.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0

fail() {
  printf 'scripts_test.sh: %s\n' "$*" >&2
  [[ ! -s $work/output ]] || sed 's/^/  | /' "$work/output" >&2
  exit 1
}

# expect STATUS PATTERN COMMAND...: the exit status, and a line of the output.
expect() {
  local status=0 want=$1 pattern=$2
  shift 2
  "$@" >"$work/output" 2>&1 </dev/null || status=$?
  ((status == want)) || fail "exit status $status, not $want, of: $*"
  grep -q -- "$pattern" "$work/output" || fail "no line with '$pattern' from: $*"
  checks=$((checks + 1))
}

# The PATH has only the named commands, and stubs for the package manager that
# write down what they were asked for.
make_bare_machine() {
  local command
  mkdir "$work/bin"
  for command in bash env dirname basename cat sed grep; do
    ln -s "$(command -v "$command")" "$work/bin/$command"
  done
}
add_stub() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
setup() { env PATH="$work/bin" "$root/scripts/setup.sh" "$@"; }

cd "$work"  # no script may rely on the current folder

for script in "${scripts[@]}"; do
  bash -n "$root/scripts/$script"
  [[ -x $root/scripts/$script ]] || fail "$script is not executable"
  expect 0 '^usage: ' "$root/scripts/$script" --help
  expect 2 "$script: .*'--no-such'.*allowed: " "$root/scripts/$script" --no-such
done
expect 0 '^usage: ' "$root/scripts/pull_request.sh" --help
expect 2 'pull_request.sh: takes BEFORE AFTER FOLDER, given: --no-such' \
  "$root/scripts/pull_request.sh" --no-such
expect 0 '^usage: ' "$root/scripts/spoken.sh" --help
expect 2 "spoken.sh: unknown option '--no-such'; allowed: --help" "$root/scripts/spoken.sh" --no-such
# The workflow to copy names files of the sources.
while read -r file; do
  [[ -e $root/$file ]] || fail "docs/ci/attnbench.yml: there is no $file"
  checks=$((checks + 1))
done < <(grep -oE '(scripts|experiments|results|docs)/[a-z_/]+\.(sh|json|md)' \
  "$root/docs/ci/attnbench.yml")
expect 2 "unknown preset 'fast'.*allowed: release ci debug" "$root/scripts/test.sh" --preset fast
expect 2 '--preset wants a name' "$root/scripts/test.sh" --preset
expect 2 "unknown step 'format tidy'" "$root/scripts/check.sh" 'format tidy'
expect 2 '-o wants a folder' "$root/scripts/reproduce.sh" -o
expect 2 '--eigen wants a folder' "$root/scripts/reproduce.sh" --eigen
expect 2 "unknown build 'LTO'; allowed: multi-config lto avx512" "$root/scripts/builds.sh" LTO
expect 2 '--before wants a program, or a build folder' "$root/scripts/peers.sh" --before "$root/docs"
expect 2 'takes no arguments' "$root/.ci/run" --fast

make_bare_machine
expect 2 '^  libeigen3-dev$' setup
add_stub dpkg-query 'echo "installed cmake"; echo "not-installed g++"; exit 1'
add_stub apt-get "echo \"\$DEBIAN_FRONTEND \$*\" >>'$work/apt'"
add_stub id 'echo 1000'
expect 1 'missing: ninja-build g++ git' setup --check
expect 1 'missing: .* clang-tidy .*shellcheck$' setup --check --tools
expect 1 'missing: .* python3-torch libopenblas0-pthread$' setup --check --peers
expect 1 'missing: .* libtorch-dev python3-torch$' setup --check --training
expect 2 'not root and no sudo' setup
[[ ! -e $work/apt ]] || fail "setup.sh called apt-get where it may not"
add_stub sudo 'exec "$@"'
expect 0 'running: sudo .*apt-get install ninja-build g++' setup
add_stub id 'echo 0'
expect 0 'running: env .*apt-get install ninja-build' setup
expect 0 '^noninteractive update' cat "$work/apt"
expect 0 '^noninteractive install .*-y .* ninja-build g++ git' cat "$work/apt"
if grep -qw cmake "$work/apt"; then fail "setup.sh installs what is there"; fi

# This checks scripts/slurm without a Slurm: the calls of sbatch, and the files
# before and after. tests/scripts/slurm.sh has a real one.
submit() {
  env PATH="$work/bin:$PATH" ATTNBENCH="$work/bin/attnbench" \
    "$root/scripts/slurm/submit.sh" --shards 3 -o "$work/all.json" "$@"
}
for script in "$root"/scripts/slurm/*.sh; do
  bash -n "$script"
  [[ -x $script ]] || fail "$script is not executable"
done
add_stub sbatch "printf '%s\\n' \"\$*\" >>'$work/asked'; echo 7"
add_stub attnbench "printf '<%s>' \"\$@\"; exit 1"
expect 0 '^usage: ' submit --help
expect 2 "submit.sh: .*'--no-such'.*allowed: " submit --no-such
expect 2 "COMMAND is 'decode'" submit decode
touch "$work"/all.json.shard-{0-of-3.log,1-of-2,1-of-2.journal} "$work/all.json.shards"
expect 2 'all.json.shard-0-of-3.log is of an earlier array (3 such files); --resume goes on with it, --force removes' \
  submit run-sweep
[[ -e $work/all.json.shard-1-of-2 && ! -e $work/asked ]] || fail "submit.sh went on"
touch "$work/all.json"
expect 2 'all.json is already there; --force' submit run-sweep
expect 0 '^submit.sh: array 7$' submit --force --sbatch --partition=short run-sweep -T 5
[[ -e $work/all.json && -e $work/all.json.shards ]] || fail "--force removed too much"
[[ -z $(find "$work" -name 'all.json.shard-*') ]] || fail "--force left files of shards"
expect 0 '--array=0-2 --exclusive --partition=short .*shard.sh .* run-sweep -T 5$' cat "$work/asked"
expect 0 '^--parsable --job-name=attnbench-merge --partition=short .*merge.sh .* --force$' \
  cat "$work/asked"
rm "$work/asked" "$work/all.json"
expect 2 "COMMAND is 'verify'" submit verify
[[ ! -e $work/asked ]] || fail "submit.sh asked for jobs of verify"

# An interrupted array has left a whole shard, one that was stopped, and one
# that was killed.
expect 2 'resume and --force exclude each other' submit --resume --force run-sweep
expect 0 '^submit.sh: shards to take up: 0,1,2$' submit --resume run-sweep
printf '"invalid_reasons":["dirty"]' >"$work/all.json.shard-0-of-3"
printf '"invalid_reasons":["interrupted: 3 of 12 points; --resume goes on"]' \
  >"$work/all.json.shard-1-of-3"
touch "$work"/all.json.shard-2-of-3.{journal,log}
cp "$work/all.json.shard-0-of-3" "$work/all.json.shard-2-of-3"
expect 0 '^submit.sh: shards to take up: 1,2$' submit --resume run-sweep -T 5
expect 0 '--array=1,2 --exclusive .*shard.sh .* 3 .*all.json run-sweep -T 5$' tail -n 2 "$work/asked"
expect 0 '--dependency=afterany:7 .*merge.sh' tail -n 1 "$work/asked"
[[ -s $work/all.json.shard-1-of-3 && -e $work/all.json.shard-2-of-3.journal ]] ||
  fail "--resume removed what it goes on from"
printf '{"mechanism":"soft","status":"error"}' >"$work/all.json.shard-1-of-3"
expect 0 '^submit.sh: shards to take up: 1,2$' submit --resume run-sweep -T 5
printf '{"mechanism":"soft","status":"invalid"}' >"$work/all.json.shard-1-of-3"
expect 0 '^submit.sh: shards to take up: 2$' submit --resume run-sweep -T 5
rm "$work"/all.json.shard-2-of-3.journal "$work/asked"
cp "$work/all.json.shard-0-of-3" "$work/all.json.shard-1-of-3"
expect 0 'shards to take up: none' submit --resume run-sweep
expect 0 '^1$' grep -c '' "$work/asked"
expect 0 'merge.sh .*all.json$' cat "$work/asked"
touch "$work/all.json.shard-1-of-30"
expect 2 'all.json.shard-1-of-30 is not of 3 shards' submit --resume run-sweep
touch "$work/all.json"
expect 2 'all.json is already there; --force' submit --resume run-sweep
expect 1 '^0$' grep -c -e --dependency "$work/asked"
rm "$work"/all.json*

# The names of logs are patterns, in which Slurm writes a number for %j, % for
# %%, and which it takes as they are, without their backslashes, if there is one.
add_stub sbatch "printf '%s\\0' \"\$@\" >>'$work/asked'; echo 7"
logs_of() {
  local name=$1 one
  : >"$work/asked"
  (cd "$work" && PATH="$work/bin:$PATH" ATTNBENCH="$work/bin/attnbench" \
    "$root/scripts/slurm/submit.sh" --shards 3 -o "$name" run-sweep) >/dev/null || return
  while IFS= read -r -d '' one; do
    case $one in --output=*) printf '%s\n' "${one#--output=}" ;; esac
  done <"$work/asked"
}
while read -r name pattern; do
  expect 0 '' logs_of "$name"
  [[ $(cat "$work/output") == "$pattern.shard-%a-of-3.log"$'\n'"$pattern.merge.log" ]] ||
    fail "logs of $name"
done <<'NAMES'
%j.json %%j.json
100%a%%.json 100%%a%%%%.json
-x.json ./-x.json
$(id)*'"[a]?;&.json $(id)*'"[a]?;&.json
NAMES
expect 2 "has a backslash, which Slurm removes" logs_of 'a\%j.json'

# Every missing shard is named, whatever characters its name has.
odd=$work/$'it\'s a\ttab.json'
merge() { "$root/scripts/slurm/merge.sh" "$work/bin/attnbench" 4 "$odd" "$@"; }
touch "$odd".shard-{1,3}-of-4
expect 3 '^merge.sh: shard 0/4: there is no .*shard-0-of-4; .*shard-0-of-4.log$' merge
expect 3 '^merge.sh: shard 2/4: there is no ' merge
expect 3 '^2$' bash -c "\"\$@\" 2>&1 | grep -c ^merge.sh:; exit \${PIPESTATUS[0]}" - \
  "$root/scripts/slurm/merge.sh" attnbench 4 "$odd"
touch "$odd".shard-{0,2}-of-4
expect 1 "<merge><.*it's a	tab.json.shard-0-of-4><.*-3-of-4><-o><.*it's a	tab.json><--force>" \
  merge --force

# This finds folders of a person or a workplace; a package's own places are
# Debian's.
if grep -nE '(^|[^[:alnum:].])/(home|root|work|opt|srv|mnt)/' \
  "$root"/scripts/*.sh "$root/.ci/run" "$root/CMakePresets.json" >"$work/output"; then
  fail "a path of one machine"
fi
if command -v shellcheck >/dev/null; then
  (cd "$root" && shellcheck --external-sources .ci/run cmake/prerm cmake/*.sh scripts/*.sh scripts/slurm/*.sh tests/scripts/*.sh) \
    >"$work/output" || fail "shellcheck has something to say"
fi

printf 'scripts_test.sh: passed: %d checks\n' "$checks"
