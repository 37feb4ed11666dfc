// One loop, compiled for several x86-64 levels; the loader picks the best that the processor has.
//
//   LWSVM_SIMD void add_scaled(std::size_t n, float a, const float* __restrict x, float* __restrict y) {
//     for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
//   }
//
// What to know (seen with g++ 12, -O3, from a static library):
// - Free functions, members and templates work, also in an anonymous namespace; a member carries the macro on
//   its declaration in the class, anything else on its definition.
// - What the function inlines, lambdas and `omp parallel` bodies included, is compiled for each level; what
//   it calls is not. A loop inside a lambda that goes into a std::function (Threads::for_each) therefore
//   stays at the base level: put the loop into a function of its own with the macro, and call that from the
//   lambda.
// - The levels round differently (from v3 on a multiply-add is one rounding). Same machine, same bits; not
//   across machines.
// - LWSVM_MAX_ISA=SSE41 or AVX2 in the environment holds them back (simd_level.cc).
// - Off under sanitizers: the choice is made while the program is being loaded, before their runtime is up.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(LWSVM_SANITIZED) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__OPTIMIZE__)
#define LWSVM_SIMD_CLONES
#define LWSVM_SIMD __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define LWSVM_SIMD
#endif

namespace lwsvm {

// What the marked loops run with: "SSE2", "AVX2", "AVX-512", or "as compiled" where there is no choice.
const char* simd_level();

// Floats in the widest register that may be used: 4 (or none of these), 8 (AVX2 with FMA), 16 (AVX-512). For
// code that makes its choice by itself, at run time: also under sanitizers.
int simd_lanes();

}  // namespace lwsvm
