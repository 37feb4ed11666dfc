// The samples of a data set, out of it again: for whoever has other uses for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lwsvm/data.h"

namespace lwsvm {

struct SampleCopy {
  ImageShape shape;
  bool bytes = false;         // all values are whole numbers from 0 to 255
  std::vector<float> values;  // one sample after the other, each channel by channel
  std::vector<std::int32_t> labels;
};

// `part` is train, val or test as they come with the data: nothing is split off. Throws Error if there is
// none.
SampleCopy copy_samples(const Data& data, const std::string& part);

}  // namespace lwsvm
