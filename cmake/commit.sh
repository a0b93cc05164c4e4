#!/bin/sh
# Tells what sources are: their commit, and whether they were edited since ("yes" or
# "no"), in one line. What git does not tell is "unknown", with its reason on stderr.
#
# usage: commit.sh FOLDER
#
# A repository counts only if FOLDER is its top: an archive may be unpacked inside
# another one. Results and pages do not count as edited, because measuring writes
# them, and nothing is built from them but from results/effects.json.

# The variables of a hook name another repository. Those of settings stay: they may
# say that the folder is safe.
for name in $(env | sed -n 's/^\(GIT_[A-Z0-9_]*\)=.*/\1/p'); do
  case $name in GIT_CONFIG*) ;; *) unset "$name" ;; esac
done
# A git that hangs, as on a file system that is away, tells nothing. Hooks and a
# daemon are not started, and nothing is written in the repository.
git() {
  timeout 60 git -c core.fsmonitor=false -c core.hooksPath=/dev/null \
    -c core.splitIndex=false "$@"
}

commit=unknown
dirty=unknown
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
# A new index knows nothing of files that git was told not to look at
# (assume-unchanged, skip-worktree), and the user's own is not written.
export GIT_INDEX_FILE="$temporary/index"

if cd "$1" && above=$(git rev-parse --show-cdup); then
  if [ -n "$above" ]; then
    echo "it is a folder of another repository, $(git rev-parse --show-toplevel)" >&2
  elif head=$(git rev-parse --verify HEAD); then
    commit=$head
    git read-tree HEAD &&
      changes=$(git status --porcelain --untracked-files=normal -- . \
        ':!results/[!e]*' ':!results/e[!f]*' ':!*.md') &&
      if [ -n "$changes" ]; then dirty=yes; else dirty=no; fi
  fi
fi
echo "$commit $dirty"
