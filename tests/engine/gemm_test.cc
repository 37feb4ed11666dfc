#include "engine/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "engine/instruction_set.h"
#include "engine/threads.h"

namespace lwsvm {
namespace {

struct Matrix {  // with rows longer than needed, as a slice of a larger matrix has
  std::int64_t rows, columns, stride;
  std::vector<float> values;

  Matrix(std::int64_t r, std::int64_t c, std::int64_t slack, Random& random)
      : rows(r), columns(c), stride(c + slack), values(static_cast<std::size_t>(r * (c + slack))) {
    for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  }
  float& operator()(std::int64_t r, std::int64_t c) {
    return values[static_cast<std::size_t>(r * stride + c)];
  }
  float operator()(std::int64_t r, std::int64_t c) const {
    return values[static_cast<std::size_t>(r * stride + c)];
  }
};

TEST(Gemm, FollowsItsDefinitionForOddSizesAndAllTransposes) {
  Random random(3);
  const std::int64_t sizes[] = {1, 2, 7, 16, 33, 65, 101};
  for (int round = 0; round < 200; ++round) {
    const std::int64_t m = sizes[random.below(7)], n = sizes[random.below(7)], k = sizes[random.below(7)];
    const auto ta = random.below(2) ? Transpose::yes : Transpose::no,
               tb = random.below(2) ? Transpose::yes : Transpose::no;
    const std::int64_t slack = random.below(2) ? 0 : 3;
    const float alpha = random.below(2) ? 1.0f : -0.5f,
                beta = random.below(2) ? 0.0f : (random.below(2) ? 1.0f : 0.25f);
    SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << (ta == Transpose::yes ? " A'" : " A")
                                    << (tb == Transpose::yes ? " B'" : " B") << " alpha " << alpha << " beta "
                                    << beta);
    const Matrix a = ta == Transpose::yes ? Matrix(k, m, slack, random) : Matrix(m, k, slack, random);
    const Matrix b = tb == Transpose::yes ? Matrix(n, k, slack, random) : Matrix(k, n, slack, random);
    Matrix c(m, n, slack, random);
    const Matrix before = c;
    if (beta == 0.0f) std::fill(c.values.begin(), c.values.end(), std::nanf(""));  // beta 0 reads nothing
    gemm(ta, tb, m, n, k, alpha, a.values.data(), a.stride, b.values.data(), b.stride, beta, c.values.data(),
         c.stride);
    double worst = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += static_cast<double>(ta == Transpose::yes ? a(l, i) : a(i, l)) *
                 static_cast<double>(tb == Transpose::yes ? b(j, l) : b(l, j));
        const double expected =
            static_cast<double>(alpha) * sum + static_cast<double>(beta) * static_cast<double>(before(i, j));
        const double off = std::abs(expected - static_cast<double>(c(i, j)));
        worst = off <= worst ? worst : off;
      }
    EXPECT_LE(worst, 2e-5);
    bool beyond = false;
    for (std::int64_t i = 0; i < m && beta != 0.0f; ++i)
      for (std::int64_t j = n; j < c.stride; ++j) beyond |= c(i, j) != before(i, j);
    EXPECT_FALSE(beyond) << "wrote beyond a row";
  }
}

TEST(Gemm, GivesTheSameBitsWhereverItIsCalled) {
  Random random(4);
  const Matrix a(200, 300, 0, random), b(300, 150, 0, random);
  const auto product = [&] {
    std::vector<float> c(200 * 150);
    gemm(Transpose::no, Transpose::no, 200, 150, 300, 1.0f, a.values.data(), 300, b.values.data(), 150, 0.0f,
         c.data(), 150);
    return c;
  };
  const std::vector<float> alone = product();
  std::vector<std::vector<float>> inside(4);
  Threads(2).for_each(4, [&](int piece, int) { inside[static_cast<std::size_t>(piece)] = product(); });
  for (const auto& c : inside) EXPECT_EQ(c, alone);
}

struct RowProduct {
  std::int64_t n, k;
  Transpose transpose_b;
  float beta;
  std::vector<float> b;

