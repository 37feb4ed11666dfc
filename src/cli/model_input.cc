#include "cli/model_input.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/adapt_input.h"

namespace lwsvm::cli {
namespace {

std::string to_text(const NormalizationOptions& options) {
  nlohmann::json text{{"mean", options.mean}, {"std", options.std}};
  if (options.scale) text["scale"] = *options.scale;
  return text.dump();
}

NormalizationOptions noted(const ModelInfo& info) {
  NormalizationOptions options;
  const auto found = info.metadata.find(kNormalizeKey);
  if (found == info.metadata.end()) return options;
  try {
    const auto text = nlohmann::json::parse(found->second);
    options.mean = text.at("mean").get<std::vector<double>>();
    options.std = text.at("std").get<std::vector<double>>();
    if (text.contains("scale")) options.scale = text.at("scale").get<double>();
  } catch (const nlohmann::json::exception&) {
    fail("model",
         "the network's metadata say '{}' of its normalisation, which lwsvm cannot read; give --normalize",
         found->second);
  }
  return options;
}

void adapt(Model& model, NormalizationOptions options, const DataSet& data, Terminal& terminal) {
  const Shape sample{data.shape.channels, data.shape.height, data.shape.width};
  const std::vector<int> inputs = model.graph.inputs();
  if (inputs.size() != 1 || !can_take(model.graph.node(inputs[0]).shape, sample))
    return;  // check_fit says why
  if (options.given()) {
    model.info.metadata[kNormalizeKey] = to_text(options);
  } else {
    terminal.line(
        "the file does not say how its pixels are normalised; they are taken as they are stored: see "
        "--normalize");
    options.scale = 1.0;  // not the data set's default, which is for new networks
  }
  const Normalization constants = make_normalization(data, {}, options);
  adapt_input(model, sample, constants.mean, constants.std);
}

}  // namespace

bool is_foreign(const ModelInfo& info) {
  return !info.producer.starts_with("lwsvm");
}

void fit_input(Model& model, const NormalizeOptions& given, const DataSet& data, Terminal& terminal) {
  const NormalizationOptions options = given.parse();
  for (const std::string& note : model.info.notes) terminal.line("{}", note);
  if (!model.source || !is_foreign(model.info)) {
    if (options.given())
      fail("model",
           "the network carries its own normalisation; leave out --normalize, --scale, --mean, --std");
  } else {
    if (options.per_pixel)
      fail("model", "--per-pixel is for new networks; this one expects the pixels that it was trained on");
    adapt(model, options.given() ? options : noted(model.info), data, terminal);
  }
  check_fit(model, data);
}

}  // namespace lwsvm::cli
