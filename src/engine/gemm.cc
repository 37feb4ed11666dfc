#include "engine/gemm.h"

#include <dnnl.h>

#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/simd.h"
#include "engine/lane_kernels.h"
#include "engine/tensor.h"
#include "engine/threads.h"

namespace lwsvm {
namespace {

// Where every row is added up alike (seen with oneDNN 2.6.3, SSE4.1 to AVX-512; tests/engine/gemm_test.cc
// asks it of whatever is installed): 16 to 75 rows, whose number leaves 0, 4 or 5 when divided by six. Fewer
// than 16 are another routine with AVX-512, other remainders with AVX2.
constexpr std::int64_t kMinRows = 16, kMaxRows = 72;

std::int64_t rows_alike(std::int64_t rows) {
  if (rows < kMinRows) return kMinRows;
  const std::int64_t beyond = rows % 6;
  return beyond >= 1 && beyond <= 3 ? rows + 4 - beyond : rows;
}

// Where our own loop is faster: it costs a single row no more than its share, has nothing to turn round, and
// wastes no lanes on few columns. A rule about the weights' shape alone: bits do not depend on the rows.
bool by_rows(Transpose transpose_b, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kManyTerms = 128, kSomeTerms = 64, kFewColumns = 16;
  return transpose_b == Transpose::yes && (k >= kManyTerms || (k >= kSomeTerms && n <= kFewColumns));
}

}  // namespace

void gemm(Transpose transpose_a, Transpose transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta,
          float* c, std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  SingleThreadScope single;
  const auto letter = [](Transpose t) { return t == Transpose::yes ? 'T' : 'N'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(transpose_a), letter(transpose_b), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  LWSVM_CHECK(status == dnnl_success);
}

void gemm_per_sample(Transpose transpose_b, std::int64_t samples, std::int64_t n, std::int64_t k,
                     const float* a, const float* b, float beta, float* c) {
  const std::int64_t ldb = transpose_b == Transpose::yes ? k : n;
  for (std::int64_t first = 0; first < samples; first += kMaxRows) {
    const std::int64_t rows = std::min(kMaxRows, samples - first), padded = rows_alike(rows);
    const float* inputs = a + first * k;
    float* outputs = c + first * n;
    if (by_rows(transpose_b, n, k)) {
      lane_kernels(simd_lanes()).row_products({inputs, b, outputs, rows, n, k, beta});
      continue;
    }
    if (padded == rows) {
      gemm(Transpose::no, transpose_b, rows, n, k, 1.0f, inputs, k, b, ldb, beta, outputs, n);
      continue;
    }
    // A few rows of zeros make up the number.
    thread_local AlignedBuffer<float> padded_inputs, padded_outputs;
    padded_inputs.resize(static_cast<std::size_t>(padded * k));
    padded_outputs.resize(static_cast<std::size_t>(padded * n));
    std::copy_n(inputs, rows * k, padded_inputs.data());
    std::fill_n(padded_inputs.data() + rows * k, (padded - rows) * k, 0.0f);
    if (beta != 0.0f) {
      std::copy_n(outputs, rows * n, padded_outputs.data());
      std::fill_n(padded_outputs.data() + rows * n, (padded - rows) * n, 0.0f);
    }
    gemm(Transpose::no, transpose_b, padded, n, k, 1.0f, padded_inputs.data(), k, b, ldb, beta,
         padded_outputs.data(), n);
    std::copy_n(padded_outputs.data(), rows * n, outputs);
  }
}

}  // namespace lwsvm
