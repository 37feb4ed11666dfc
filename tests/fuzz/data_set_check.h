// What every data set that was read must satisfy.
#pragma once

#include <vector>

#include "base/error.h"
#include "data/dataset.h"

namespace lwsvm::fuzz {

inline void check_samples(const DataSet& data, const Samples& samples) {
  std::vector<float> pixels(static_cast<std::size_t>(data.shape.size()));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    LWSVM_CHECK(samples.sample_size() == pixels.size());
    LWSVM_CHECK(samples.labels()[i] >= 0 && samples.labels()[i] < data.classes);
    samples.read(i, pixels.data());
  }
}

inline void check_data_set(const DataSet& data) {
  LWSVM_CHECK(!data.train.empty() && data.classes >= 2 && data.shape.size() > 0);
  for (const Samples* samples : {&data.train, &data.validation, &data.test}) check_samples(data, *samples);
}

}  // namespace lwsvm::fuzz
