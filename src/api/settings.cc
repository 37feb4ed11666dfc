#include "api/settings.h"

#include <fmt/ranges.h>

#include "api/network_state.h"

namespace lwsvm {

run::TaskOptions task_options(const TaskSettings& settings) {
  run::TaskOptions options;
  options.validation = settings.validation;
  options.split_seed = settings.split_seed;
  options.margins = settings.margins;
  options.augment = settings.augment;
  return options;
}

run::NormalizeOptions normalize_options(const PixelSettings& settings) {
  run::NormalizeOptions options;
  options.name = settings.name;
  options.scale = settings.scale;
  options.mean = fmt::format("{}", fmt::join(settings.mean, ","));
  options.deviation = fmt::format("{}", fmt::join(settings.deviation, ","));
  options.per_pixel = settings.per_pixel;
  options.anyway = settings.anyway;
  return options;
}

run::RunInput run_input(const Network& network, const Data& data) {
  run::RunInput input{true, {}, data.set()};
  if (!network.empty()) input.model = network.state().model;
  return input;
}

}  // namespace lwsvm
