#!/usr/bin/env bash
# Trains a small network on Fashion-MNIST from nothing, refines it by LW-SVM, judges both on the test set, shows what is
# in the result and makes a page about it all.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh demo
make --no-print-directory build
lwsvm=build/release/src/cli/lwsvm

say() { printf '\n$ %s\n' "lwsvm $*"; "$lwsvm" "$@"; }

mkdir -p out/demo
say data get fashion-mnist
say train --data fashion-mnist --arch mnist --epochs 5 -o out/demo/base.onnx --run out/demo/train
say refine out/demo/base.onnx --data fashion-mnist --time-limit 2m -o out/demo/better.onnx --run out/demo/refine
say eval out/demo/base.onnx --data fashion-mnist --split test
say eval out/demo/better.onnx --data fashion-mnist --split test
say inspect out/demo/better.onnx
say report out/demo/train out/demo/refine -o out/demo/report.html

cat <<'END'

Done. What there is now:
  out/demo/base.onnx               the trained network; any ONNX runtime reads it, input: raw pixels 0..255
  out/demo/better.onnx             the same network with refined weights
  out/demo/report.html             what happened, as a page to look at
  out/demo/refine/log.jsonl        every inner epoch and layer update, one line of JSON each
  build/release/src/cli/lwsvm --help    what else the program does
END