  // Rows of C for `rows` of A, of which those at `places` are `row`.
  std::vector<float> run(std::int64_t rows, const std::vector<float>& row,
                         std::initializer_list<std::int64_t> places, Random& random) const {
    Matrix a(rows, k, 0, random);
    for (std::int64_t place : places) std::copy(row.begin(), row.end(), a.values.begin() + place * k);
    std::vector<float> c(static_cast<std::size_t>(rows * n), 0.25f);
    gemm_per_sample(transpose_b, rows, n, k, a.values.data(), b.data(), beta, c.data());
    return c;
  }
};

RowProduct random_row_product(Random& random) {
  const std::int64_t sizes[] = {1, 2, 3, 7, 10, 16, 17, 37, 64, 100, 256, 784};
  RowProduct product{sizes[random.below(12)],
                     sizes[random.below(12)],
                     random.below(2) ? Transpose::yes : Transpose::no,
                     random.below(2) ? 1.0f : 0.0f,
                     {}};
  product.b = Matrix(product.n, product.k, 0, random).values;
  return product;
}

TEST(GemmPerSample, IsTheProduct) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    const RowProduct p = random_row_product(random);
    const auto rows = static_cast<std::int64_t>(1 + random.below(50));
    const std::vector<float> row = Matrix(1, p.k, 0, random).values;
    const std::vector<float> c = p.run(rows, row, {rows - 1}, random);
    for (std::int64_t j = 0; j < p.n; ++j) {
      double expected = 0.25 * static_cast<double>(p.beta);
      for (std::int64_t l = 0; l < p.k; ++l)
        expected +=
            static_cast<double>(row[static_cast<std::size_t>(l)]) *
            static_cast<double>(
                p.b[static_cast<std::size_t>(p.transpose_b == Transpose::yes ? j * p.k + l : l * p.n + j)]);
      EXPECT_NEAR(c[static_cast<std::size_t>((rows - 1) * p.n + j)], expected, 1e-4);
    }
  }
}

// The same bits at any place of the same batch: what the promises of same bits rest on.
TEST(GemmPerSample, DoesNotDependOnTheRowsPlace) {
  Random random(6);
  for (int round = 0; round < 200; ++round) {
    const RowProduct p = random_row_product(random);
    const auto rows = static_cast<std::int64_t>(1 + random.below(260));
    const std::vector<float> row = Matrix(1, p.k, 0, random).values;
    const std::vector<float> c = p.run(rows, row, {0, rows / 2, rows - 1}, random);
    for (std::int64_t place : {rows / 2, rows - 1})
      EXPECT_TRUE(std::equal(c.begin(), c.begin() + p.n, c.begin() + place * p.n))
          << rows << "x" << p.n << "x" << p.k << ", row " << place;
  }
}

// With AVX-512 fewer than 16 rows are a case of their own, and nothing rests on their bits being those of
// more.
TEST(GemmPerSample, DoesNotDependOnTheNumberOfRows) {
  const std::int64_t fewest = instruction_set() == InstructionSet::avx512 ? 16 : 1;
  Random random(7);
  for (int round = 0; round < 100; ++round) {
    const RowProduct p = random_row_product(random);
    const std::vector<float> row = Matrix(1, p.k, 0, random).values;
    const std::vector<float> expected = p.run(fewest, row, {0}, random);
    for (std::int64_t rows : {2, 5, 6, 7, 25, 64, 73, 200, 400}) {
      if (rows < fewest) continue;
      for (std::int64_t place : {std::int64_t{0}, rows - 1}) {
        const std::vector<float> c = p.run(rows, row, {place}, random);
        EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + p.n, c.begin() + place * p.n))
            << rows << "x" << p.n << "x" << p.k << ", row " << place;
      }
    }
  }
}

TEST(Gemm, OfNothingDoesNothing) {
  float c = 7;
  gemm(Transpose::no, Transpose::no, 0, 1, 1, 1.0f, nullptr, 1, &c, 1, 0.0f, &c, 1);
  EXPECT_EQ(c, 7);
}

}  // namespace
}  // namespace lwsvm
