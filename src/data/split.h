// The training set cut into a part to train on and a part to validate on.
//
// Our own seeded Fisher-Yates over the training set, validation first, so that the same seed gives the same
// split with every compiler and standard library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace lwsvm {

struct Split {
  std::vector<std::int32_t> train, validation;  // indices into DataSet::train, each once in one of the two
};

Split split_samples(std::size_t count, std::size_t validation, std::uint64_t seed);

// 10,000 for data like MNIST, 5,000 for data like CIFAR, as in the paper, 10% otherwise; never more
// than half.
std::size_t default_validation_count(const DataSet& data);

// The argument of --val: a number of samples ("5000", "0") or a fraction of them ("0.1"). Throws Error unless
// some samples are left to train on.
std::size_t parse_validation_count(const std::string& text, std::size_t samples);

// Which of the paper's two recipes applies: by name, or because the data has the size and shape of that data
// set (so that a path to a drop-in replacement of MNIST is treated like MNIST).
enum class Recipe { mnist, cifar, other };
Recipe recipe_of(const DataSet& data);

}  // namespace lwsvm
