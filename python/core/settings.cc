#include "settings.h"

namespace lwsvm::python {

void Keywords::take(TaskSettings& task) {
  take("validation", task.validation);
  take("split_seed", task.split_seed);
  take("margins", task.margins);
  take("augment", task.augment);
}

void Keywords::take(PixelSettings& pixels) {
  take("normalize", pixels.name);
  take("scale", pixels.scale);
  take("mean", pixels.mean);
  take("std", pixels.deviation);
  take("per_pixel", pixels.per_pixel);
  take("anyway", pixels.anyway);
}

void Keywords::take(const char* name, TimeSpan& target) {
  std::optional<double> seconds;
  take(name, seconds);
  if (seconds) target = *seconds;
}

void Keywords::take(const char* name, ByteCount& target) {
  std::optional<std::uint64_t> bytes;
  take(name, bytes);
  if (bytes) target = *bytes;
}

void Keywords::check_all_taken() const {
  for (const auto& [name, value] : left_)
    throw py::type_error("there is no setting '" + name.cast<std::string>() + "'");
}

}  // namespace lwsvm::python
