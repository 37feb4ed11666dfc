#include "api/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/network_state.h"
#include "base/units.h"
#include "lwsvm/units.h"

namespace lwsvm {

run::TaskOptions task_options(const TaskSettings& settings) {
  run::TaskOptions options;
  options.validation = settings.validation;
  options.split_seed = settings.split_seed;
  options.margins = settings.margins;
  options.augment = settings.augment;
  return options;
}

std::string limit_text(double seconds) {
  return seconds > 0 ? fmt::format("{:.3f}s", std::max(seconds, 0.001)) : "";
}

run::RunInput run_input(const Network& network, const Data& data) {
  run::RunInput input{true, {}, data.set()};
  if (!network.empty()) input.model = network.state().model;
  return input;
}

double parse_seconds(const std::string& text, const std::string& setting) {
  return parse_duration(text, setting.c_str());
}

std::uint64_t parse_size(const std::string& text, const std::string& setting) {
  return parse_bytes(text, setting.c_str());
}

}  // namespace lwsvm
