// The machine's FMA peak, measured: independent multiply-adds in registers, the widest vectors that the CPU
// has.
//
//   fma_peak THREADS    prints one JSON object: GFLOP/s of the best of several rounds, all threads together
//
// "Share of peak" in docs/performance.md is against this, not against a data sheet. LWSVM_MAX_ISA=AVX2 asks
// for that of AVX2, LWSVM_CLOCK=cpu counts seconds of the processor (one thread).
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <cstdlib>

#include "base/simd.h"
#include "base/stopwatch.h"
#include "engine/threads.h"

namespace lwsvm {
namespace {

constexpr long rounds = 4'000'000;

__attribute__((target("avx512f"))) double run_512(float* sink) {
  __m512 a[12];
  for (int k = 0; k < 12; ++k) a[k] = _mm512_set1_ps(1.0f + static_cast<float>(k));
  const __m512 m = _mm512_set1_ps(0.999f);
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < 12; ++k) a[k] = _mm512_fmadd_ps(a[k], m, m);
  }
  alignas(64) float lanes[16];
  for (int k = 0; k < 12; ++k) {  // not _mm512_reduce_add_ps: g++ 12 warns about its own header
    _mm512_store_ps(lanes, a[k]);
    *sink += lanes[0];
  }
  return 12.0 * 16 * 2 * rounds;
}

__attribute__((target("avx2,fma"))) double run_256(float* sink) {
  __m256 a[12];
  for (int k = 0; k < 12; ++k) a[k] = _mm256_set1_ps(1.0f + static_cast<float>(k));
  const __m256 m = _mm256_set1_ps(0.999f);
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < 12; ++k) a[k] = _mm256_fmadd_ps(a[k], m, m);
  }
  for (int k = 0; k < 12; ++k) *sink += _mm256_cvtss_f32(a[k]);
  return 12.0 * 8 * 2 * rounds;
}

int run(int argc, char** argv) {
  const Threads threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const bool wide = simd_lanes() == 16;
  if (simd_lanes() < 8) {
    fmt::print(stderr, "fma_peak: this processor has no fused multiply-add\n");
    return 2;
  }
  double best = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<float> sink(static_cast<std::size_t>(threads.count()) * 16, 0.0f);
    std::vector<double> done(static_cast<std::size_t>(threads.count()) * 8, 0.0);
    const Stopwatch watch;
    threads.for_each(threads.count(), [&](int piece, int) {
      float* out = sink.data() + 16 * static_cast<std::size_t>(piece);
      done[8 * static_cast<std::size_t>(piece)] = wide ? run_512(out) : run_256(out);
    });
    const double seconds = watch.seconds();
    double flops = 0;
    for (double part : done) flops += part;
    best = std::max(best, flops / seconds * 1e-9);
  }
  fmt::print(R"({{"threads":{},"gflops":{:.1f},"vectors":{}}})"
             "\n",
             threads.count(), best, wide ? 512 : 256);
  return 0;
}

}  // namespace
}  // namespace lwsvm

int main(int argc, char** argv) {
  return lwsvm::run(argc, argv);
}
