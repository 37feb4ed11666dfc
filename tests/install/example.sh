#!/usr/bin/env bash
# Installs to a temporary prefix, moves that elsewhere, and builds and runs the example there as a user would: by
# find_package and by pkg-config. example.sh BUILD SOURCE COMPILER
set -euo pipefail
build=$1 source=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "failed: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || fail "the installation: $(tail -5 "$work/install.log")"
mv "$work/first" "$work/usr"  # nothing may depend on where it was installed

"$work/usr/bin/lwsvm" --version
for file in share/man/man1/lwsvm.1 share/man/man1/lwsvm-refine.1 share/bash-completion/completions/lwsvm; do
  [ -s "$work/usr/$file" ] || fail "there is no $file"
done
bash -n "$work/usr/share/bash-completion/completions/lwsvm"
if grep -rnE 'dnnl|json|fmt|Graph|Tensor' "$work/usr/include"; then fail "a header names what is inside"; fi

lines=$(cat "$source"/examples/refine_in_memory/* | wc -l)
[ "$lines" -le 60 ] || fail "the example has $lines lines; 60 are enough to show how it is done"

check() {  # program
  mkdir -p "$work/run"
  (cd "$work/run" && "$1" >report.txt)
  cat "$work/run/report.txt"
  grep -q '^start: ' "$work/run/report.txt" || fail "the summary has no start"
  grep -q ' 0 rises' "$work/run/report.txt" || fail "the objective rose"
  "$work/usr/bin/lwsvm" inspect "$work/run/refined.onnx" >/dev/null || fail "the written network cannot be read"
  rm -r "$work/run"
}

cmake -S "$source/examples/refine_in_memory" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/usr" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >"$work/cmake.log" || fail "find_package: $(cat "$work/cmake.log")"
cmake --build "$work/cmake" >"$work/build.log" || fail "the example does not build: $(cat "$work/build.log")"
check "$work/cmake/refine_in_memory"

if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$work/usr" -name lwsvm.pc)")
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046
  "$compiler" -std=c++20 "$source/examples/refine_in_memory/main.cc" -o "$work/by-pkg-config" $(pkg-config --cflags --libs lwsvm) ||
    fail "pkg-config"
  check "$work/by-pkg-config"
fi
echo "the example works against the installed tree"
