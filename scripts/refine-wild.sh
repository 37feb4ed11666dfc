#!/bin/bash
# Refines networks that others made and prints a table of what came of it. Usage:
#
#   scripts/refine-wild.sh MODELS OUT [NAME...]      MODELS: folder with the .onnx files; OUT: results go there
#
# MINUTES=N (default 4) is the time limit for each network. A network whose result is in OUT is not run again.
set -euo pipefail
models=$(realpath "$1") out=$(realpath -m "$2")
shift 2
cd "$(dirname "$0")/.."
lwsvm=${LWSVM:-build/release/src/cli/lwsvm}
limit=${MINUTES:-4}m
mkdir -p "$out"

# ResNet-20: its SVM layer and last stage, with the weight decay that it was trained with.
oval=(--data cifar10 --scale 255 --mean 0.485,0.456,0.406 --std 0.225 --patience 3)
declare -A how=(
  [cifar10_resnet20]="--data cifar10 --normalize imagenet --layers /linear/Gemm,/layer3/* --lambda 1e-4 --val 0 --passes 1"
  [oval_cifar_base_kw]="${oval[*]} --augment flip"
  [oval_cifar_deep_kw]="${oval[*]}"
  [oval_cifar_wide_kw]="${oval[*]} --augment flip"
  [marabou_cnn_max_mninst2]="--data mnist --normalize 0-1"
  [marabou_cnn_max_mninst3]="--data mnist --normalize 0-1"
  [marabou_mnist2x10]="--data mnist --normalize 0-1"
  [marabou_mnist5x20_leaky_relu]="--data mnist --normalize 0-1"
  [wonnx_opt-mnist_cntk]="--data mnist --normalize 0-255"
)
names=("$@")
[ ${#names[@]} -gt 0 ] || names=("${!how[@]}")

for name in "${names[@]}"; do
  [ -s "$out/$name.json" ] && continue
  # shellcheck disable=SC2086
  "$lwsvm" refine "$models/$name.onnx" ${how[$name]} --time-limit "$limit" --json -o "$out/$name.onnx" \
    2> "$out/$name.log" > "$out/$name.part" && mv "$out/$name.part" "$out/$name.json"
done

/usr/bin/python3 - "$out" <<'PY'
import json, pathlib, sys
print("| network | test before | after | objective before | after | updates | rejected | rises | seconds |")
print("|---|---|---|---|---|---|---|---|---|")
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    r = json.loads(path.read_text())
    s = r["start"]
    print(f"| `{path.stem}` | {100*s['test_accuracy']:.2f}% | {100*r['test_accuracy']:.2f}% | {s['objective']:.4f} "
          f"| {r['objective']:.4f} | {r['updates']} | {r['rejected']} | {r['rises']} | {r['seconds']:.0f} |")
PY
