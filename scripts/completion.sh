# shellcheck shell=bash
# Completes commands, options, and the names of experiments and claims in bash, all of them
# asked of the program. `cmake --install` puts this file where bash finds it.

_attnbench() {
  local program=${COMP_WORDS[0]/#\~/$HOME} word=$2 previous=$3
  local command='' commands one words='' IFS=$'\n'
  if [[ ${program##*/} == run-sweep ]]; then
    program=${program%run-sweep}attnbench
    command=run-sweep
  fi
  commands=$("$program" help 2>/dev/null | sed -n '/^subcommands:$/I,$ s/^  \([a-z-]*\) .*/\1/p')
  for one in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ -z $command && $'\n'$commands$'\n' == *$'\n'"$one"$'\n'* ]]; then command=$one; fi
  done
  case $command:$word in
    *:-*)
      words=$("$program" help ${command:+"$command"} 2>/dev/null |
        sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr , '\n')
      ;;
    :* | help:*) words=$commands ;;
    # The word after an option is mostly its value.
    run-sweep:*)
      [[ $previous == -* ]] ||
        words=$("$program" list 2>/dev/null | sed -n '/^experiments$/{n;s/^  //;s/, /\n/g;p}')
      ;;
    claims:*)
      [[ $previous == -* ]] ||
        words=$("$program" claims --list 2>/dev/null | sed -n 's/^\([^ ]*\) (.*/\1/p')
      ;;
  esac
  # compgen -W would run what a name has in it, such as $(...).
  COMPREPLY=()
  while read -r one; do
    [[ -z $one || $one != "$word"* ]] || COMPREPLY+=("$(printf %q "$one")")
  done <<<"$words"
}

# Where nothing fits, bash completes names of files.
complete -o bashdefault -o default -F _attnbench attnbench run-sweep
