#!/usr/bin/env bash
# Builds and runs the tests of the presets given, by default release, asan-ubsan and tsan (its tests of threads only). Goes
# on to the end whatever fails; the last line, also left in build/failed, says what did.
set -uo pipefail
cd "$(dirname "$0")/.."
trap 'exit 130' INT TERM

presets=("$@")
[ $# -gt 0 ] || presets=(release asan-ubsan tsan)
jobs=${JOBS:-2}
mkdir -p build
rm -f build/failed

failed=()
for preset in "${presets[@]}"; do
  cmake --preset "$preset" || { failed+=("$preset: cannot be configured"); continue; }
  # What can be built is tested, even when something else cannot.
  cmake --build --preset "$preset" -j "$jobs" -- -k 0 || failed+=("$preset: does not build")
  names=build/$preset/Testing/Temporary/LastTestsFailed.log
  rm -f "$names"
  ctest --preset "$preset" -j "$jobs" && continue
  failed+=("$preset: $(cut -d: -f2- "$names" 2>/dev/null | paste -sd, | sed 's/,/, /g')")
done

if [ ${#failed[@]} -gt 0 ]; then
  printf -v summary '%s; ' "${failed[@]}"
  echo "failed: ${summary%; }" | tee build/failed
  exit 1
fi
echo "all tests passed: ${presets[*]}"
