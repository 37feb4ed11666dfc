#include "api/settings.h"

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

run::RunInput run_input(const Network& network, const Data& data) {
  run::RunInput input{true, {}, data.set()};
  if (!network.empty()) input.model = network.state().model;
  return input;
}

}  // namespace lwsvm
