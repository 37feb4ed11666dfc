#!/usr/bin/env bash
# Feeds the ONNX reader with damaged models under AddressSanitizer + UndefinedBehaviorSanitizer, for FUZZ_SECONDS
# (default 60). What it learns stays in build/fuzz/corpus; what breaks the reader is left in build/fuzz/found.
# Then random convolutions for as long again, in equal parts with each instruction set of this machine: oneDNN's
# kernels against the definition, between guard words. FUZZ_SEED=N begins elsewhere (default: the time).
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "FUZZ_SECONDS is '$seconds'; give a number of seconds" >&2; exit 2; }

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "${JOBS:-2}"

folder=build/fuzz
mkdir -p $folder/corpus $folder/found
$folder/tests/fuzz/make_seeds $folder/seeds
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export LSAN_OPTIONS=suppressions=scripts/lsan.supp:print_suppressions=0
$folder/tests/fuzz/onnx_reader_fuzz -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 \
  -max_len=20000 -print_final_stats=1 -verbosity=0 -artifact_prefix=$folder/found/ $folder/corpus $folder/seeds
echo "the ONNX reader stood $seconds seconds of damaged models"

sets=(SSE41)
grep -qw avx2 /proc/cpuinfo && sets+=(AVX AVX2)
grep -qw avx512f /proc/cpuinfo && sets+=(AVX512_CORE)
for set in "${sets[@]}"; do
  DNNL_MAX_CPU_ISA=$set $folder/tests/fuzz/convolution_fuzz $((seconds / ${#sets[@]} + 1)) "${FUZZ_SEED:-$(date +%s)}"
done
