// What `lwsvm classify` does: scores of single photos.
#pragma once

#include <string>
#include <vector>

#include "lwsvm/classify.h"
#include "model/model.h"
#include "run/run_context.h"

namespace lwsvm::run {

std::vector<ClassifiedPhoto> run_classification(Model model, const std::vector<std::string>& files,
                                                const ClassifySettings& settings, const RunContext& context);

// The name of a class in a network's file, else "class 7".
std::string class_name(const ModelInfo& info, int label);

}  // namespace lwsvm::run
