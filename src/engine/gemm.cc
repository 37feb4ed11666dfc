#include "engine/gemm.h"

#include <dnnl.h>

#include "base/error.h"
#include "engine/threads.h"

namespace lwsvm {

void gemm(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta,
          float* c, std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  SingleThreadScope single;
  const auto letter = [](Transpose t) { return t == Transpose::yes ? 'T' : 'N'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(transpose_a), letter(transpose_b), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  LWSVM_CHECK(status == dnnl_success);
}

}  // namespace lwsvm
