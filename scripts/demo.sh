#!/usr/bin/env bash
# Trains a small network on Fashion-MNIST from nothing, judges it on the test set and shows what is in it.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh demo
make --no-print-directory build
lwsvm=build/release/src/cli/lwsvm

say() { printf '\n$ %s\n' "lwsvm $*"; "$lwsvm" "$@"; }

mkdir -p out/demo
say data get fashion-mnist
say train --data fashion-mnist --arch mnist --epochs 5 -o out/demo/base.onnx --run out/demo/run
say eval out/demo/base.onnx --data fashion-mnist --split test
say inspect out/demo/base.onnx

cat <<'END'

Done. What there is now:
  out/demo/base.onnx        the trained network; any ONNX runtime reads it, input: raw pixels 0..255
  out/demo/run/log.jsonl    one line of JSON for each epoch
  build/release/src/cli/lwsvm --help    what else the program does
END
