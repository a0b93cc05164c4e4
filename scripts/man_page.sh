#!/usr/bin/env bash
# Writes the man page of the program, made of what its help says.
#
# usage: man_page.sh [EMULATOR...] PROGRAM
#   EMULATOR   runs the program, if it is for another CPU
#   --help     this text
# example: scripts/man_page.sh build/release/attnbench >attnbench.1

set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Makes roff of a help text. A name is in columns 3 to 29, and its text from column 31 on,
# or in the next line after a longer name.
roff() {
  awk '
    function plain(text) {
      gsub(/\\/, "\\e", text)
      gsub(/-/, "\\-", text)
      gsub(/\047/, "\\(aq", text)
      return text
    }
    function item(name) { sub(/ +$/, "", name); print ".TP\n\\fB" plain(name) "\\fR" }
    /^$/ { next }
    /^[A-Za-z]+:$/ { print ".PP\n" $0; next }
    /^Usage: / { print ".PP\n\\fB" plain(substr($0, 8)) "\\fR"; next }
    /^  [^ ]/ && substr($0, 30, 1) != " " { item(substr($0, 3)); next }
    /^  [^ ]/ { item(substr($0, 3, 27)); $0 = substr($0, 31) }
    { sub(/^ +/, ""); print "\\&" plain($0) }'
}

case ${1-} in
  --help | -h) print_help && exit 0 ;;
  -* | '') usage_error "takes a program, given '${1-}'; allowed: PROGRAM, --help" ;;
esac
binary=("$@")

# The page is read on other machines, too: the levels of this one's CPU are not theirs.
help=$("${binary[@]}" help | sed 's/one of [A-Z0-9_, ]*; the variable/one that --help names; the variable/')
version=$("${binary[@]}" --version)
summary=${help%%,*}
printf '.TH ATTNBENCH 1 "" "%s"\n.nh\n.ad l\n' "${version%%,*}"
printf '.SH NAME\nattnbench, run\\-sweep \\- %s\n' "${summary,}"
printf '.SH DESCRIPTION\n'
roff <<<"$help"
printf '.PP\nrun\\-sweep is short for attnbench run\\-sweep.\n'
printf '.SH COMMANDS\n'
sed -n '/^subcommands:$/I,$ s/^  \([a-z-]*\) .*/\1/p' <<<"$help" | while read -r command; do
  printf '.SS %s\n' "$command"
  "${binary[@]}" help "$command" | roff
done
