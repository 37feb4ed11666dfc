#include "report/result_json.h"

namespace lwsvm {

using nlohmann::json;

void to_json(json& value, const Quality& quality) {
  value = {{"objective", quality.objective},
           {"accuracy", quality.accuracy()},
           {"train_accuracy", quality.train_accuracy}};
  if (quality.val_accuracy) value["val_accuracy"] = *quality.val_accuracy;
  if (quality.test_accuracy) value["test_accuracy"] = *quality.test_accuracy;
}

void from_json(const json& value, Quality& quality) {
  quality = {value.at("objective"), value.at("train_accuracy"), {}, {}};
  if (value.contains("val_accuracy")) quality.val_accuracy = value["val_accuracy"].get<double>();
  if (value.contains("test_accuracy")) quality.test_accuracy = value["test_accuracy"].get<double>();
}

void to_json(json& value, const TrainSummary& summary) {
  value = summary.end;
  value["epochs"] = summary.epochs;
  value["seconds"] = summary.seconds;
  value["model"] = summary.model;
  value["finished"] = summary.finished;
}

void to_json(json& value, const RefineSummary& summary) {
  value = summary.end;
  value["start"] = summary.start;
  value["updates"] = summary.moves;
  value["rejected"] = summary.rejected;
  value["rises"] = summary.rises;
  value["passes"] = summary.passes;
  value["seconds"] = summary.seconds;
  value["dual_bytes"] = summary.dual_bytes;
  value["end"] = summary.reason;
  value["lambda"] = summary.lambda;
  value["centre"] = summary.centre;
  value["model"] = summary.model;
  if (summary.judged_samples) value["judged_samples"] = *summary.judged_samples;
  if (!summary.time_limit.empty()) value["time_limit"] = summary.time_limit;
}

void to_json(json& value, const AdaptSummary& summary) {
  value = summary.end;
  value["head"] = summary.head;
  value["lambda"] = summary.lambda;
  if (summary.cross_validated) value["cross_validated"] = *summary.cross_validated;
  value["replaced"] = summary.replaced;
  value["normalization"] = summary.normalization;
  value["classes"] = summary.classes;
  value["layers"] = summary.layers;
  value["updates"] = summary.moves;
  value["rejected"] = summary.rejected;
  value["feature_samples"] = summary.feature_samples;
  value["feature_seconds"] = summary.feature_seconds;
  value["head_seconds"] = summary.head_seconds;
  value["seconds"] = summary.seconds;
  value["end"] = summary.reason;
  value["finished"] = summary.finished;
  value["model"] = summary.model;
}

void write_end(RunLog& log, const nlohmann::json& result) {
  nlohmann::ordered_json record{{"type", "end"}};
  record.update(result);
  log.write(record);
}

}  // namespace lwsvm
