#!/usr/bin/env bash
# `lwsvm refine` against Adam and Nesterov SGD with a tuned learning rate at equal time (bench/versus.py): the networks
# of bench/versus.json that are there, and three bases of ours, trained here first. VERSUS_SECONDS (60) of one core for
# refine and for each of the 32 tries per network: hours. VERSUS_QUICK=1: 3 tries; VERSUS_TRIES='adam-*-cosine': those;
# VERSUS_ONLY='mnist,cifar4': these networks. Every result stays in out/versus and is not made again: stop it when you
# like, the same command goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
lwsvm=build/release/src/cli/lwsvm
bases=out/versus/bases
mkdir -p $bases
for data in mnist cifar10; do "$lwsvm" data get $data >&2; done
[ -e $bases/mnist.onnx ] || "$lwsvm" train --data mnist --arch mnist --solver adadelta --epochs 10 -o $bases/mnist.onnx
[ -e $bases/fashion-mnist.onnx ] || "$lwsvm" train --data fashion-mnist --arch mnist --epochs 5 -o $bases/fashion-mnist.onnx
[ -e $bases/cifar4.onnx ] || "$lwsvm" train --data cifar10 --arch cifar/4 --epochs 8 -o $bases/cifar4.onnx
/usr/bin/python3 bench/versus.py build/release out/versus --seconds "${VERSUS_SECONDS:-60}" --tries "${VERSUS_TRIES:-*}" \
  --only "${VERSUS_ONLY:-}" ${VERSUS_QUICK:+--quick}
