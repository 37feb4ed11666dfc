#include "lwsvm/samples.h"

#include "base/error.h"
#include "base/nearest.h"
#include "data/dataset.h"

namespace lwsvm {

SampleCopy copy_samples(const Data& data, const std::string& part) {
  const DataSet& set = *data.set();
  const Samples* samples = part == "train"  ? &set.train
                           : part == "val"  ? &set.validation
                           : part == "test" ? &set.test
                                            : nullptr;
  if (!samples) fail_unknown("data", "part", part, std::vector<std::string>{"train", "val", "test"});
  if (samples->empty()) fail("data", "{} has no {} samples of its own", set.name, part);
  SampleCopy copy{set.shape, samples->holds_bytes(), {}, samples->labels()};
  const std::size_t size = samples->sample_size();
  copy.values.resize(samples->size() * size);
  for (std::size_t i = 0; i < samples->size(); ++i) samples->read(i, copy.values.data() + i * size);
  return copy;
}

}  // namespace lwsvm
