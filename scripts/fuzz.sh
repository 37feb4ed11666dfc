#!/usr/bin/env bash
# Feeds every reader with damaged files under AddressSanitizer + UndefinedBehaviorSanitizer, FUZZ_SECONDS (60) each,
# then the engine with random convolutions for as long again, in equal parts with each instruction set of this machine:
# oneDNN's kernels against the definition, between guard words.
#
#   scripts/fuzz.sh [NAME...]       all readers and the convolutions, or only these: onnx, npz, ..., convolution
#
# What the fuzzer learns stays in build/fuzz/corpus/NAME; a file that breaks a reader is left in build/fuzz/found/NAME.
# FUZZ_SEED=N begins elsewhere with the convolutions (default: the time).
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "FUZZ_SECONDS is '$seconds'; give a number of seconds" >&2; exit 2; }

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "${JOBS:-2}"
folder=build/fuzz
programs=$folder/tests/fuzz
names=("$@")
if [ $# -eq 0 ]; then
  for source in tests/fuzz/*_reader_fuzz.cc; do names+=("$(basename "$source" _reader_fuzz.cc)"); done
  names+=(convolution)
fi

# Readers want files: in memory, where there is a place for them, and gone at the end whatever happens.
TMPDIR=$([ -w /dev/shm ] && mktemp -d -p /dev/shm || mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export LSAN_OPTIONS=suppressions=scripts/lsan.supp:print_suppressions=0

fuzz_reader() {  # name
  local program=$programs/$1_reader_fuzz corpus=$folder/corpus/$1 found=$folder/found/$1 log=$folder/$1.log
  mkdir -p "$corpus" "$found"
  rm -rf "$folder/seeds/$1"
  "$program" --seeds "$folder/seeds/$1"
  if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -max_len=20000 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="$found/" "$corpus" "$folder/seeds/$1" >"$log" 2>&1; then
    echo "$1: $(awk '/number_of_executed_units/ {print $2}' "$log") files in $seconds seconds, nothing found"
    return
  fi
  tail -n 60 "$log" >&2
  echo "$1: FOUND something; the whole story is in $log, the file in $found. Again: $program FILE" >&2
  return 1
}

fuzz_convolutions() {
  local sets=(SSE41) set
  grep -qw avx2 /proc/cpuinfo && sets+=(AVX AVX2)
  grep -qw avx512f /proc/cpuinfo && sets+=(AVX512_CORE)
  for set in "${sets[@]}"; do
    DNNL_MAX_CPU_ISA=$set LWSVM_MAX_ISA=$set $programs/convolution_fuzz $((seconds / ${#sets[@]} + 1)) "${FUZZ_SEED:-$(date +%s)}" || return 1
  done
}

failed=()
for name in "${names[@]}"; do
  if [ "$name" = convolution ]; then
    fuzz_convolutions || failed+=("$name")
  elif [ -x "$programs/${name}_reader_fuzz" ]; then
    fuzz_reader "$name" || failed+=("$name")
  else
    echo "there is no fuzzer '$name'" >&2
    exit 2
  fi
done
[ ${#failed[@]} -eq 0 ] || { echo "found something: ${failed[*]}" >&2; exit 1; }
