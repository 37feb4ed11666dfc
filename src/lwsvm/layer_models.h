// The forms in which an opened layer's problem is put to the solvers of src/ssvm (layer_problem.h says which
// when).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/margin_matrix.h"
#include "lwsvm/last_layer.h"
#include "lwsvm/layer_data.h"
#include "lwsvm/tail_runner.h"
#include "ssvm/label_oracle.h"
#include "ssvm/plane_oracles.h"
#include "ssvm/svm_layer.h"

namespace lwsvm {

// Exact: the SVM layer's features are the inputs of the dense layer that it is. Empty where it is none, or
// where Frank-Wolfe steps are asked for.
std::optional<DenseEnd> exact_end(const Graph& network, const Tail& tail, const LayerProblemOptions& options);
std::unique_ptr<FeatureRows> exact_features(LayerInputs& inputs, std::int64_t samples,
                                            const Threads& threads);

// Nothing after the layer is free.
std::unique_ptr<LabelModel> label_layer_model(TailRunner& runner);

// Something is: dense layers; and others, whose blocks are samples, or groups of consecutive samples where
// one psi per sample would not fit the memory.
std::unique_ptr<FactoredModel> factored_layer_model(TailRunner& runner, const MarginMatrix& margins);
std::unique_ptr<ExplicitModel> explicit_layer_model(TailRunner& runner, const MarginMatrix& margins,
                                                    std::uint64_t memory);

}  // namespace lwsvm
