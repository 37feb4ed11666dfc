// Results as JSON: what --json prints, the last record of a log, and what a checkpoint keeps of the start.
#pragma once

#include <nlohmann/json.hpp>

#include "lwsvm/adapt.h"
#include "lwsvm/refine.h"
#include "lwsvm/train.h"
#include "report/run_log.h"

namespace lwsvm {

// {"objective", "train_accuracy", "val_accuracy" and "test_accuracy" where there is such a part, "accuracy":
// that of the test part, else of the training part}.
void to_json(nlohmann::json& json, const Quality& quality);
void from_json(const nlohmann::json& json, Quality& quality);

void to_json(nlohmann::json& json, const TrainSummary& summary);
void to_json(nlohmann::json& json, const RefineSummary& summary);
void to_json(nlohmann::json& json, const AdaptSummary& summary);

// {"type": "end", ...}: the run is over. It lies after the last checkpoint, so that a run that is resumed
// after its end cuts it off and writes it again.
void write_end(RunLog& log, const nlohmann::json& result);

}  // namespace lwsvm
