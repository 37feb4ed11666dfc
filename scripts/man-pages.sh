#!/usr/bin/env bash
# Man pages out of what --help says: scripts/man-pages.sh PROGRAM FOLDER writes lwsvm.1, lwsvm-train.1, ...
set -euo pipefail
program=$1 folder=$2
mkdir -p "$folder"
version=$("$program" --version | cut -d' ' -f2)

# --help is: one line that says what it is, "Usage: ...", sections of options in two columns, and free text.
page() {  # title
  awk -v title="$1" -v version="$version" '
    function roff(text) {
      gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text)
      if (text ~ /^[.\x27]/) text = "\\&" text
      return text
    }
    NR == 1 {
      printf ".TH %s 1 \"\" \"lwsvm %s\"\n.SH NAME\n%s \\- %s\n", toupper(title), version, title, roff($0)
      next
    }
    /^Usage: / && !used { used = 1; printf ".SH SYNOPSIS\n%s\n", roff(substr($0, 8)); next }
    /^(Positionals|Options|Subcommands):$/ { section = 1; printf ".SH %s\n", toupper(substr($0, 1, length - 1)); next }
    /^$/ { if (text) print ""; else section = 0; next }
    section && /^  [^ ]/ {
      name = substr($0, 3, 32); gsub(/ +$/, "", name)
      printf ".TP\n.B %s\n%s\n", roff(name), roff(substr($0, 35)); next
    }
    section { gsub(/^ +/, ""); print roff($0); next }
    !text { text = 1; print ".SH NOTES\n.nf" }
    { print roff($0) }
    END { if (text) print ".fi" }
  '
}

"$program" --help | page lwsvm > "$folder/lwsvm.1.new"
for command in $("$program" --help | awk '/^Subcommands:/ { on = 1; next } on && NF { print $1 }'); do
  "$program" "$command" --help | page "lwsvm-$command" > "$folder/lwsvm-$command.1"
done
mv "$folder/lwsvm.1.new" "$folder/lwsvm.1"  # last: it says that all are there
