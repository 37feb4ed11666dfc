#include "engine/parallel_gemm.h"

namespace lwsvm {

void parallel_gemm(const Threads& threads, Transpose transpose_a, Transpose transpose_b, std::int64_t m,
                   std::int64_t n, std::int64_t k, float alpha, const float* a, std::int64_t lda,
                   const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  constexpr double kWorthSharing = 1e6;  // multiplications
  constexpr std::int64_t kRows = 48, kColumns = 384;
  if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < kWorthSharing ||
      (m <= kRows && n <= kColumns)) {
    gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else if (m > kRows) {
    threads.for_ranges(m, kRows, [&](std::int64_t begin, std::int64_t end) {
      gemm(transpose_a, transpose_b, end - begin, n, k, alpha,
           a + (transpose_a == Transpose::no ? begin * lda : begin), lda, b, ldb, beta, c + begin * ldc, ldc);
    });
  } else {
    threads.for_ranges(n, kColumns, [&](std::int64_t begin, std::int64_t end) {
      gemm(transpose_a, transpose_b, m, end - begin, k, alpha, a, lda,
           b + (transpose_b == Transpose::no ? begin : begin * ldb), ldb, beta, c + begin, ldc);
    });
  }
}

}  // namespace lwsvm
