// gemm() by several threads, with bits that do not depend on how many there are: the work is cut into pieces
// by the shapes alone.
#pragma once

#include <cstdint>

#include "engine/gemm.h"
#include "engine/threads.h"

namespace lwsvm {

// The pieces are rows of C, or columns when C is wider than high.
void parallel_gemm(const Threads& threads, Transpose transpose_a, Transpose transpose_b, std::int64_t m,
                   std::int64_t n, std::int64_t k, float alpha, const float* a, std::int64_t lda,
                   const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);

}  // namespace lwsvm
