// A data set made by the program, for tests and for work without a network.
//
//   synthetic            or    synthetic:n=2000,test=500,classes=4,size=12x12,channels=1,seed=3
//
// Every class has a smooth pattern (a few waves of low frequency). A sample is
//
//   128 + 90 (a own(p + shift) + b other(p + shift')) + 20 noise,   rounded to 0..255
//
// with a in [0.4, 1], b in [0, 0.6] and shifts of up to an eighth of the picture. Where b > a, about one
// sample in twenty, the other class shows more strongly than the own one, so no network gets everything
// right. Sample i depends on the seed and the pictures' form only: a smaller n gives the beginning of a
// larger set.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"

namespace lwsvm {

struct SyntheticOptions {
  std::size_t train = 4000, test = 1000;
  int classes = 10;
  ImageShape shape{1, 16, 16};
  std::uint64_t seed = 0;

  void validate() const;  // throws Error
};

bool is_synthetic(const std::string& name);                 // "synthetic" or "synthetic:..."
SyntheticOptions parse_synthetic(const std::string& name);  // throws Error
DataSet make_synthetic(const SyntheticOptions& options);

}  // namespace lwsvm
