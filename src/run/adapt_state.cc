#include "run/adapt_state.h"

#include <nlohmann/json.hpp>

#include "report/result_json.h"

namespace lwsvm::run {

void put_adapt_state(const AdaptState& state, Checkpoint& checkpoint) {
  checkpoint.put("adapt.state", nlohmann::json::to_msgpack(settings_of(state)));
}

AdaptState adapt_state_of(const SavedRun& saved) {
  AdaptState state;
  try {
    const auto bytes = saved.checkpoint.get<std::uint8_t>("adapt.state");
    take_settings(nlohmann::json::from_msgpack(bytes.begin(), bytes.end()), state);
  } catch (const nlohmann::json::exception& error) {
    fail_other_version(saved.folder, error.what());
  }
  return state;
}

}  // namespace lwsvm::run
