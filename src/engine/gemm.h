// C = alpha op(A) op(B) + beta C in float32, row-major, on the calling thread alone.
//
// op(A) is m x k, op(B) is k x n, C is m x n; lda, ldb, ldc are the lengths of a stored row.
#pragma once

#include <cstdint>

namespace lwsvm {

enum class Transpose : bool { no, yes };

void gemm(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta,
          float* c, std::int64_t ldc);

// C = A op(B) + beta C for rows that are samples, all matrices dense: a row of C depends on its own row of A
// alone, to the bit, whoever its neighbours are and however many. gemm() does not promise that: with AVX2,
// oneDNN adds up the last one to three rows beyond a multiple of six in another order, with AVX-512 fewer
// than 16 rows, and a product of one row is another routine altogether. Many shapes are a loop of our own
// (RowProducts in lane_kernels.h).
void gemm_per_sample(Transpose transpose_b, std::int64_t samples, std::int64_t n, std::int64_t k,
                     const float* a, const float* b, float beta, float* c);

}  // namespace lwsvm
