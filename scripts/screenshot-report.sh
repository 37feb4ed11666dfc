#!/usr/bin/env bash
# The top of a report as a picture, for the README: scripts/screenshot-report.sh [REPORT.html [PICTURE.png]]
set -euo pipefail
cd "$(dirname "$0")/.."

report=${1:-out/demo/report.html}
picture=${2:-docs/report.png}
if [ ! -e "$report" ]; then
  echo "there is no $report; make it with: make demo" >&2
  exit 1
fi
scripts/install-deps.sh test
node tests/browser/screenshot.js "$(command -v chromium)" "$report" "$picture" 1280 1580 light
echo "$picture: $(stat -c %s "$picture") bytes"
