#include "run/frozen_features.h"

#include <algorithm>
#include <filesystem>

#include "data/sha256.h"
#include "engine/instruction_set.h"
#include "model/onnx_writer.h"
#include "model/storage.h"
#include "run/model_input.h"

namespace lwsvm::run {
namespace {

// What the features depend on.
std::string feature_key(const Model& model, int cut, const Task& task, const std::string& augment) {
  Sha256 hash;
  const auto add = [&](std::string_view text) {
    const std::uint64_t size = text.size();
    hash.update(&size, sizeof size);
    hash.update(text.data(), text.size());
  };
  Model frozen = model;  // without what is above the cut, which changes
  const auto pixels = frozen.info.metadata.find(kNormalizeKey);
  if (pixels != frozen.info.metadata.end()) add(pixels->second);
  frozen.info = {};
  for (int i = cut + 1; i < static_cast<int>(frozen.graph.nodes().size()); ++i) {
    const ParameterRange range = frozen.graph.node(i).trained;
    if (frozen.graph.node(i).has_weights() && why_not_storable(frozen, i).empty())
      std::fill_n(frozen.graph.parameters().begin() + range.begin, range.size, 0.0f);
  }
  add(to_onnx_bytes(frozen));
  add(model.graph.node(cut).name);
  add(fmt::format("{}", checksum(task.data)));
  add(task.data.train.holds_bytes() ? "bytes" : "floats");
  add(augment);
  add(instruction_set_name());
  return hash.hex();
}

}  // namespace

FeatureOptions feature_options(const Model& model, int cut, const std::string& input, const Task& task,
                               const std::string& augment, const SampleSource& all, const CacheFolder& cache,
                               const RunContext& context) {
  FeatureOptions options;
  options.cache = &cache;
  options.key = cache.usable() ? feature_key(model, cut, task, augment) : std::string(64, '0');
  options.description =
      fmt::format("{} samples of {} at '{}' of {}", all.size(), task.data.name, model.graph.node(cut).name,
                  std::filesystem::path(input).filename().string());
  options.progress = [&context](std::int64_t done, std::int64_t total) {
    context.messages->progress("features", static_cast<std::uint64_t>(done),
                               static_cast<std::uint64_t>(total));
  };
  return options;
}

}  // namespace lwsvm::run
