#!/usr/bin/env bash
# Speed of a training step beside PyTorch's, on this machine. Prints the table and puts it into docs/performance.md
# between its two marks. Takes some minutes; nothing else should be running.
set -euo pipefail
cd "$(dirname "$0")/.."
table=$(/usr/bin/python3 bench/compare_torch.py build/release "${1:-3}" "${2:-4}")
printf '%s\n' "$table"
/usr/bin/python3 - "$table" <<'PY'
import sys
path, table = "docs/performance.md", sys.argv[1]
text = open(path).read()
begin, end = "<!-- bench:begin -->\n", "<!-- bench:end -->"
head, rest = text.split(begin)
open(path, "w").write(head + begin + table + "\n" + end + rest.split(end)[1])
PY
